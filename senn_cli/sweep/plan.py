"""From a sweep to its members: settings, each with every seed, and the controls made of them."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from senn_cli.runs.names import slug
from senn_cli.spec import Spec, load_spec
from senn_cli.spec.describe import printable
from senn_cli.spec.errors import Fault, InvalidSpecError
from senn_cli.spec.load import ordered
from senn_cli.spec.nodes import Entry, Node, plain
from senn_cli.spec.overrides import Override
from senn_cli.spec.sweep import MOST_MEMBERS
from senn_cli.sweep.draws import points, value_at
from senn_cli.sweep.read import Sweep

_MOST_FAULTS = 20
_LONGEST = 24  # letters of a value in a name

Choice = tuple[Override, ...]
"""What one setting changes in the spec."""


@dataclass(frozen=True)
class Member:
    """A run of a sweep.

    Attributes:
      number: its place, from 0.
      name: of its directory.
      setting: a name that all seeds of one setting share; also that of its spec.
      seed: its seed.
      spec: what is trained; None for a control, which is made when the run `of` has finished.
      control: which one it is; None for a setting of the sweep's own.
      of: the name of the member that a control is made from.
    """

    number: int
    name: str
    setting: str
    seed: int
    spec: Spec | None = None
    control: str | None = None
    of: str | None = None


def members(sweep: Sweep) -> tuple[Member, ...]:
    """All members of a sweep whose settings are known beforehand.

    Raises:
      SpecError: a member's spec has faults (those of all members are told, each once), there are
        too many members, or controls of none that grows.
    """
    choices = settings(sweep)
    described = sweep.described
    count = len(choices) * len(described.seeds) * (1 + len(described.controls))
    if count > MOST_MEMBERS:
        told = f"has {count:,} members; the most are {MOST_MEMBERS:,}"
        raise InvalidSpecError([Fault(sweep.root.origin, None, (), f"the sweep {told}")])
    names = _names([*map(words, _told(choices))], sweep)
    made: list[tuple[str, int, Spec]] = []
    faults: dict[Fault, None] = {}
    for name, choice in zip(names, choices, strict=True):
        for seed in described.seeds:
            try:
                made.append((name, seed, resolved(sweep, choice, name, seed)))
            except InvalidSpecError as error:
                faults |= dict.fromkeys(error.faults)
    if faults:
        shown = ordered(faults)[:_MOST_FAULTS]
        if len(faults) > _MOST_FAULTS:
            more = f"and {len(faults) - _MOST_FAULTS:,} more faults"
            shown.append(Fault(sweep.root.origin, None, (), more))
        raise InvalidSpecError(shown)
    found = [
        Member(number, directory(number, name, seed), name, seed, spec)
        for number, (name, seed, spec) in enumerate(made)
    ]
    return (*found, *_controls(sweep, found))


def resolved(sweep: Sweep, choice: Choice, name: str, seed: int) -> Spec:
    """The spec of one member.

    Raises:
      SpecError: it has faults.
    """
    own = (Override((key,), Node(value, "")) for key, value in (("name", name), ("seed", seed)))
    return load_spec(sweep.spec, (*_section(sweep.root, "set"), *choice, *own))


def directory(number: int, setting: str, seed: int) -> str:
    """The name of a member's directory, which sorts as members do."""
    return f"{number:03d}-{setting}-seed-{seed}"


def settings(sweep: Sweep) -> list[Choice]:
    """What every setting changes: all combinations of the grid, `zip`, `list` and `draw`."""
    axes: list[list[Choice]] = []
    listed = _entry(sweep.root, "list")
    if listed is not None:
        axes.append([tuple(_overrides(item)) for item in listed.value])
    together = _entry(sweep.root, "zip")
    if together is not None and together.value:
        columns = [_values(key, entry) for key, entry in together.value.items()]
        axes.append([tuple(row) for row in zip(*columns, strict=True)])
    grid = _entry(sweep.root, "grid")
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


def _told(choices: Sequence[Choice]) -> list[list[tuple[str, Any]]]:
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


def _names(found: Sequence[str], sweep: Sweep) -> list[str]:
    """Names of settings, all different: those that are not get a number."""
    base = slug(sweep.spec.stem)
    names = [name or base for name in found]
    counts: dict[str, int] = {}
    different = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        again = names.count(name) > 1
        different.append(f"{name}-{counts[name]}" if again else name)
    return different


def _controls(sweep: Sweep, found: Sequence[Member]) -> list[Member]:
    controls = sweep.described.controls
    growing = [member for member in found if member.spec is not None and member.spec.grows]
    if controls and not growing:
        place = sweep.root.value["controls"]
        told = "should be left out: they are made from runs that grow, and no member does"
        raise InvalidSpecError([Fault(place.origin, place.line, ("controls",), told)])
    several = len({member.setting for member in growing}) > 1
    made = []
    numbers = itertools.count(len(found))
    for control in controls:
        for origin in growing:
            word = control.replace("_", "-")
            setting = slug(f"{word} of {origin.setting}") if several else word
            number = next(numbers)
            name = directory(number, setting, origin.seed)
            made.append(Member(number, name, setting, origin.seed, control=control, of=origin.name))
    return made


def _section(root: Node, name: str) -> list[Override]:
    node = _entry(root, name)
    return [] if node is None else _overrides(node)


def _entry(root: Node, name: str) -> Node | None:
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
    return Override(_path(key), replace(_without_lines(node), origin=origin))


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


def _path(option: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in option.split("."))


def require_paths(sweep: Sweep) -> None:
    """Refuses options that no option of a spec can be.

    Raises:
      SpecError: a name lacks a part between its dots, or is `seed` or `name`, which a sweep sets.
    """
    faults = []
    for option, origin in _named(sweep.root):
        path = _path(option)
        if not all(path):
            told = f"{printable(option) or 'an empty name'} should be an option's dotted name"
            faults.append(Fault(origin, None, (), told))
        elif path in (("seed",), ("name",)):
            hint = "seeds" if path == ("seed",) else "name"
            told = f"{option} is set by the sweep itself; its own key is {hint}"
            faults.append(Fault(origin, None, (), told))
    if faults:
        raise InvalidSpecError(faults)


def _named(root: Node) -> Iterable[tuple[str, str]]:
    """Every option that a sweep names, and where."""
    for section in ("set", "grid", "zip", "draw", "search", "list"):
        node = _entry(root, section)
        if node is None:
            continue
        if section in ("draw", "search"):
            nodes = [node.value["options"].node]
        else:
            nodes = node.value if section == "list" else [node]
        for each in nodes:
            yield from ((key, entry.origin) for key, entry in each.value.items())
