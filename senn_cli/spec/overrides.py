"""Overrides from the command line: `--set seed=1`, `--set network.hidden.0=20`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from senn_cli.spec.describe import describe, dotted, printable
from senn_cli.spec.duration import UNITS
from senn_cli.spec.nodes import Entry, Node, YamlFault
from senn_cli.spec.yaml import read_yaml

# What a short form stands for, by the last key of its path: `data: digits` is
# `data: {source: digits}`, so that `data.validation` can be set beside it.
_SHORT_TEXTS = {
    "data": "source",
    "network": "kind",
    "optimizer": "kind",
    "schedule": "kind",
    "expansion": "policy",
    "device": "kind",
}
_SWITCHED = ("width", "depth", "prune", "checkpoints", "tensorboard", "mlflow", "wandb")
_SHORT_BOOLS = dict.fromkeys(_SWITCHED, "enabled")


@dataclass(frozen=True)
class Override:
    """One override.

    Attributes:
      path: keys and indices from the root.
      node: the new value; its origin is the override as it was written.
    """

    path: tuple[str, ...]
    node: Node


class _Misplaced(Exception):
    """An override that leads nowhere."""


def parse_override(text: str) -> tuple[Override | None, list[YamlFault]]:
    """Reads `path=value`, the value as YAML.

    Args:
      text: what followed `--set`.

    Returns:
      the override, or None with the faults that prevent it.
    """
    origin = f"--set {printable(text)}"
    name, equals, value = text.partition("=")
    path = tuple(part.strip() for part in name.split("."))
    if not equals or not all(path):
        message = "should have the form path=value, such as `--set training.epochs=5`"
        return None, [YamlFault(origin, None, (), message)]
    node, faults = read_yaml(value, origin=origin)
    if faults:
        below = [replace(fault, path=(*path, *fault.path)) for fault in faults if fault.path]
        return None, [*(fault for fault in faults if not fault.path), *below]
    return Override(path, replace(node, origin=origin, line=None)), []


def apply_overrides(
    root: Node, overrides: Iterable[str | Override]
) -> tuple[Node, list[YamlFault]]:
    """Sets values in a spec that was read, in the order given; later ones win.

    A length or duration has one unit, so an override of one unit (`training.steps`) takes the
    place of another unit that the file gives (`training.epochs`).

    Args:
      root: the spec.
      overrides: texts as `path=value`, and those that were read elsewhere.

    Returns:
      the changed spec, and the faults of overrides that could not be read or placed.
    """
    if isinstance(overrides, str | Mapping):  # from Python: its letters or keys would be read
        return root, [_no_list("", overrides)]
    faults: list[YamlFault] = []
    for index, given in enumerate(overrides):
        override = given if isinstance(given, Override) else None
        if isinstance(given, str):
            override, found = parse_override(given)
            faults += found
        elif override is None:
            faults.append(_no_list(f"[{index}]", given))
        if override is None:
            continue
        try:
            root = _set(root, override.path, override.node, ())
        except _Misplaced as error:
            faults.append(YamlFault(override.node.origin, None, (), str(error)))
    return root, faults


def _no_list(place: str, found: object) -> YamlFault:
    """The fault of overrides, or of one at `place` of them, that are not what Python is to give."""
    wanted = "a text" if place else "a list of texts"
    example = 'overrides=["training.epochs=5"]'
    message = f"should be {wanted} of the form path=value, as in {example}, found {describe(found)}"
    return YamlFault(f"overrides{place}", None, (), message)


def _set(node: Node, path: tuple[str, ...], new: Node, above: tuple[str, ...]) -> Node:
    # Only nodes along the path are copied: what an alias shares with another place stays.
    if not path:
        return new
    key, rest = path[0], path[1:]
    value = node.value
    if isinstance(value, list):
        index = _index(key, len(value), above)
        changed = _set(value[index], rest, new, (*above, key))
        return replace(node, value=[*value[:index], changed, *value[index + 1 :]])
    entries = _entries(node, key, above)
    if key in entries:
        below = entries[key].node
    elif rest and _is_index(rest[0]):
        raise _Misplaced(
            f"{dotted((*above, key))} is not written in the spec, so it has no item {rest[0]}; "
            "set the whole list"
        )
    else:
        below = Node(None, new.origin)
    changed = _set(below, rest, new, (*above, key))
    # Where the path ends or begins to be new, the key itself comes from the override.
    own = Entry(new.origin, None, changed)
    entry = replace(entries[key], node=changed) if rest and key in entries else own
    others = {name: other for name, other in entries.items() if not _replaced(name, other, key)}
    return replace(node, value={**others, key: entry})


def _replaced(name: str, entry: Entry, key: str) -> bool:
    return name != key and name in UNITS and key in UNITS and entry.line is not None


def _entries(node: Node, key: str, above: tuple[str, ...]) -> dict[str, Entry]:
    value = node.value
    if isinstance(value, dict):
        return value
    if value is None or (isinstance(value, str) and key in UNITS):
        return {}  # a duration that is written as a text gives way to one in another unit
    last = above[-1] if above else ""
    short = _SHORT_BOOLS if isinstance(value, bool) else _SHORT_TEXTS
    if isinstance(value, bool | str) and last in short:
        return {short[last]: Entry(node.origin, node.line, node)}
    raise _Misplaced(f"{dotted(above) or 'the spec'} has no keys: it is a single value")


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _index(key: str, length: int, above: tuple[str, ...]) -> int:
    name = dotted(above)
    if not _is_index(key):
        raise _Misplaced(f"{name} is a list; its items are {name}.0, {name}.1, ...")
    if len(key) > 9 or int(key) >= length:
        raise _Misplaced(f"{name}.{key} does not exist: {name} has {length} items, from 0")
    return int(key)
