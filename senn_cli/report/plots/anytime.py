"""`anytime`: total hidden size and validation accuracy over mini-batches (figure 4, left)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from senn_cli.report.plots import style
from senn_cli.report.plots.growth import stacked
from senn_cli.report.plots.options import Options
from senn_cli.report.plots.series import (
    experiments,
    mean,
    names,
    require_validation,
    series,
    shown,
)
from senn_cli.report.plots.twins import dashes, told, twins
from senn_cli.report.record import Record, unit_of
from senn_cli.report.tracks import tracks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(records: Sequence[Record], options: Options) -> Figure:
    """Draws a line a run, with the mean and a band where they differ in nothing but their seed.

    Where there are several experiments and one has several seeds, each is its mean and its band,
    which goes from the least to the most of the seeds.

    Raises:
      RunError: a run has no validation rows.
    """
    require_validation(records)
    _, factor, label = shown(records[0], "validation")
    beside = not options.narrow
    figure = style.new_figure(options.width, 2.5 if beside else 3.6)
    sizes, measure = figure.subplots(1, 2) if beside else figure.subplots(2, 1, sharex=True)
    groups = experiments(records)
    if len(groups) == 1 or len(groups) == len(records):
        handles = _lines(records, (sizes, measure), factor)
        if len(records) > 1 and len(groups) == 1:
            handles.append(_mean(records, (sizes, measure), factor, style.BLACK, "mean"))
    else:
        named = names([group[0] for group in groups])
        handles = [
            _mean(group, (sizes, measure), factor, colour, f"{name} ({len(group)})")
            for name, group, colour in zip(named, groups, style.colours(len(groups)), strict=True)
        ]
    gap = " " if beside else "\n"
    sizes.set_ylabel(f"total hidden size{gap}({unit_of(records)}s)")
    sizes.set_ylim(bottom=0)
    measure.set_ylabel(label if beside else label.replace(" ", "\n", 1))
    for axes in (sizes, measure):
        axes.grid(axis="y")
        axes.set_xlim(0, max(1, *(record.last_step for record in records)))
        style.step_axis(axes, "mini-batches" if beside or axes is measure else "")
    figure.align_ylabels()
    style.legend(figure, handles)
    return figure


def _lines(records: Sequence[Record], panels: tuple[Axes, Axes], factor: float) -> list[Any]:
    """A line a run in both panels; those of the first."""
    sizes, measure = panels
    totals = [total_sizes(record) for record in records]
    curves = [_curve(record) for record in records]
    sized, measured = twins(totals), twins(curves)
    labels = told(names(records), twins(list(zip(totals, curves, strict=True))))
    handles = []
    for place, (name, total, curve, colour) in enumerate(
        zip(labels, totals, curves, style.colours(len(records)), strict=True)
    ):
        # Black is the mean's.
        colour = style.GREY if colour == style.BLACK else colour
        look: dict[str, Any] = {"color": colour, "linewidth": 0.9}
        (line,) = sizes.plot(
            *total, drawstyle="steps-post", label=name, **look | dashes(sized, place)
        )
        values = [factor * value for value in curve[1]]
        measure.plot(curve[0], values, **look | dashes(measured, place))
        handles.append(line)
    return handles


def _mean(
    records: Sequence[Record], panels: tuple[Axes, Axes], factor: float, colour: str, name: str
) -> Any:
    """The mean of runs in both panels, with a band from the least to the most; its line."""
    sizes, measure = panels
    look: dict[str, Any] = {"color": colour, "linewidth": 1.5, "gid": "mean"}
    band: dict[str, Any] = {"color": colour, "alpha": 0.15, "linewidth": 0, "gid": "band"}
    totals = [total_sizes(record) for record in records]
    steps = sorted({step for total in totals for step in total[0]})
    at = [[_at(total, step) for total in totals] for step in steps]
    (line,) = sizes.plot(steps, list(map(mean, at)), drawstyle="steps-post", label=name, **look)
    sizes.fill_between(steps, list(map(min, at)), list(map(max, at)), step="post", **band)
    curves = [dict(zip(*_curve(record), strict=True)) for record in records]
    common = sorted(set[float].intersection(*map(set, curves)))
    values = [[factor * curve[step] for curve in curves] for step in common]
    measure.plot(common, list(map(mean, values)), **look)
    measure.fill_between(common, list(map(min, values)), list(map(max, values)), **band)
    return line


def _curve(record: Record) -> tuple[list[float], list[float]]:
    return series(record, shown(record, "validation")[0])


def total_sizes(record: Record) -> tuple[list[int], list[int]]:
    """The steps at which the hidden size changed, and the neurons of all layers from then on."""
    steps, widths = stacked(record, tracks(record))
    return steps, [sum(each) for each in zip(*widths, strict=True)] or [0] * len(steps)


def _at(total: tuple[list[int], list[int]], step: int) -> int:
    """The value of a step function."""
    found = total[1][0]
    for at, size in zip(*total, strict=True):
        if at > step:
            break
        found = size
    return found
