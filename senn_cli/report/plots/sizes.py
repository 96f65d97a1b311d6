"""`sizes`: the final hidden size over how much of the data was learnt from (figure 4, right)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from senn_cli.errors import RunError
from senn_cli.report.plots import style
from senn_cli.report.plots.anytime import total_sizes
from senn_cli.report.plots.options import Options
from senn_cli.report.plots.series import mean
from senn_cli.report.record import Record, unit_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def final_sizes(records: Sequence[Record]) -> dict[float, list[int]]:
    """The hidden units at the ends of runs, by `data.subset`: shares, or numbers of examples.

    Raises:
      RunError: some runs have a share of the data and others a number of examples.
    """
    found: dict[float, list[int]] = {}
    for record in records:
        subset = record.spec.get("data", {}).get("subset")
        _, totals = total_sizes(record)
        found.setdefault(1.0 if subset is None else subset, []).append(totals[-1])
    if _numbers(found) and not all(isinstance(subset, int) for subset in found):
        raise RunError(
            "some runs have a share of the data, others a number of examples: "
            + ", ".join(str(subset) for subset in found),
            hint="Runs in one figure need a data.subset of one form, such as 10% and 100%.",
        )
    return dict(sorted(found.items()))


def _numbers(found: Mapping[float, object]) -> bool:
    return any(isinstance(subset, int) for subset in found)


def draw(records: Sequence[Record], options: Options) -> Figure:
    """Draws a mark a run, the mean over the runs of a size, and a band from the least to the most.

    Raises:
      RunError: as for `final_sizes`.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    found = final_sizes(records)
    factor = 1 if _numbers(found) else 100
    figure = style.new_figure(options.width, 2.5)
    axes = figure.subplots()
    at = [factor * subset for subset in found]
    for place, totals in zip(at, found.values(), strict=True):
        axes.plot(
            [place] * len(totals), totals, "o", color=style.BLUE, markersize=2.5, alpha=0.6,
            gid="run",
        )  # fmt: skip
    low, high = ([end(totals) for totals in found.values()] for end in (min, max))
    axes.fill_between(at, low, high, color=style.BLUE, alpha=0.2, linewidth=0)
    axes.plot(at, [mean(totals) for totals in found.values()], color=style.BLUE, gid="mean")
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(at))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.3g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("training examples" if factor == 1 else "share of the training data (%)")
    axes.set_ylabel(f"final hidden size\n({unit_of(records)}s)")
    axes.set_ylim(bottom=0)
    axes.grid(axis="y")
    return figure
