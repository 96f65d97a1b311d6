"""`landscape`: the score of a new neuron over its location and scale (the paper's figure 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from senn_cli.errors import UsageError
from senn_cli.report.plots import style
from senn_cli.report.plots.options import Options
from senn_cli.report.plots.recordings import Landscape, Moment, at_steps, landscapes
from senn_cli.report.record import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 8
"""Panels in a figure."""

# The prime stands outside of the mathematics, whose own one is a 0 of a font that no viewer has.
_LABEL = r"$\Delta\eta$′ / what passes"


def draw(records: Sequence[Record], options: Options) -> Figure:
    """Draws the function above and the landscape below, a column a moment.

    Raises:
      RunError: there are no recordings, or one is damaged.
      UsageError: there is no recording of a step that was asked for, or too many are.
    """
    (record,) = records
    found = landscapes(record)
    chosen = at_steps(found, options.steps) if options.steps else key_moments(found)
    if len(chosen) > MOST:
        raise UsageError(
            f"--steps: {len(chosen)} landscapes were recorded at these steps, at most {MOST} fit"
        )
    columns = min(len(chosen), 2 if options.narrow else 4)
    columns = math.ceil(len(chosen) / math.ceil(len(chosen) / columns))  # rows alike
    rows = math.ceil(len(chosen) / columns)
    figure = style.new_figure(options.width, rows * 2.5 + 0.5)
    grid = figure.subplots(
        2 * rows, columns, sharey="row", squeeze=False, height_ratios=[0.7, 1.0] * rows
    )
    norm = _norm(chosen)
    mesh: Any = None
    unit = "" if options.narrow else " (input units)"
    for place in range(rows * columns):
        row, column = divmod(place, columns)
        above, below = grid[2 * row][column], grid[2 * row + 1][column]
        if place >= len(chosen):
            above.remove()
            below.remove()
            continue
        _function(above, chosen[place])
        mesh = _landscape(below, chosen[place], norm)
        above.set_title(title(chosen[place].moment))
        if column == 0:
            above.set_ylabel("output")
            below.set_ylabel(f"scale{unit}")
        below.set_xlabel(f"location{unit}")
    low = min(float(each.scale.min()) for each in chosen)
    high = max(float(each.scale.max()) for each in chosen)
    for row in range(rows):
        if low > 0 and high > 10 * low:
            grid[2 * row + 1][0].set_yscale("log")
        grid[2 * row + 1][0].set_ylim(low, high)
    lower = [axes for row in range(rows) for axes in grid[2 * row + 1] if axes.figure is not None]
    bar = figure.colorbar(mesh, ax=lower, label=_LABEL, extend="both", aspect=18 * rows, pad=0.02)
    bar.outline.set_linewidth(0.6)
    style.legend(figure, _explained(chosen))
    return figure


def key_moments(found: Sequence[Landscape]) -> list[Landscape]:
    """Up to four: before and right after an addition, before the next one, and the end.

    The addition is the last one that another follows, as the landscape then has most to tell;
    without any such, the last one.
    """
    by_moment = {each.moment: each for each in found}
    additions = [
        step
        for step in sorted({each.moment.step for each in found})
        if {Moment(step, "before"), Moment(step, "after")} <= set(by_moment)
    ]
    end = [each for each in found if each.moment.when == "end"][-1:]
    if not additions:
        return [*(each for each in found[:3] if each not in end), *end]
    step = additions[-2] if len(additions) > 1 else additions[-1]
    following = [Moment(additions[-1], "before")] if len(additions) > 1 else []
    moments = [Moment(step, "before"), Moment(step, "after"), *following]
    return [*(by_moment[moment] for moment in moments), *end]


def _relative(shown: Landscape) -> Any:
    """The score in units of what passes, which differs from moment to moment: 1 is accepted."""
    return np.nan_to_num(shown.ratio, nan=0.0) / (shown.threshold or 1.0)


def title(moment: Moment) -> str:
    """A moment in words."""
    return f"{'end, ' if moment.when == 'end' else moment.when + ' '}step {moment.step:,}"


def _function(axes: Axes, shown: Landscape) -> None:
    """The network's function, the target and the samples."""
    _neurons(axes, shown)
    axes.plot(
        shown.train_x, shown.train_y, linestyle="none", marker="o", markersize=2.5,
        color=style.BLUE, markeredgewidth=0, gid="samples", zorder=2.5,
        rasterized=len(shown.train_x) > 1000,
    )  # fmt: skip
    axes.plot(shown.line_x, shown.line_y, color=style.BLACK, linewidth=1.2, gid="function")
    axes.plot(
        shown.target_x, shown.target_y, color=style.RED, linestyle="--", linewidth=1.0,
        gid="target",
    )  # fmt: skip
    axes.set_xlim(shown.location.min(), shown.location.max())
    axes.tick_params(labelbottom=False)


