"""From a sweep to its members: settings, each with every seed, and the controls made of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from senn_cli.runs.names import slug
from senn_cli.spec import Spec, load_spec
from senn_cli.spec.describe import printable
from senn_cli.spec.errors import Fault, InvalidSpecError
from senn_cli.spec.load import ordered
from senn_cli.spec.nodes import Node
from senn_cli.spec.overrides import Override
from senn_cli.spec.sweep import MOST_MEMBERS
from senn_cli.sweep.choices import (
    Choice,
    entry_of,
    path_of,
    section,
    settings,
    short_names,
    words,
)
from senn_cli.sweep.read import Sweep

_MOST_FAULTS = 20


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
      origin: the name of the member whose network it starts from; None where it is drawn.
    """

    number: int
    name: str
    setting: str
    seed: int
    spec: Spec | None = None
    control: str | None = None
    of: str | None = None
    origin: str | None = None

    @property
    def awaits(self) -> str | None:
        """The name of the member that has to finish before this one can start."""
        return self.of or self.origin


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
    names = _names([*map(words, short_names(choices))], sweep)
    made: list[tuple[str, int, Spec]] = []
    faults: dict[Fault, None] = {}
    first: Member | None = None
    if sweep.origin is not None:
        try:
            # Behind those that start from it: others are compared with the first setting.
            first = _first(sweep.origin, len(choices) * len(described.seeds))
        except InvalidSpecError as error:
            faults |= dict.fromkeys(error.faults)
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
    origin = None if first is None else first.name
    found = [
        Member(number, directory(number, name, seed), name, seed, spec, origin=origin)
        for number, (name, seed, spec) in enumerate(made)
    ]
    others = [] if first is None else [first]
    return (*found, *others, *_controls(sweep, found, len(found) + len(others)))


def _first(path: Path, number: int) -> Member:
    """The member that is trained first, and whose network the others start from.

    Raises:
      SpecError: its spec has faults.
    """
    spec = load_spec(path)
    setting = slug(spec.name)
    return Member(number, directory(number, setting, spec.seed), setting, spec.seed, spec)


def resolved(sweep: Sweep, choice: Choice, name: str, seed: int) -> Spec:
    """The spec of one member.

    Raises:
      SpecError: it has faults.
    """
    own = (Override((key,), Node(value, "")) for key, value in (("name", name), ("seed", seed)))
    return load_spec(sweep.spec, (*section(sweep.root, "set"), *choice, *own))


def directory(number: int, setting: str, seed: int) -> str:
    """The name of a member's directory, which sorts as members do."""
    return f"{number:03d}-{setting}-seed-{seed}"


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


def _controls(sweep: Sweep, found: Sequence[Member], start: int) -> list[Member]:
    controls = sweep.described.controls
    growing = [member for member in found if member.spec is not None and member.spec.grows]
    if controls and not growing:
        place = sweep.root.value["controls"]
        told = "should be left out: they are made from runs that grow, and no member does"
        raise InvalidSpecError([Fault(place.origin, place.line, ("controls",), told)])
    several = len({member.setting for member in growing}) > 1
    made = []
    numbers = itertools.count(start)
    for control in controls:
        for origin in growing:
            word = control.replace("_", "-")
            setting = slug(f"{word} of {origin.setting}") if several else word
            number = next(numbers)
            name = directory(number, setting, origin.seed)
            made.append(Member(number, name, setting, origin.seed, control=control, of=origin.name))
    return made


def require_paths(sweep: Sweep) -> None:
    """Refuses options that no option of a spec can be.

    Raises:
      SpecError: a name lacks a part between its dots, or is `seed` or `name`, which a sweep sets.
    """
    faults = []
    for option, origin in _named(sweep.root):
        path = path_of(option)
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
    for name in ("set", "grid", "zip", "draw", "search", "list"):
        node = entry_of(root, name)
        if node is None:
            continue
        if name in ("draw", "search"):
            nodes = [node.value["options"].node]
        else:
            nodes = node.value if name == "list" else [node]
        for each in nodes:
            yield from ((key, entry.origin) for key, entry in each.value.items())
