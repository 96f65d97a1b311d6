"""`loss`: losses, and accuracy where a validation part has one, over the steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from senn_cli.report.plots import style
from senn_cli.report.plots.events import draw_insertions, draw_strip, strip_height
from senn_cli.report.plots.options import Options
from senn_cli.report.plots.series import loss_label, names, require_metrics, series, shown
from senn_cli.report.plots.twins import dashes, told, twins
from senn_cli.report.record import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(records: Sequence[Record], options: Options) -> Figure:
    """Draws one run with its events, or several, a colour a run.

    Training loss is solid, validation loss dashed. The loss has a logarithmic axis where it falls
    by more than ten.

    Raises:
      RunError: a run has no metrics yet.
    """
    for record in records:
        require_metrics(record)
    first = records[0]
    key, factor, label = shown(first, "validation")
    measured = any(series(record, key)[1] for record in records)
    strip = strip_height(first) if len(records) == 1 else 0.0
    heights = [*([strip] if strip else []), 1.5, *([1.0] if measured else [])]
    figure = style.new_figure(options.width, sum(heights) + 0.75)
    panels = list(
        figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False).flat
    )
    if strip:
        draw_strip(panels.pop(0), first)
    handles = _losses(panels[0], records)
    panels[0].set_ylabel(loss_label(first))
    if measured:
        equal = twins([series(record, key) for record in records])
        for place, colour in enumerate(style.colours(len(records))):
            steps, values = series(records[place], key)
            look = {"color": colour, "linestyle": "--"} | dashes(equal, place)
            panels[1].plot(steps, [factor * v for v in values], **look)
        panels[1].set_ylabel(label.replace(" ", "\n", 1))
    for axes in panels:
        axes.grid(axis="y")
        axes.set_xlim(0, max(1, *(record.last_step for record in records)))
        if strip:
            draw_insertions(axes, first)
    style.step_axis(panels[-1])
    figure.align_ylabels(panels)
    style.legend(figure, handles)
    return figure


def _losses(axes: Axes, records: Sequence[Record]) -> list[Any]:
    """Draws all losses; returns what a legend has to explain."""
    from matplotlib.lines import Line2D

    values: list[float] = []
    kinds: dict[str, Any] = {"train_loss": "-", "validation_loss": "--"}
    present = [key for key in kinds if any(series(record, key)[1] for record in records)]
    curves = {key: [series(record, key) for record in records] for key in present}
    for place, colour in enumerate(style.colours(len(records))):
        for key in present:
            steps, losses = curves[key][place]
            look = {"color": colour, "linestyle": kinds[key]} | dashes(twins(curves[key]), place)
            axes.plot(steps, losses, **look)
            values += losses
    if min(values) > 0 and max(values) > 10 * min(values):
        style.log_axis(axes)
    colours = style.colours(len(records)) if len(records) == 1 else [style.GREY]
    what = {"train_loss": "training", "validation_loss": "validation"}
    labels = told([what[key] for key in present], twins([curves[key] for key in present]))
    handles = [
        Line2D([], [], color=colours[0], linestyle=kinds[key], label=label)
        for key, label in zip(present, labels, strict=True)
    ]
    if len(records) > 1:
        equal = twins(list(zip(*curves.values(), strict=True)))
        handles = [
            Line2D([], [], color=colour, label=name)
            for colour, name in zip(
                style.colours(len(records)), told(names(records), equal), strict=True
            )
        ] + handles
    return handles
