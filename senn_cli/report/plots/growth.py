"""`growth`: the widths of all layers over the steps, stacked, with the growth events above."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from senn_cli.errors import RunError
from senn_cli.report.plots import style
from senn_cli.report.plots.events import draw_insertions, draw_strip, strip_height
from senn_cli.report.plots.options import Options
from senn_cli.report.record import Record
from senn_cli.report.tracks import Track, tracks

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(records: Sequence[Record], options: Options) -> Figure:
    """Draws the only run of `records`; an area a layer, the first layer at the bottom.

    Raises:
      RunError: the network has no hidden layer up to now.
    """
    (record,) = records
    found = tracks(record)
    if not found:
        raise RunError(
            f"{record.path}: its network has no hidden layer up to step {record.last_step}"
        )
    strip = strip_height(record)
    main = 0.34 * options.width if not options.narrow else 0.55 * options.width
    figure = style.new_figure(options.width, main + strip + 0.65)
    if strip:
        above, axes = figure.subplots(2, 1, sharex=True, height_ratios=[strip, main])
        draw_strip(above, record)
    else:
        axes = figure.subplots()
    steps, widths = stacked(record, found)
    areas = axes.stackplot(
        steps,
        widths,
        step="post",
        colors=style.colours(len(found)),
        edgecolor="white",
        linewidth=0.4,
        labels=[style.plain(track.name) for track in found],
    )
    draw_insertions(axes, record)
    axes.set_xlim(steps[0], max(steps[-1], steps[0] + 1))
    axes.set_ylim(0, 1.05 * max(map(sum, zip(*widths, strict=True))))
    axes.set_ylabel(f"hidden {record.unit}s")
    axes.grid(axis="y")
    style.step_axis(axes)
    style.legend(figure, areas)
    return figure


def stacked(record: Record, found: Sequence[Track]) -> tuple[list[int], list[list[int]]]:
    """All steps at which a width changed, and a list a layer with its widths from each of them."""
    changes = {step for track in found for step in track.steps}
    steps = sorted(changes | {0, record.last_step})
    return steps, [[track.width_at(step) for step in steps] for track in found]
