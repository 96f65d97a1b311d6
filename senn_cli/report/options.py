"""A spec as a flat list of options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_UNITS = ("steps", "epochs", "minutes")


def flattened(spec: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Options by their dotted names; a duration such as `{epochs: 10}` is one value, as are lists.

    An empty mapping is a value, too.
    """
    found: dict[str, Any] = {}
    for key, value in spec.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value and not is_duration(value):
            found |= flattened(value, f"{name}.")
        else:
            found[name] = value
    return found


def is_duration(value: Mapping[str, Any]) -> bool:
    """Whether a mapping is a number of steps, epochs or minutes."""
    return len(value) == 1 and next(iter(value)) in _UNITS
