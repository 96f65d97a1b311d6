"""What a YAML text was read as: values that know where they are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Node:
    """A value and where it comes from.

    Attributes:
      value: None, a bool, int, float or str; a list of nodes; or a dict of entries by key.
      origin: where it is written, such as `spec.yaml:3` or `--set seed=1`.
      line: the line in the file, counted from 1, or None for an override.
    """

    value: Any
    origin: str
    line: int | None = None


@dataclass(frozen=True, eq=False)
class Entry:
    """A key of a mapping, where the key stands, and its value."""

    origin: str
    line: int | None
    node: Node


@dataclass(frozen=True)
class YamlFault:
    """Something wrong with the text itself, at a place.

    Attributes:
      origin: where it is, such as `spec.yaml:3` or `--set seed=x`.
      line: the line in the file, counted from 1, or None for an override.
      path: the key's path; empty when the text can't be read at all.
      message: what is wrong.
      lost: whether the value is lost, so that what else is said about it would mislead.
    """

    origin: str
    line: int | None
    path: tuple[str | int, ...]
    message: str
    lost: bool = False


def plain(node: Node, done: dict[int, Any] | None = None) -> Any:
    """The value as ordinary lists, dicts and scalars; aliases share one object."""
    done = {} if done is None else done
    if id(node) not in done:
        value = node.value
        if isinstance(value, dict):
            value = {key: plain(entry.node, done) for key, entry in value.items()}
        elif isinstance(value, list):
            value = [plain(item, done) for item in value]
        done[id(node)] = value
    return done[id(node)]


def locate(root: Node, path: tuple[str | int, ...]) -> tuple[str, int | None]:
    """The origin and line of the key or item at `path`, or of the nearest one above it."""
    node, place = root, (root.origin, root.line)
    for part in path:
        value = node.value
        if isinstance(value, dict) and part in value:
            node, place = value[part].node, (value[part].origin, value[part].line)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            node = value[part]
            place = (node.origin, node.line)
        else:
            break
    return place
