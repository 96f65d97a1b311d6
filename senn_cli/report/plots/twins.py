"""Equal curves: the later one is drawn in dashes over the earlier, and the legend says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_LISTED = 6


def twins(curves: Sequence[Any]) -> list[int | None]:
    """For every curve the place of the first one before it that is equal, or None."""
    first = [curves.index(curve) for curve in curves]
    return [None if place == k else place for k, place in enumerate(first)]


def dashes(found: Sequence[int | None], place: int) -> dict[str, Any]:
    """How the line at `place` is drawn: the more equal ones lie below it, the wider its gaps."""
    first = found[place]
    if first is None:
        return {}
    below = 1 + sum(other == first for other in found[:place])
    return {"linestyle": (0, (3, 3 * below))}


def told(names: Sequence[str], found: Sequence[int | None]) -> list[str]:
    """The names for a legend, with whose curve a curve is; a long legend has no room for that."""
    if len(names) > _LISTED:
        return list(names)
    return [
        name if first is None else f"{name} = {names[first]}"
        for name, first in zip(names, found, strict=True)
    ]
