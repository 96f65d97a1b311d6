"""Layers by the numbers that the last architecture gives them, for every line of a history.

A history names a layer by its number at that moment, and an insertion renumbers what lies behind
it. A view that gives every layer one colour needs the number that stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from senn_cli.report.record import Record
from senn_cli.report.tracks import inserted_at, starting_widths, tracks

_SITE = re.compile(r"(?:layer|map) ([0-9]+)")


@dataclass(frozen=True)
class Numbers:
    """The hidden layers around one line of the history, in order, by their last numbers.

    Attributes:
      before: the layers that the network had when the decision was taken.
      after: those that it had afterwards.
      names: of the layers in the last architecture, by their numbers.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    names: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def target(self, place: dict[str, Any]) -> int | None:
        """The layer of an event or candidate that gets neurons, or that a map leads to.

        None for the outputs. What names a layer by its block tells its number besides.
        """
        if place.get("layer") is not None:
            return _at(self.before, f"layer {place['layer']}")
        return _at(self.before, str(place.get("site")))

    def grown(self, event: dict[str, Any]) -> int | None:
        """The layer that an accepted event changed or made; None where it names none."""
        place = event.get("layer", event.get("map"))
        return _at(self.after, f"layer {place}")


def last_numbers(record: Record) -> list[Numbers]:
    """The numbers for every line of the history."""
    present = tuple(range(len(starting_widths(record))))
    made = len(present)
    moments = []
    for event in record.history:
        before = present
        if event.get("accepted") and event.get("edit") == "insert_layer":
            place = inserted_at(event)
            present = (*present[:place], made, *present[place:])
            made += 1
        moments.append((before, present))
    last = {layer: number for number, layer in enumerate(present)}
    known: dict[tuple[int, ...], tuple[int, ...]] = {}

    def numbered(layers: tuple[int, ...]) -> tuple[int, ...]:
        if layers not in known:
            known[layers] = tuple(last[layer] for layer in layers)
        return known[layers]

    names = tuple(track.name for track in tracks(record))
    return [Numbers(numbered(before), numbered(after), names) for before, after in moments]


def _at(layers: Sequence[int], site: str) -> int | None:
    match = _SITE.fullmatch(site)
    place = int(match[1]) if match else len(layers)
    return layers[place] if place < len(layers) else None
