"""Reading a sweep: from its file, or a spec and what the command line varies in it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from senn_cli.errors import SpecError
from senn_cli.spec.base import Model
from senn_cli.spec.describe import describe, printable
from senn_cli.spec.errors import Fault, InvalidSpecError, explain
from senn_cli.spec.found import Found
from senn_cli.spec.load import ordered, read_mapping
from senn_cli.spec.nodes import Entry, Node, locate, plain
from senn_cli.spec.suggest import closest
from senn_cli.spec.sweep import DrawSpec, RangeSpec, SearchSpec, SweepSpec, contradictions
from senn_cli.spec.text import read_text
from senn_cli.spec.yaml import read_yaml


@dataclass(frozen=True)
class Sweep:
    """A sweep as it was written.

    Attributes:
      described: what it says.
      root: the same with the place of every value.
      spec: the file of the spec that is varied.
      origin: the file of the spec that is trained first; None where members start from nothing.
      name: of the folder.
    """

    described: SweepSpec
    root: Node
    spec: Path
    origin: Path | None
    name: str


def is_sweep(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a sweep and not a spec; one that cannot be read is none."""
    try:
        return "spec" in read_mapping(path)
    except SpecError:
        return False


def read_sweep(
    path: str | os.PathLike[str],
    overrides: Sequence[str] = (),
    seeds: str | None = None,
    controls: Sequence[str] = (),
) -> Sweep:
    """Reads a sweep file, or a spec, of which the rest is given.

    Args:
      path: a mapping with the key `spec` is a sweep, any other a spec.
      overrides: `path=value`, or `path=value,value` for one more axis of the grid; they take the
        place of what the file says of the same option.
      seeds: how many, or which, with commas between them.
      controls: those to make.

    Raises:
      SpecError: something is wrong with what was given; all of it is listed.
    """
    file = Path(path)
    try:
        text = read_text(file, "sweep", SpecError)
    except FileNotFoundError:
        raise SpecError(f"{printable(str(file))}: no such file") from None
    root, found = read_yaml(text, filename=printable(str(file)))
    faults = [Fault(f.origin, f.line, f.path, f.message) for f in found]
    if any(fault.lost and not fault.path for fault in found):
        raise InvalidSpecError(faults)
    if not isinstance(root.value, dict):
        told = f"a sweep should be a mapping with the key spec, found {describe(plain(root))}"
        raise InvalidSpecError([*faults, Fault(root.origin, root.line, (), told)])
    if "spec" not in root.value:
        written = Node(str(file.name), root.origin, root.line)
        root = Node({"spec": Entry(root.origin, root.line, written)}, root.origin, root.line)
        faults = []  # of the spec, which are told where it is read
    root, misplaced = _with_given(root, overrides, seeds, controls)
    faults += misplaced
    try:
        described = SweepSpec.model_validate(plain(root))
        wrong = contradictions(described)
    except ValidationError as error:
        wrong = [one for each in error.errors(include_url=False) for one in _explained(each)]
        described = None
    faults += [Fault(*locate(root, one.path), one.path, one.message) for one in wrong]
    if faults or described is None:
        raise InvalidSpecError(ordered(faults))

    def beside(name: str) -> Path:
        return Path(os.path.normpath(file.parent / name))

    origin = None if described.origin is None else beside(described.origin)
    name = described.name or file.stem
    return Sweep(described, root, beside(described.spec), origin, name)


def _explained(error: Mapping[str, Any]) -> list[Found]:
    if error["type"] != "extra_forbidden":
        return explain(error)
    # What `explain` says of unknown keys is about specs.
    path = tuple(error["loc"])
    models: dict[tuple[str | int, ...], type[Model]] = {
        (): SweepSpec,
        ("draw",): DrawSpec,
        ("search",): SearchSpec,
    }
    names = list(models.get(path[:-1], RangeSpec).model_fields)
    near = closest(str(path[-1]), names)
    hint = f"did you mean {near}?" if near else f"there are {', '.join(names)}"
    if near is None and len(path) == 1:
        hint += "; options of the spec stand under set, grid, zip or list"
    return [Found(path, f"is unknown; {hint}")]


def _with_given(
    root: Node, overrides: Sequence[str], seeds: str | None, controls: Sequence[str]
) -> tuple[Node, list[Fault]]:
    """The sweep with what the command line says of it."""
    sections = dict(root.value)
    faults = []
    for text in overrides:
        origin = f"--set {printable(text)}"
        option, equals, value = text.partition("=")
        values = [read_yaml(part, origin=origin) for part in split(value)]
        faults += [
            Fault(f.origin, None, (option, *f.path), f.message) for _, b in values for f in b
        ]
        if not equals or not option.strip():
            told = "should have the form path=value or path=value,value"
            faults.append(Fault(origin, None, (), told))
            continue
        nodes = [replace(node, origin=origin, line=None) for node, _ in values]
        section, option = "set" if len(nodes) == 1 else "grid", option.strip()
        node = nodes[0] if len(nodes) == 1 else Node(nodes, origin)
        for name in ("set", "grid"):
            held = sections.get(name)
            entries = dict(held.node.value) if held and isinstance(held.node.value, dict) else {}
            entries.pop(option, None)
            if name == section:
                entries[option] = Entry(origin, None, node)
            if entries or held:
                sections[name] = _entry(entries, held, origin)
        if (held := sections.get("list")) and isinstance(held.node.value, list):
            items = [_without(item, option) for item in held.node.value]
            sections["list"] = replace(held, node=replace(held.node, value=items))
    for name, given in (("seeds", seeds), ("controls", ",".join(controls) or None)):
        if given is not None:
            origin = f"--{name} {printable(given)}"
            several = "," in given or name == "controls"
            node, found = read_yaml(f"[{given}]" if several else given, origin=origin)
            faults += [Fault(f.origin, None, (name, *f.path), f.message) for f in found]
            sections[name] = Entry(origin, None, node)
    return replace(root, value=sections), faults


def _without(node: Node, option: str) -> Node:
    """A mapping without an option; all else as it is."""
    if not isinstance(node.value, dict):
        return node
    return replace(node, value={k: v for k, v in node.value.items() if k != option})


def _entry(entries: dict[str, Entry], held: Entry | None, origin: str) -> Entry:
    if held is None:
        return Entry(origin, None, Node(entries, origin))
    return replace(held, node=replace(held.node, value=entries))


def split(text: str) -> list[str]:
    """The parts between commas that are in no brackets and no quotes.

    >>> split("[4],[8, 8],'a,b'")
    ['[4]', '[8, 8]', "'a,b'"]
    """
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"" and not parts[-1].strip():
            quote = letter
        else:
            depth += (letter in "[{") - (letter in "]}")
        if letter == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
