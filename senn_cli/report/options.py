"""A spec as a flat list of options, and what those are that another version did not know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from senn_cli.errors import SpecError

# What the other options' defaults depend on, or what a section cannot do without.
_KEPT: Mapping[str, tuple[str, ...]] = {
    "data": ("source", "path", "target", "task", "test_path", "train"),
    "network": ("kind",),
    "optimizer": ("kind", "preset", "solver"),
    "expansion": ("policy", "proposals"),
}
_SWITCHES = ("width", "depth", "prune")
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


def present_defaults(spec: Mapping[str, Any]) -> dict[str, Any]:
    """All options by their dotted names, as this version fills them in for a spec of these kinds.

    Args:
      spec: a resolved spec, perhaps of another version.

    Returns:
      nothing where this version takes no spec of these kinds.
    """
    from senn_cli.spec.load import from_values

    kinds: dict[str, Any] = {}
    for section, keys in _KEPT.items():
        given = spec.get(section)
        if isinstance(given, Mapping):
            kinds[section] = {key: given[key] for key in keys if key in given}
    growth = spec.get("expansion")
    if isinstance(growth, Mapping) and growth.get("policy") == "none":
        kinds["expansion"] = "none"
    elif isinstance(growth, Mapping):
        for switch in _SWITCHES:
            own = growth.get(switch)
            if isinstance(own, Mapping) and "enabled" in own:
                kinds["expansion"][switch] = {"enabled": own["enabled"]}
    try:
        return flattened(from_values(kinds).model_dump(mode="json"))
    except SpecError:
        return {}
