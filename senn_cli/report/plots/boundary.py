"""`boundary`: the layer score over steps, with decision boundaries (the paper's figure 3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from senn_cli.errors import RunError, UsageError
from senn_cli.report.plots import style
from senn_cli.report.plots.events import event_steps
from senn_cli.report.plots.options import Options
from senn_cli.report.plots.recordings import Boundary, at_steps, boundaries
from senn_cli.report.record import Record
from senn_cli.report.words import widths

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 12
"""Panels in a figure."""


@dataclass(frozen=True)
class Phase:
    """The layer scores between two inserted layers.

    Attributes:
      steps: of the growth rounds that looked for a layer.
      ratios: the best Delta eta / eta_c of a layer, divided by the layer cost, in each of them.
      inserted: whether the last one was inserted.
    """

    steps: tuple[int, ...]
    ratios: tuple[float, ...]
    inserted: bool


def phases(record: Record) -> tuple[Phase, ...]:
    """The layer scores of a run, cut behind every inserted layer."""
    best: dict[int, float] = {}
    for event in record.history:
        ratios = [
            float(candidate["ratio"])
            for candidate in event.get("candidates") or ()
            if candidate.get("kind") == "depth" and candidate.get("ratio") is not None
        ]
        if ratios:
            step = int(event["step"])
            best[step] = max(best.get(step, -math.inf), *ratios)
    inserted = set(event_steps(record).get("insert_layer", ()))
    found: list[Phase] = []
    steps: list[int] = []
    for step in sorted(best):
        steps.append(step)
        if step in inserted:
            found.append(Phase(tuple(steps), tuple(best[s] for s in steps), True))
            steps = []
    if steps:
        found.append(Phase(tuple(steps), tuple(best[s] for s in steps), False))
    return tuple(found)


def draw(records: Sequence[Record], options: Options) -> Figure:
    """Draws boundaries above, before every inserted layer and at the end; the score below.

    Raises:
      RunError: there are no recordings, one is damaged, or no layer was ever looked for.
      UsageError: there is no recording of a step that was asked for, or too many are.
    """
    (record,) = records
    found = boundaries(record)
    lines = phases(record)
    if not lines:
        raise RunError(
            f"{record.path}: its history has no score of a layer",
            hint="Layers are looked for where expansion.depth.enabled is true.",
        )
    chosen = at_steps(found, options.steps) if options.steps else key_moments(record, found)
    if len(chosen) > MOST:
        raise UsageError(
            f"{len(chosen)} decision boundaries do not fit into a figure, at most {MOST} do",
            hint="Choose some with --steps.",
        )
    rows = math.ceil(len(chosen) / (4 if options.narrow else 8))
    columns = math.ceil(len(chosen) / rows)
    size = options.width / max(columns, 3 if options.narrow else 5)
    top = rows * (0.75 * size + 0.55)
    figure = style.new_figure(options.width, top + 1.85)
    parts = figure.add_gridspec(2, 1, height_ratios=[top, 1.85])
    places = parts[0].subgridspec(rows, columns)
    for place, shown in enumerate(chosen):
        axes = figure.add_subplot(places[divmod(place, columns)])
        _plane(axes, shown)
        axes.set_title(title(shown, short=options.narrow), fontsize=7)
    _scores(figure, figure.add_subplot(parts[1]), record, lines)
    return figure


def key_moments(record: Record, found: Sequence[Boundary]) -> list[Boundary]:
    """Before every inserted layer, and the end; all there are where these are missing."""
    inserted = event_steps(record).get("insert_layer", [])
    key = [
        each
        for each in found
        if each.moment.when == "end"
        or (each.moment.when == "before" and each.moment.step in inserted)
    ]
    return key or list(found)


def _plane(axes: Axes, shown: Boundary) -> None:
    """Class probabilities as colours, the boundary as a line, and the samples."""
    from matplotlib.colors import to_rgb

    probabilities = shown.probabilities.astype(np.float64)
    classes = probabilities.shape[-1]
    colours = np.array([to_rgb(colour) for colour in style.colours(classes)])
    pale = 1 - 0.45 * (1 - colours)
    x, y = shown.x, shown.y
    axes.imshow(
        np.clip(probabilities @ pale, 0, 1),
        extent=(float(x[0]), float(x[-1]), float(y[0]), float(y[-1])),
        origin="lower",
        aspect="auto",
        interpolation="bilinear",
    )
    for index in range(classes if classes > 2 else 1):
        lead = probabilities[..., index] - np.delete(probabilities, index, axis=-1).max(axis=-1)
        if lead.min() < 0 < lead.max():
            axes.contour(x, y, lead, levels=[0], colors=[style.BLACK], linewidths=0.9)
    axes.scatter(
        shown.train_x[:, 0],
        shown.train_x[:, 1],
        s=1.5,
        c=colours[shown.train_y.astype(int) % classes],
        linewidths=0,
        rasterized=True,
    )
    axes.set_xlim(x[0], x[-1])
    axes.set_ylim(y[0], y[-1])
    axes.set_xticks([])
    axes.set_yticks([])
    for side in ("top", "right"):
        axes.spines[side].set_visible(True)


def title(shown: Boundary, *, short: bool) -> str:
    """The step of a boundary and the network's widths, for a panel with or without much room."""
    if not shown.hidden:
        what = "linear"
    elif len(shown.hidden) <= 3:
        what = widths(shown.hidden) if short else f"hidden {widths(shown.hidden)}"
    else:
        what = f"{len(shown.hidden)} layers"
    return f"step {shown.moment.step:,}\n{what}"


def _scores(figure: Figure, axes: Axes, record: Record, lines: Sequence[Phase]) -> None:
    """The layer score in every phase, the bar at tau, and a mark where a layer was inserted."""
    from matplotlib.lines import Line2D

    values = [ratio for phase in lines for ratio in phase.ratios]
    for phase in lines:
        axes.plot(
            phase.steps, phase.ratios, color=style.BLUE, marker="o", markersize=3,
            markerfacecolor="white", gid="score",
        )  # fmt: skip
    accepted = [(phase.steps[-1], phase.ratios[-1]) for phase in lines if phase.inserted]
    axes.plot(
        [step for step, _ in accepted], [ratio for _, ratio in accepted], linestyle="none",
        marker="D", color=style.RED, gid="inserted", zorder=4,
    )  # fmt: skip
    for step, _ in accepted:
        axes.axvline(step, color=style.RED, linestyle=":", linewidth=0.8, zorder=1)
    thresholds = [e["threshold"] for e in record.history if e.get("threshold") is not None]
    if thresholds:
        axes.axhline(thresholds[-1], color=style.BLACK, linestyle="--", linewidth=0.9, gid="tau")
        values.append(thresholds[-1])
    if min(values) > 0 and max(values) > 30 * min(values):
        style.log_axis(axes)
    elif min(values) >= 0:
        axes.set_ylim(bottom=0)
    axes.set_xlim(0, max(1, record.last_step))
    axes.set_ylabel(r"layer score $\Delta\eta\,/\,\eta_c$")
    axes.grid(axis="y")
    style.step_axis(axes)
    handles: list[Any] = [
        Line2D([], [], color=style.BLUE, marker="o", markersize=3, markerfacecolor="white",
               label="best layer"),
        Line2D([], [], color=style.RED, marker="D", linestyle="none", label="inserted"),
        Line2D([], [], color=style.BLACK, linestyle="--", linewidth=0.9, label=r"$\tau$"),
    ]  # fmt: skip
    style.legend(figure, handles)
