"""What an option is that a run's spec does not have: another version of senn resolved it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from senn_cli.errors import SpecError
from senn_cli.report.options import flattened

# What the other options' defaults depend on, or what a section cannot do without.
_KEPT: Mapping[str, tuple[str, ...]] = {
    "data": ("source", "path", "target", "task", "test_path", "train"),
    "network": ("kind",),
    "optimizer": ("kind", "preset", "solver"),
    "expansion": ("policy", "proposals"),
}
_SWITCHES = ("width", "depth", "prune")


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
