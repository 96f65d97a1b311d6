"""The width of every hidden layer over a run: which layer is which, although insertions renumber.

A layer is followed from its birth to the end under its last number, the one that the finished
network knows it by.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from senn_cli.errors import RunError
from senn_cli.report.record import Record
from senn_cli.report.saved import saved_architectures


@dataclass(frozen=True)
class Track:
    """One hidden layer over the run.

    Attributes:
      name: as the last architecture has it: `layer <number>`, counted from 0, of most kinds.
      born: the step at which it was inserted, or the run's first step.
      steps: the steps at which its width is known, ascending: its birth, each change, the end.
      widths: its neurons in use from each of `steps` on.
      group: what it is part of, such as `block 0`; empty for a fully connected network.
    """

    name: str
    born: int
    steps: tuple[int, ...]
    widths: tuple[int, ...]
    group: str = ""

    def width_at(self, step: int) -> int:
        """Neurons in use after everything that happened at `step`; 0 before its birth."""
        found = 0
        for at, width in zip(self.steps, self.widths, strict=True):
            if at > step:
                break
            found = width
        return found


def tracks(record: Record) -> tuple[Track, ...]:
    """All hidden layers of a run in the order of the last architecture, the first one first."""
    events, end = record.accepted, record.last_step
    widths = starting_widths(record)
    # By layer, in the present order; an insertion puts a new list in between.
    layers: list[list[tuple[int, int]]] = [[(0, width)] for width in widths]
    for event in events:
        step, after = int(event["step"]), [int(width) for width in event["hidden"]]
        if event["edit"] == "insert_layer":
            place = inserted_at(event)
            layers.insert(place, [(step, after[place])])
        for layer, width in zip(layers, after, strict=True):
            if layer[-1][1] != width:
                layer.append((step, width))
    names = _names(record, events, len(layers))
    return tuple(
        Track(
            names[index][1],
            layer[0][0],
            tuple(step for step, _ in layer) + ((end,) if end > layer[-1][0] else ()),
            tuple(width for _, width in layer) + ((layer[-1][1],) if end > layer[-1][0] else ()),
            names[index][0],
        )
        for index, layer in enumerate(layers)
    )


def _names(
    record: Record, events: Sequence[Mapping[str, Any]], count: int
) -> list[tuple[str, str]]:
    """Group and name of every layer: of kinds that name their layers as what is saved has them."""
    try:
        saved = [found for _, found in saved_architectures(record) if len(found.hidden) == count]
    except RunError:  # whoever needs what is damaged says so
        saved = []
    if saved:
        sites = [f.site for f in saved[0].features if f.role == "hidden"]
        return [(site.rpartition(" layer ")[0], site) for site in sites]
    blocks = record.spec.get("network", {}).get("blocks")
    sizes = [len(block) for block in blocks or ()]
    for event in events:
        inserted = re.match(r"block ([0-9]+)\b", str(event.get("site")))
        if event["edit"] == "insert_layer" and inserted and int(inserted[1]) < len(sizes):
            sizes[int(inserted[1])] += 1
    if sum(sizes) == count and sizes:
        places = [(b, layer) for b, size in enumerate(sizes) for layer in range(size)]
        return [(f"block {b}", f"block {b} layer {layer}") for b, layer in places]
    return [("", f"layer {index}") for index in range(count)]


def starting_widths(record: Record) -> tuple[int, ...]:
    """Widths of the hidden layers before anything grew."""
    if not record.accepted:
        rows: Sequence[Mapping[str, Any]] = (*record.metrics[:1], *record.history[:1])
        told = next((row["hidden"] for row in rows if row.get("hidden") is not None), None)
        if told is not None:
            return tuple(int(width) for width in told)
        hidden = record.spec.get("network", {}).get("hidden", ())
        return tuple(int(width) for width in hidden)
    event = record.accepted[0]
    widths = [int(width) for width in event["hidden"]]
    match event["edit"]:
        case "insert_layer":
            del widths[inserted_at(event)]
        case "add_neurons":
            widths[event["layer"]] -= int(event["neurons"])
        case "prune_neurons":
            widths[event["layer"]] += 1
    return tuple(widths)


def inserted_at(event: Mapping[str, Any]) -> int:
    """The place of an inserted layer among the hidden layers."""
    return int(event["layer"] if "layer" in event else event["map"])
