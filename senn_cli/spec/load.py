"""Loading a spec: text, overrides, models and checks; every fault is reported at once."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from senn_cli.errors import SpecError
from senn_cli.spec.describe import describe, printable
from senn_cli.spec.earlier import (
    dropped,
    gives_way,
    is_old,
    is_resolved,
    without_an_end,
    without_samples,
)
from senn_cli.spec.errors import Fault, InvalidSpecError, explain
from senn_cli.spec.found import Found
from senn_cli.spec.nodes import Node, YamlFault, locate, plain
from senn_cli.spec.overrides import Override, apply_overrides
from senn_cli.spec.paths import BASE_DIRECTORY
from senn_cli.spec.prune import without
from senn_cli.spec.spec import Spec, in_name
from senn_cli.spec.text import read_text
from senn_cli.spec.values import read_values
from senn_cli.spec.yaml import read_yaml

_MOST_FAULTS = 100
"""Faults that are told of one spec."""


def load_spec(
    path: str | os.PathLike[str],
    overrides: Sequence[str | Override] = (),
    also: Callable[[Spec], Iterable[Found]] = lambda spec: (),
) -> Spec:
    """Reads a spec file.

    Args:
      path: the file; its name stands in messages as it is given here.
      overrides: texts of the form `path=value`, as given to `--set`, or what they were read as.
      also: finds more faults in a spec that has none in itself.

    Returns:
      the spec, with presets and defaults filled in and paths made absolute.

    Raises:
      SpecError: the file can't be read, or the spec has faults, all of which are listed.
    """
    file = Path(path)
    text = _read(file)
    root, found, name = _document(text, str(path))
    base = Path(os.path.abspath(file)).parent
    forgiven = {"old": is_old(file, text), "resolved": is_resolved(text)}
    if any(forgiven.values()):
        root = without_an_end(without_samples(root, old=forgiven["old"]))
    return _checked(root, found, name, base, overrides, also, **forgiven)


def parse_spec(
    text: str,
    filename: str = "spec.yaml",
    base_dir: str | os.PathLike[str] | None = None,
    overrides: Sequence[str | Override] = (),
    also: Callable[[Spec], Iterable[Found]] = lambda spec: (),
) -> Spec:
    """Reads a spec from a text.

    Args:
      text: the YAML document.
      filename: its name in messages; the name of the run, if none is written, is its stem.
      base_dir: what relative paths are relative to; None for the working directory.
      overrides: texts of the form `path=value`, as given to `--set`.
      also: finds more faults in a spec that has none in itself.

    Raises:
      SpecError: the spec has faults, all of which are listed.
    """
    root, found, name = _document(text, filename)
    resolved = is_resolved(text)
    return _checked(root, found, name, base_dir, overrides, also, resolved=resolved)


def read_mapping(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a spec file says, as plain values that nothing has checked yet.

    Raises:
      SpecError: the file can't be read, or is no mapping in YAML.
    """
    root, found, _ = _document(_read(Path(path)), str(path))
    if found:
        raise InvalidSpecError([Fault(f.origin, f.line, f.path, f.message) for f in found])
    value: dict[str, Any] = plain(root)
    return value


def _document(text: str, filename: str) -> tuple[Node, list[YamlFault], str]:
    """The mapping that a text is, what is wrong in it, and the name that stands in messages."""
    root, found = read_yaml(text, filename=printable(filename))
    faults = [Fault(f.origin, f.line, f.path, f.message) for f in found]
    if any(fault.lost and not fault.path for fault in found):  # the text is no YAML at all
        raise InvalidSpecError(faults)
    if not isinstance(root.value, dict):
        raise InvalidSpecError([*faults, _no_mapping(root, text)])
    return root, found, filename


def from_values(
    value: Mapping[str, Any],
    base_dir: str | os.PathLike[str] | None = None,
    overrides: Sequence[str | Override] = (),
) -> Spec:
    """The spec that a mapping of Python values describes; see `parse_spec`.

    Raises:
      SpecError: the spec has faults, all of which are listed.
    """
    root, found = read_values(value)
    return _checked(root, found, "run", base_dir, overrides)