def _landscape(axes: Axes, shown: Landscape, norm: Any) -> Any:
    """The score as shades, a line where it passes, neurons and proposals; returns the shades."""
    ratio = np.clip(_relative(shown), norm.vmin, norm.vmax)
    mesh = axes.pcolormesh(
        shown.location, shown.scale, ratio, norm=norm, cmap=_shades(), shading="nearest",
        rasterized=True,
    )  # fmt: skip
    if ratio.min() < 1 < ratio.max():
        axes.contour(
            shown.location, shown.scale, ratio, levels=[1.0],
            colors=[style.BLACK], linewidths=0.6,
        )  # fmt: skip
    _neurons(axes, shown)
    for places, sign, colour, name in (
        (shown.rejected, "x", style.BLACK, "rejected"),
        (shown.accepted, "o", style.RED, "accepted"),
    ):
        for place in _within(places, shown):
            axes.plot(
                [place.location], [place.scale], linestyle="none", marker=place.beyond or sign,
                color=colour, markersize=4.5, markeredgewidth=1.2 if sign == "x" else 0.5,
                markeredgecolor=colour if sign == "x" else "white", gid=name, zorder=4,
                clip_on=False,
            )  # fmt: skip
    axes.set_xlim(shown.location.min(), shown.location.max())
    return mesh


@dataclass(frozen=True)
class _Place:
    """Where a proposal is marked: at the edge, with a sign that points there, if it lies beyond."""

    location: float
    scale: float
    beyond: Literal["", "<", ">", "^", "v"]


def _within(places: Any, shown: Landscape) -> list[_Place]:
    """Marks for proposals `(k, 2)`; those that are not finite are left out."""
    found = []
    left, right = float(shown.location.min()), float(shown.location.max())
    low, high = float(shown.scale.min()), float(shown.scale.max())
    for location, scale in places[np.isfinite(places).all(axis=1)].tolist():
        beyond: Literal["", "<", ">", "^", "v"] = ""
        if not left <= location <= right:
            beyond = "<" if location < left else ">"
        elif not low <= scale <= high:
            beyond = "v" if scale < low else "^"
        found.append(_Place(min(max(location, left), right), min(max(scale, low), high), beyond))
    return found


def _neurons(axes: Axes, shown: Landscape) -> None:
    for location in shown.neurons[:, 0]:
        if np.isfinite(location):
            axes.axvline(location, color=style.GREY, linewidth=0.7, zorder=1.5, gid="neuron")


def _norm(chosen: Sequence[Landscape]) -> Any:
    """A logarithmic scale of shades for all panels around 1, what passes."""
    from matplotlib.colors import LogNorm

    values = np.concatenate([_relative(each).ravel() for each in chosen])
    largest = float(values[np.isfinite(values)].max(initial=1.0))
    return LogNorm(vmin=1 / 30, vmax=min(max(largest, 3.0), 100.0))


def _shades() -> Any:
    """Light enough everywhere for black and red marks to be seen."""
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("senn", colormaps["Blues"](np.linspace(0, 0.7, 64)))


def _explained(chosen: Sequence[Landscape]) -> list[Any]:
    from matplotlib.lines import Line2D

    def mark(label: str, sign: str, colour: str, **look: Any) -> Line2D:
        return Line2D([], [], linestyle="none", marker=sign, color=colour, label=label, **look)

    outside = any(
        place.beyond for each in chosen for place in
        (*_within(each.accepted, each), *_within(each.rejected, each))
    )  # fmt: skip
    return [
        Line2D([], [], color=style.BLACK, label="network"),
        Line2D([], [], color=style.RED, linestyle="--", label="target"),
        mark("samples", "o", style.BLUE, markersize=2.5),
        Line2D([], [], color=style.GREY, linewidth=0.7, label="existing neurons"),
        mark("accepted", "o", style.RED, markersize=4.5, markeredgecolor="white"),
        mark("rejected", "x", style.BLACK, markersize=4.5, markeredgewidth=1.2),
        Line2D([], [], color=style.BLACK, linewidth=0.6, label=r"passes $\tau$ and $\alpha$"),
        *([mark("beyond the edge", ">", style.GREY, markersize=4.5)] if outside else []),
    ]
