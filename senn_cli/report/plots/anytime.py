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
    from matplotlib.figure import Figure


def draw(records: Sequence[Record], options: Options) -> Figure:
    """Draws a line a run, and the mean in black where they differ in nothing but their seed.

    Raises:
      RunError: a run has no validation rows.
    """
    require_validation(records)
    key, factor, label = shown(records[0], "validation")
    beside = not options.narrow
    figure = style.new_figure(options.width, 2.5 if beside else 3.6)
    sizes, measure = figure.subplots(1, 2) if beside else figure.subplots(2, 1, sharex=True)
    totals = [total_sizes(record) for record in records]
    curves = [series(record, key) for record in records]
    handles = []
    sized, measured = twins(totals), twins(curves)
    labels = told(names(records), twins(list(zip(totals, curves, strict=True))))
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
    if len(records) > 1 and len(experiments(records)) == 1:
        look = {"color": style.BLACK, "linewidth": 1.5, "gid": "mean"}
        steps = sorted({step for total in totals for step in total[0]})
        average = [mean([_at(total, step) for total in totals]) for step in steps]
        (line,) = sizes.plot(steps, average, drawstyle="steps-post", label="mean", **look)
        common = sorted(set[float].intersection(*(set(curve[0]) for curve in curves)))
        by_step = [dict(zip(*curve, strict=True)) for curve in curves]
        measure.plot(common, [factor * mean([c[s] for c in by_step]) for s in common], **look)
        handles.append(line)
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
