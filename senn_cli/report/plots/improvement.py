"""`improvement`: how much better runs are than others, by epoch (the paper's figure 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from senn_cli.errors import RunError, UsageError
from senn_cli.report.plots import style
from senn_cli.report.plots.options import Options
from senn_cli.report.plots.series import experiments, mean, names, require_validation, series, shown
from senn_cli.report.plots.twins import dashes, told, twins
from senn_cli.report.record import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Improvement:
    """Relative improvement of one experiment, in percent; positive is better.

    Attributes:
      epochs: those that all its runs and all runs of the baseline were evaluated at.
      mean: over its seeds.
      low, high: the worst and the best seed.
      test: of the mean on the test data at the end; None where some run has not finished.
    """

    epochs: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    test: float | None


def improvement(runs: Sequence[Record], baseline: Sequence[Record]) -> Improvement:
    """Compares the runs of one experiment with the mean of the baseline's.

    An accuracy `a` improves on `b` by `a / b - 1`, an error by `1 - a / b`. Epochs at which the
    baseline is 0 are left out.

    Raises:
      UsageError: the runs and the baseline have no evaluated epoch in common.
    """
    key, _, _ = shown(baseline[0], "validation")
    curves = [dict(zip(*series(record, key, by="epoch"), strict=True)) for record in runs]
    others = [dict(zip(*series(record, key, by="epoch"), strict=True)) for record in baseline]
    common = set[float].intersection(*map(set, (*curves, *others)))
    against = {epoch: mean([other[epoch] for other in others]) for epoch in sorted(common)}
    epochs = [epoch for epoch, value in against.items() if value > 0]
    if not epochs:
        raise UsageError(
            f"{runs[0].path} and {baseline[0].path} were never evaluated at the same epoch",
            hint="Runs to compare need the same training.evaluate and batches.",
        )
    sign = -1.0 if key.endswith("mse") else 1.0
    gains = [[sign * 100 * (c[epoch] / against[epoch] - 1) for c in curves] for epoch in epochs]
    return Improvement(
        epochs=tuple(epochs),
        mean=tuple(mean(each) for each in gains),
        low=tuple(min(each) for each in gains),
        high=tuple(max(each) for each in gains),
        test=_test(runs, baseline, sign),
    )


def _test(runs: Sequence[Record], baseline: Sequence[Record], sign: float) -> float | None:
    """The improvement of the final figure on the test data."""
    key, _, _ = shown(baseline[0], "test")
    values = [[(record.summary or {}).get(key) for record in part] for part in (runs, baseline)]
    known = [[float(v) for v in part if v is not None] for part in values]
    if any(len(a) != len(b) for a, b in zip(values, known, strict=True)) or not mean(known[1]):
        return None
    return sign * 100 * (mean(known[0]) / mean(known[1]) - 1)


def draw(records: Sequence[Record], options: Options) -> Figure:
    """Draws a line an experiment, the mean over its seeds, with a band from worst to best.

    Raises:
      RunError: a run has no validation rows.
      UsageError: runs have nothing that could be compared.
    """
    baseline = options.baseline
    require_validation((*records, *baseline))
    kinds = {record.figure for record in (*records, *baseline)}
    if len(kinds) > 1:
        raise RunError("a regression cannot be compared with a classification")
    groups = experiments(records)
    figure = style.new_figure(options.width, 2.6)
    axes = figure.subplots()
    handles = []
    results = [improvement(group, baseline) for group in groups]
    equal = twins([result.mean for result in results])
    labels = told(names([group[0] for group in groups]), equal)
    for place, (name, group, found, colour) in enumerate(
        zip(labels, groups, results, style.colours(len(groups)), strict=True)
    ):
        if len(group) > 1:
            axes.fill_between(found.epochs, found.low, found.high, color=colour, alpha=0.2, lw=0)
            name = f"{style.plain(group[0].name)}, {len(group)} seeds"
        dot = "o" if len(found.epochs) == 1 else None
        (line,) = axes.plot(
            found.epochs, found.mean, color=colour, marker=dot, **dashes(equal, place)
        )
        line.set_label(name if found.test is None else f"{name}; test {found.test:+.1f}%")
        handles.append(line)
    axes.axhline(0, color=style.GREY, linewidth=0.8, linestyle="--")
    axes.set_xlim(left=0)
    axes.set_xlabel("epoch")
    _, _, label = shown(records[0], "validation")
    axes.set_ylabel(f"relative improvement of\n{label.removesuffix(' (%)')} (%)")
    axes.grid(axis="y")
    style.legend(figure, handles)
    return figure
