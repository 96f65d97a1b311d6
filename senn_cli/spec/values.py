"""A spec that is given as Python values: the same nodes that a YAML text is read as."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from senn_cli.spec.base import DEEPEST
from senn_cli.spec.describe import printable
from senn_cli.spec.nodes import Entry, Node, YamlFault

ORIGIN = "the spec"
"""Where faults of such a spec are said to be."""

# Values have no lines; None would pass for an override, which may take the place of what is given.
_LINE = 0

HOW_TO_PASS_ARRAYS = (
    "a spec holds no data: save the arrays, numpy.savez('my.npz', x=x, y=y), and name the file, "
    "data={'source': 'npz', 'path': 'my.npz'}"
)


@dataclass
class _Builder:
    faults: list[YamlFault] = field(default_factory=list)
    open: set[int] = field(default_factory=set)

    def blame(self, path: tuple[str | int, ...], message: str) -> Node:
        text = message if path else f"the value {message}"
        self.faults.append(YamlFault(ORIGIN, _LINE, path, text, lost=True))
        return Node(None, ORIGIN, _LINE)

    def build(self, value: Any, path: tuple[str | int, ...]) -> Node:
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        if hasattr(value, "shape") and hasattr(value, "tolist"):  # NumPy's, JAX's and the like
            shape = tuple(value.shape)
            if len(shape) > 1 or (shape and shape[0] > DEEPEST):
                return self.blame(path, f"is an array of shape {shape}; {HOW_TO_PASS_ARRAYS}")
            value = value.tolist()
        if value is None or isinstance(value, bool | int | float | str):
            return Node(value, ORIGIN, _LINE)
        if not isinstance(value, Mapping | list | tuple):
            sizes = getattr(value, "shape", None)  # a table of pandas
            of = f" of shape {tuple(sizes)}; {HOW_TO_PASS_ARRAYS}" if sizes else ""
            return self.blame(path, f"has no place in a spec: it is a {type(value).__name__}{of}")
        if id(value) in self.open:
            return self.blame(path, "contains itself")
        self.open.add(id(value))
        if isinstance(value, Mapping):
            node = Node(self._entries(value, path), ORIGIN, _LINE)
        else:
            items = [self.build(item, (*path, index)) for index, item in enumerate(value)]
            node = Node(items, ORIGIN, _LINE)
        self.open.discard(id(value))
        return node

    def _entries(self, value: Mapping[Any, Any], path: tuple[str | int, ...]) -> dict[str, Entry]:
        entries = {}
        for key, inner in value.items():
            if isinstance(key, str):
                entries[key] = Entry(ORIGIN, _LINE, self.build(inner, (*path, key)))
            else:
                self.blame(path, f"has a key that is not a text: {printable(repr(key))[:40]}")
        return entries


def read_values(value: Mapping[str, Any]) -> tuple[Node, list[YamlFault]]:
    """The nodes of a mapping, and what in it can be no part of a spec.

    Args:
      value: as `yaml.safe_load` gives it; paths, tuples and NumPy's numbers are taken, too.
    """
    builder = _Builder()
    return builder.build(value, ()), builder.faults
