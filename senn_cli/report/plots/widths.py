"""`widths`: the width of every layer in every block over epochs (the paper's figure 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from senn_cli.errors import RunError
from senn_cli.report.plots import style
from senn_cli.report.plots.options import Options
from senn_cli.report.plots.series import loss_label, per_epoch, require_metrics, series, shown
from senn_cli.report.record import Record
from senn_cli.report.tracks import Track, tracks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LISTED = 10  # layers of a block that a legend names one by one


def draw(records: Sequence[Record], options: Options) -> Figure:
    """Draws a panel a block, a line a layer; above them the validation accuracy.

    A run without validation data shows its training loss instead, and the axis says so.

    Raises:
      RunError: there are no hidden layers, or no metrics, up to now.
    """
    (record,) = records
    require_metrics(record)
    found = tracks(record)
    if not found:
        raise RunError(
            f"{record.path}: its network has no hidden layer up to step {record.last_step}"
        )
    blocks: dict[str, list[Track]] = {}
    for track in found:
        blocks.setdefault(track.group, []).append(track)
    heights = [1.0, *([1.35] * len(blocks))]
    figure = style.new_figure(options.width, sum(heights) + 0.65)
    panels = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    key, factor, label = shown(record, "validation")
    if series(record, key)[1]:
        label = label.replace(" ", "\n", 1)
    else:
        key, factor, label = "train_loss", 1.0, loss_label(record, "training\nloss")
    epochs, values = series(record, key, by="epoch")
    panels[0].plot(epochs, [factor * value for value in values], color=style.BLACK)
    panels[0].set_ylabel(label)
    if key == "train_loss" and min(values) > 0 and max(values) > 10 * min(values):
        style.log_axis(panels[0])
    length = per_epoch(record)
    most = max(map(len, blocks.values()))
    colours = style.colours(most)
    handles: list[Any] = []
    for axes, (block, layers) in zip(panels[1:], blocks.items(), strict=True):
        for place, (track, colour) in enumerate(zip(layers, colours, strict=False)):
            (line,) = axes.plot(
                [step / length for step in track.steps],
                track.widths,
                color=colour,
                drawstyle="steps-post",
                # Thinner and thinner, so that equal widths leave a rim of every colour.
                linewidth=2.4 - 1.5 * place / max(1, len(layers) - 1),
                label=style.plain(track.name),
            )
            if len(layers) == most and len(handles) < most:
                handles.append(line)
        axes.set_ylabel(f"{style.plain(block)}\n{record.unit}s" if block else f"{record.unit}s")
        axes.set_ylim(0, 1.08 * max(max(track.widths) for track in layers))
    for axes in panels:
        axes.grid(axis="y")
        axes.set_xlim(0, max(1, record.last_step) / length)
    if len(blocks) > 1:  # the layers of every block are numbered anew
        for place, line in enumerate(handles):
            line.set_label(f"layer {place} of a block")
    if len(handles) > _LISTED:
        handles = [handles[0], handles[len(handles) // 2], handles[-1]]
    panels[-1].set_xlabel("epoch")
    figure.align_ylabels(panels)
    style.legend(figure, handles)
    return figure
