"""Taking faulty keys out of a spec, so that what is left can be checked as a whole."""

from __future__ import annotations

from typing import Any

from senn_cli.spec.catalog import DISCRIMINATORS

Path = tuple[str | int, ...]
"""Keys and indices from the top of a spec."""

# Sections that a spec can't do without.
_REQUIRED = {"data": {"source": "digits"}, "network": {"kind": "mlp"}}


def without(data: dict[str, Any], path: Path) -> tuple[dict[str, Any], Path]:
    """The spec without a faulty key.

    A whole list goes when an item is faulty, and a whole section when a key is missing or says
    which kind of section it is; a required section is then replaced by a valid one.

    Args:
      data: the spec; it is not changed.
      path: the faulty key, not empty.

    Returns:
      the new spec, and the path of what was taken out.
    """
    target = _removable(data, path)
    if len(target) > 1:
        return _removed(data, target), target
    section = str(target[0])
    others = {key: value for key, value in data.items() if key != section}
    if section in _REQUIRED:
        others[section] = _REQUIRED[section]
    return others, target


def _removable(data: dict[str, Any], path: Path) -> Path:
    if len(path) == 2 and DISCRIMINATORS.get(str(path[0])) == path[1]:
        return path[:1]
    value: Any = data
    for depth, part in enumerate(path):
        if isinstance(value, list):
            return path[:depth]
        if not isinstance(value, dict) or part not in value:
            return path[:1]
        value = value[str(part)]
    return path


def _removed(data: dict[str, Any], path: Path) -> dict[str, Any]:
    key, rest = str(path[0]), path[1:]
    changed = {name: value for name, value in data.items() if name != key}
    if rest:
        changed[key] = _removed(data[key], rest)
    return changed
