"""`scores`: the score of every site over the steps against tau, and what was made of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from senn_cli.errors import RunError
from senn_cli.report.numbering import last_numbers
from senn_cli.report.plots import style
from senn_cli.report.plots.options import Options
from senn_cli.report.record import Record
from senn_cli.report.tracks import tracks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DECADES = 4
"""Scores further than this from tau stand at the edge of the figure, marked as such."""

_SIGNS = {"width": "o", "depth": "D", "pruned": "x"}
_MANY = 2000  # marks from which on they become an image, so that the file stays small


@dataclass(frozen=True)
class Scored:
    """The best proposal of one site in one decision.

    Attributes:
      step: when.
      kind: `width`, neurons for a layer, `depth`, a layer before it, or `pruned`, a neuron of it
        that was taken out: then the ratio is what its removal costs.
      layer: the layer by its number in the last architecture; None for the outputs.
      ratio: Delta eta / eta_c, for a layer divided by its cost, or for a bud by its neurons; None
        where eta_c was 0.
      accepted: whether it is the one that was carried out.
    """

    step: int
    kind: str
    layer: int | None
    ratio: float | None
    accepted: bool


def scored(record: Record) -> tuple[Scored, ...]:
    """All proposals of a run in order, their layers numbered as in the last architecture."""
    found = []
    for event, known in zip(record.history, last_numbers(record), strict=True):
        edit = event.get("edit")
        if edit == "enlarge_capacity":  # it repeats no scores, but belongs to the next event
            continue
        for place, candidate in enumerate(event.get("candidates") or ()):
            found.append(
                Scored(
                    step=int(event["step"]),
                    kind="pruned" if edit == "prune_neurons" else str(candidate.get("kind")),
                    layer=known.target(candidate),
                    ratio=candidate.get("ratio"),
                    accepted=bool(event.get("accepted")) and place == 0,
                )
            )
    return tuple(found)


def draw(records: Sequence[Record], options: Options) -> Figure:
    """Draws the only run of `records`: a colour a layer, filled where it was accepted.

    Raises:
      RunError: the history has no scores.
    """
    (record,) = records
    found = scored(record)
    if not found:
        raise RunError(
            f"{record.path}: its history has no scores up to step {record.last_step}",
            hint="A run with expansion.policy senn scores every site in every growth round.",
        )
    height = 0.42 * options.width if not options.narrow else 0.75 * options.width
    figure = style.new_figure(options.width, height + 0.5)
    axes = figure.subplots()
    thresholds = [
        (int(event["step"]), float(event["threshold"]))
        for event in record.history
        if event.get("threshold") is not None
    ]
    low, high = _range([s.ratio for s in found if s.ratio], [t for _, t in thresholds])
    named = [style.plain(track.name) for track in tracks(record)]
    layers = len(named)
    colours = style.colours(layers + 1)
    if layers + 1 <= len(style.COLOURS):
        colours = [*colours[:layers], style.GREY]
    for key, marks in _alike(found, low, high):
        _draw(axes, key, marks, colours[layers if key[1] is None else key[1]], (low, high))
    first, last = found[0].step, found[-1].step
    margin = max(1.0, 0.04 * (last - first))
    axes.set_xlim(first - margin, last + margin)
    axes.set_yscale("log")
    axes.set_ylim(low / 1.6, high * 1.6)
    if any(tau > 0 for _, tau in thresholds):
        steps, taus = zip(*thresholds, strict=True)
        axes.plot(
            [first - margin, *steps, last + margin], [taus[0], *taus, taus[-1]],
            color=style.BLACK, linestyle="--", linewidth=0.9, drawstyle="steps-post", gid="tau",
        )  # fmt: skip
    # Dormant proposals are compared with the score of all maps together.
    eta = r"\eta" if record.proposals == "dormant" else r"\eta_c"
    axes.set_ylabel(rf"score $\Delta\eta\,/\,{eta}$")
    axes.grid(axis="y")
    style.step_axis(axes)
    style.legend(figure, _explained(record, found, colours, named, low, high))
    return figure


def _range(ratios: Sequence[float], thresholds: Sequence[float]) -> tuple[float, float]:
    """The least and the largest score that are shown at their place."""
    centre = next((tau for tau in thresholds if tau > 0), 1.0)
    inside = [r for r in ratios if centre / 10**DECADES <= r <= centre * 10**DECADES]
    return min([centre / 2, *inside]), max([centre * 2, *inside])


_Key = tuple[str, int | None, bool, str]


def _alike(
    found: Sequence[Scored], low: float, high: float
) -> Iterator[tuple[_Key, list[tuple[int, float]]]]:
    """Marks of one look together: kind, layer, accepted, and `within`, `below` or `above`."""
    groups: dict[_Key, list[tuple[int, float]]] = {}
    for each in found:
        ratio = math.inf if each.ratio is None else each.ratio
        place = "below" if ratio < low else "above" if ratio > high else "within"
        key = (each.kind, each.layer, each.accepted, place)
        groups.setdefault(key, []).append((each.step, min(max(ratio, low / 1.3), high * 1.3)))
    # What was accepted lies on top.
    yield from sorted(groups.items(), key=lambda item: item[0][2])


def _draw(
    axes: Axes,
    key: _Key,
    marks: Sequence[tuple[int, float]],
    colour: str,
    limits: tuple[float, float],
) -> None:
    kind, layer, accepted, place = key
    axes.plot(
        [step for step, _ in marks],
        [ratio for _, ratio in marks],
        linestyle="none",
        marker={"within": _SIGNS.get(kind, "s"), "below": "v", "above": "^"}[place],
        markersize=3.2 if kind == "depth" else 3.8,
        markerfacecolor=colour if accepted else "none",
        markeredgecolor=colour,
        markeredgewidth=0.8,
        rasterized=len(marks) > _MANY,
        gid=f"scores-{kind}-{layer}-{'accepted' if accepted else 'rejected'}-{place}",
    )


def _explained(
    record: Record,
    found: Sequence[Scored],
    colours: Sequence[str],
    names: Sequence[str],
    low: float,
    high: float,
) -> list[Any]:
    """Handles of the legend: colours for layers, signs for kinds, and the threshold."""
    from matplotlib.lines import Line2D

    def mark(label: str, **look: Any) -> Line2D:
        usual: dict[str, Any] = {"color": style.BLACK, "markersize": 4, "markerfacecolor": "none"}
        return Line2D([], [], linestyle="none", label=label, **usual | look)

    seen, layers = {each.layer for each in found}, len(names)
    shown = [layer for layer in range(layers) if layer in seen]
    if layers + 1 > len(style.COLOURS):  # a sample of a long row of shades
        shown = sorted({shown[0], shown[len(shown) // 2], shown[-1]})
    handles = [
        mark(names[n], marker="s", color=colours[n], markerfacecolor=colours[n]) for n in shown
    ]
    if None in seen:
        last = colours[layers]
        handles.append(mark("outputs", marker="s", color=last, markerfacecolor=last))
    kinds = {each.kind for each in found}
    if "width" in kinds:
        handles.append(mark(f"a {record.unit} for it", marker=_SIGNS["width"]))
    if "depth" in kinds:
        handles.append(mark("a layer before it", marker=_SIGNS["depth"], markersize=3.5))
    if "pruned" in kinds:
        handles.append(mark("cost of a pruned one", marker=_SIGNS["pruned"]))
    handles.append(mark("accepted", marker="o", markerfacecolor=style.BLACK))
    handles.append(mark("rejected", marker="o"))
    if any(each.ratio is not None and each.ratio < low for each in found):
        handles.append(mark("lower, or negative", marker="v"))
    if any(each.ratio is None or each.ratio > high for each in found):
        handles.append(mark("higher, or infinite", marker="^"))
    handles.append(
        Line2D([], [], color=style.BLACK, linestyle="--", linewidth=0.9, label=r"$\tau$")
    )
    return handles
