"""`cost`: the result over what it took, parameters, seconds and operations, of every setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from senn_cli.errors import RunError
from senn_cli.report.comparison import figure_of, settings, value
from senn_cli.report.flops import training
from senn_cli.report.plots import style
from senn_cli.report.plots.options import Options
from senn_cli.report.plots.series import mean, shown
from senn_cli.report.record import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DECADES, _MANY = 30, 300  # from which on an axis is logarithmic, and has powers of ten alone


def draw(records: Sequence[Record], options: Options) -> Figure:
    """Draws a small mark a run and a large one at the mean of each setting, in three panels.

    Operations are those of gradients alone (see `report.flops`), seconds are all of a run's.

    Raises:
      RunError: no run has finished with a result on the test part.
      UsageError: some runs measure accuracy and others squared errors.
    """
    figure_of(records)
    key, factor, label = shown(records[0], "test")
    found = [
        (setting, known)
        for setting in settings(records)
        if (known := [r for r in setting.finished if value(r, key) is not None])
    ]
    if not found:
        raise RunError(
            f"{', '.join(str(record.path) for record in records)}: no run has finished with a "
            f"{label.removesuffix(' (%)')}"
        )
    sizes, unit = _batch([record for _, known in found for record in known])
    panels: tuple[tuple[str, Callable[[Record], float | None]], ...] = (
        ("parameters", lambda record: value(record, "parameters")),
        ("seconds", lambda record: value(record, "seconds_total")),
        (f"gradients (FLOPs{unit})", lambda record: _operations(record, sizes)),
    )
    figure = style.new_figure(options.width, 2.7)
    drawn = figure.subplots(3, 1) if options.narrow else figure.subplots(1, 3, sharey=True)
    if options.narrow:
        figure.set_figheight(6.0)
    handles = []
    for (setting, known), colour in zip(found, style.colours(len(found)), strict=True):
        name = ", ".join(dict.fromkeys(record.name for record in known))
        for place, (axes, (_, of)) in enumerate(zip(drawn, panels, strict=True)):
            points = [(x, factor * (value(r, key) or 0.0)) for r in known if (x := of(r))]
            if not points:
                continue
            across, up = zip(*points, strict=True)
            axes.plot(across, up, "o", color=colour, markersize=2.5, alpha=0.6)
            (mark,) = axes.plot(
                mean(across), mean(up), "D", color=colour, gid=f"mean-{setting.label}-{place}"
            )
            if place == 0:
                mark.set_label(f"{setting.label}: {style.plain(name)} ({len(known)})")
                handles.append(mark)
    for axes, (text, _) in zip(drawn, panels, strict=True):
        _scale(axes)
        axes.set_xlabel(text)
        axes.grid(True)
    for axes in drawn if options.narrow else drawn[:1]:
        axes.set_ylabel(label)
    style.legend(figure, handles)
    return figure


def _scale(axes: Axes) -> None:
    """Few numbers along x, with a letter for thousands; logarithms where it has decades."""
    from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullLocator

    low, high = axes.get_xlim()
    if low > 0 and high > _DECADES * low:
        axes.set_xscale("log")
        few = high < _MANY * low
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,), numticks=5))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_minor_locator(NullLocator())


def _batch(records: Sequence[Record]) -> tuple[dict[str, int], str]:
    """The batch sizes by run where all specs say them, and else what one example's are called."""
    sizes = {str(r.path): r.spec.get("training", {}).get("batch_size") for r in records}
    if all(type(size) is int for size in sizes.values()):
        return sizes, ""
    return dict.fromkeys(sizes, 1), " an example"


def _operations(record: Record, sizes: Mapping[str, int]) -> float | None:
    found = training(record)
    return None if found is None else found * sizes[str(record.path)]
