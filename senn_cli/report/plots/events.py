"""The growth events of a run as a strip of marks above a panel that shares its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from senn_cli.report.plots.style import BLUE, COLOURS, GREY, RED
from senn_cli.report.record import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What a row is called, and its mark: matplotlib's sign, colour, whether it is filled.
_ROWS: dict[str, tuple[str, str, str, bool]] = {
    "insert_layer": ("layer inserted", "D", RED, True),
    "add_neurons": ("{unit}s added", "^", BLUE, True),
    "prune_neurons": ("{unit}s pruned", "v", COLOURS[5], True),
    "nothing": ("nothing added", "o", GREY, False),
}

_CROWD = 60  # marks from which on a row has strokes instead of signs


def event_steps(record: Record) -> dict[str, list[int]]:
    """The steps of every kind of edit, ascending, each once; `nothing` are rounds without any.

    Kinds that did not happen are left out, and so are enlarged capacities, which add no neuron.
    """
    found: dict[str, set[int]] = {kind: set() for kind in _ROWS}
    for event in record.history:
        if event.get("accepted") and event.get("edit") in found:
            found[event["edit"]].add(int(event["step"]))
    grown = set[int]().union(*(steps for steps in found.values()))
    found["nothing"] = {int(event["step"]) for event in record.history} - grown
    return {kind: sorted(steps) for kind, steps in found.items() if steps}


def strip_height(record: Record) -> float:
    """The height that a strip needs, in inches; 0 for a run without events."""
    return 0.15 * len(event_steps(record))


def draw_strip(axes: Axes, record: Record) -> None:
    """Draws the strip into `axes`, a row a kind, named at the left."""
    found = event_steps(record)
    for row, (kind, steps) in enumerate(reversed(found.items())):
        _, sign, colour, filled = _ROWS[kind]
        axes.plot(
            steps,
            [row] * len(steps),
            linestyle="none",
            marker=sign if len(steps) <= _CROWD else "|",
            markersize=3.5,
            markerfacecolor=colour if filled else "none",
            markeredgecolor=colour,
            markeredgewidth=0.7,
            clip_on=False,  # those at the first and the last step are whole, too
            rasterized=len(steps) > 1000,
            gid=f"events-{kind}",
        )
    labels = [_ROWS[kind][0].format(unit=record.unit) for kind in reversed(found)]
    axes.set_yticks(range(len(found)), labels=labels)
    axes.set_ylim(-0.6, len(found) - 0.4)
    axes.tick_params(axis="both", length=0)
    axes.tick_params(axis="x", labelbottom=False)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)


def draw_insertions(axes: Axes, record: Record) -> None:
    """Dotted vertical lines where layers were inserted."""
    for step in event_steps(record).get("insert_layer", []):
        axes.axvline(step, color=RED, linestyle=":", linewidth=0.8, zorder=1)
