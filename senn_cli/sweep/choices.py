"""What the settings of a sweep change in its spec, and what each is called."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from senn_cli.runs.names import slug
from senn_cli.spec.nodes import Entry, Node, plain
from senn_cli.spec.overrides import Override
from senn_cli.sweep.draws import points, value_at
from senn_cli.sweep.read import Sweep

_LONGEST = 24  # letters of a value in a name

Choice = tuple[Override, ...]
"""What one setting changes in the spec."""


def settings(sweep: Sweep) -> list[Choice]:
    """What every setting changes: all combinations of the grid, `zip`, `list` and `draw`."""
    axes: list[list[Choice]] = []
    listed = entry_of(sweep.root, "list")
    if listed is not None:
        axes.append([tuple(_overrides(item)) for item in listed.value])
    together = entry_of(sweep.root, "zip")
    if together is not None and together.value:
        columns = [_values(key, entry) for key, entry in together.value.items()]
        axes.append([tuple(row) for row in zip(*columns, strict=True)])
    grid = entry_of(sweep.root, "grid")
    if grid is not None:
        axes += [[(one,) for one in _values(key, entry)] for key, entry in grid.value.items()]
    draw = sweep.described.draw
    if draw is not None:
        spans = draw.options.items()
        places = origins(sweep.root, "draw")
        axes.append(
            [
                tuple(
                    drawn(option, value_at(span, float(place)), places[option])
                    for (option, span), place in zip(spans, point, strict=True)
                )
                for point in points(draw)
            ]
        )
    return [tuple(itertools.chain(*row)) for row in itertools.product(*axes)]


def drawn(option: str, value: Any, origin: str) -> Override:
    """An option at a value that no file says."""
    from senn_cli.spec.values import read_values

    node = read_values({"value": value})[0].value["value"].node
    return _override(option, node, origin)


def words(choice: Sequence[tuple[str, Any]]) -> str:
    """What a setting is called: `threshold-0.01-hidden-8`; empty where nothing varies."""
    return slug(" ".join(f"{name} {_text(value)}" for name, value in choice)) if choice else ""


def short_names(choices: Sequence[Choice]) -> list[list[tuple[str, Any]]]:
    """The options of every setting under short names, with their values."""
    paths = list(dict.fromkeys(one.path for choice in choices for one in choice))
    short = {path: _short(path, paths) for path in paths}
    return [[(short[one.path], plain(one.node)) for one in choice] for choice in choices]


def _short(path: tuple[str, ...], paths: Iterable[tuple[str, ...]]) -> str:
    """As much of an option's end as tells it apart."""
    others = [other for other in paths if other != path]
    for size in range(1, len(path)):
        if all(other[-size:] != path[-size:] for other in others):
            return ".".join(path[-size:])
    return ".".join(path)


def _text(value: Any) -> str:
    if isinstance(value, float) and not math.isinf(value):
        return f"{value:g}"
    if isinstance(value, dict):
        kinds = [value[key] for key in ("policy", "kind", "source") if key in value]
        if kinds or len(value) == 1:  # of a section its kind, of a duration its length
            return _text(next(iter(kinds or value.values())))
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text[:_LONGEST]


def section(root: Node, name: str) -> list[Override]:
    """The options of a section such as `set`, none where there is no such section."""
    node = entry_of(root, name)
    return [] if node is None else _overrides(node)


def entry_of(root: Node, name: str) -> Node | None:
    """What a sweep has under one of its keys."""
    entry = root.value.get(name)
    return None if entry is None else entry.node


def origins(root: Node, section: str) -> dict[str, str]:
    """Where every range of a section is written, by its option."""
    entries = root.value[section].node.value["options"].node.value
    return {option: entry.origin for option, entry in entries.items()}


def _overrides(node: Node) -> list[Override]:
    return [_override(key, entry.node, entry.origin) for key, entry in node.value.items()]


def _values(key: str, entry: Entry) -> list[Override]:
    return [_override(key, node, node.origin) for node in entry.node.value]


def _override(key: str, node: Node, origin: str) -> Override:
    return Override(path_of(key), replace(_without_lines(node), origin=origin))


def _without_lines(node: Node) -> Node:
    """The value as that of an override: its places are told, but it is no part of the file."""
    value = node.value
    if isinstance(value, dict):
        value = {
            key: Entry(entry.origin, None, _without_lines(entry.node))
            for key, entry in value.items()
        }
    elif isinstance(value, list):
        value = [_without_lines(item) for item in value]
    return Node(value, node.origin)


def path_of(option: str) -> tuple[str, ...]:
    """The keys of a dotted name."""
    return tuple(part.strip() for part in option.split("."))