def _checked(
    root: Node,
    found: list[YamlFault],
    filename: str,
    base_dir: str | os.PathLike[str] | None,
    overrides: Sequence[str | Override],
    also: Callable[[Spec], Iterable[Found]] = lambda spec: (),
    *,
    old: bool = False,
    resolved: bool = False,
) -> Spec:
    """The spec in `root`, in which `found` is wrong already; `parse_spec` says the rest.

    Args:
      old: whether a senn resolved it that wrote out options without effect, too.
      resolved: whether it is a resolved spec of this format.
    """
    faults = [Fault(f.origin, f.line, f.path, f.message) for f in found]
    root, misplaced = apply_overrides(root, overrides)
    faults += [Fault(f.origin, f.line, f.path, f.message) for f in misplaced]
    context = {BASE_DIRECTORY: Path(base_dir) if base_dir is not None else Path.cwd()}
    while True:
        data = {"name": _default_name(filename), **plain(root)}
        spec, wrong, untold = _validate(data, context)
        gone = [
            one.path
            for one in wrong
            if one.unread and (old or gives_way(root, one, resolved=resolved))
        ]
        if (left := dropped(root, gone)) is root:
            break
        root = left
    # Where a value could not be read, what else is said about it would mislead.
    lost = [fault.path for fault in found if fault.lost]
    faults += [
        Fault(*locate(root, one.path), one.path, one.message)
        for one in wrong
        if not any(one.path[: len(path)] == path for path in lost)
        and not (one.others and any(map(one.involves, lost)))
    ]
    if spec is not None and not faults:
        more = also(spec)
        faults = [Fault(*locate(root, one.path), one.path, one.message) for one in more]
    if faults or spec is None:
        rest = Fault(printable(filename), None, (), f"and {untold:,} more faults")
        raise InvalidSpecError([*ordered(faults), *([rest] if untold else [])])
    return spec


def _read(file: Path) -> str:
    try:
        return read_text(file, "spec", SpecError)
    except FileNotFoundError:
        near = _neighbour(file)
        hint = f"Did you mean {near}?" if near else None
        if near is None and file.stem == "quickstart":
            hint = "`senn demo` trains the quickstart from anywhere."
        raise SpecError(f"{printable(str(file))}: no such file", hint=hint) from None


def _neighbour(file: Path) -> str | None:
    try:
        specs = [path for path in file.parent.iterdir() if path.suffix in (".yaml", ".yml")]
    except OSError:
        return None
    stems = {path.stem: path for path in specs}
    near = difflib.get_close_matches(file.stem, stems, n=1, cutoff=0.7)
    return printable(str(stems[near[0]])) if near else None


def _no_mapping(root: Node, text: str) -> Fault:
    if root.value is None and not text.strip():
        message = "the spec is empty; `senn new minimal` prints one to start from"
    elif root.value is None:
        message = "the spec has no keys; `senn new minimal` prints one to start from"
    else:
        found = describe(plain(root))
        message = f"a spec should be a mapping such as `data: digits`, found {found}"
    return Fault(root.origin, root.line, (), message)


def _default_name(filename: str) -> str:
    stem = "".join(c if in_name(c) else "-" for c in Path(filename).stem)
    name = stem.encode()[:100].decode(errors="ignore").lstrip(".-")
    return name or "run"


def _validate(
    data: dict[str, Any], context: dict[str, Any]
) -> tuple[Spec | None, list[Found], int]:
    """The spec, or the first of its faults and how many more there are."""
    try:
        return Spec.model_validate(data, context=context), [], 0
    except ValidationError as error:
        every = error.errors(include_url=False)
    errors = every[:_MOST_FAULTS]  # to guess what was meant takes milliseconds each
    found = [one for error in errors for one in explain(error)]
    # The checks between keys run on valid specs alone. What is wrong is taken out for them, and
    # of their faults those are kept that don't involve it.
    removed = set()
    rest = data
    for one in found:
        rest, taken = without(rest, one.path)
        removed.add(taken)
    try:
        Spec.model_validate(rest, context=context)
    except ValidationError as error:
        for other in error.errors(include_url=False):
            if other["type"] == "senn_cross":
                crossed = explain(other)
                found += [one for one in crossed if not any(map(one.involves, removed))]
    return None, list(dict.fromkeys(found)), len(every) - len(errors)


def ordered(faults: Iterable[Fault]) -> list[Fault]:
    """Each fault once, by their lines; those of overrides come last."""
    # By line, then overrides; the sort is stable, so one line's faults keep their order.
    unique = list(dict.fromkeys(faults))
    return sorted(unique, key=lambda fault: (fault.line is None, fault.line or 0))
