"""Faults of a spec: what pydantic says, in words and with a file and line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from senn_cli.errors import SpecError
from senn_cli.spec.base import LARGEST, WIDEST
from senn_cli.spec.catalog import DISCRIMINATORS, UNIONS, belongs, places, unknown_key
from senn_cli.spec.describe import alternatives, describe, dotted, quote
from senn_cli.spec.duration import duration_of, tidy
from senn_cli.spec.found import Found
from senn_cli.spec.suggest import closest


@dataclass(frozen=True)
class Fault:
    """One fault of a spec.

    Attributes:
      origin: where it is, such as `spec.yaml:3` or `--set seed=x`.
      line: the line in the file, counted from 1, or None where there is none.
      path: the key's path; empty for the spec as a whole.
      message: what is wrong, starting with a verb if there is a path.
    """

    origin: str
    line: int | None
    path: tuple[str | int, ...]
    message: str

    def __str__(self) -> str:
        """The line that the user reads."""
        subject = f"{dotted(self.path)} " if self.path else ""
        return f"{self.origin}: {subject}{self.message}"


class InvalidSpecError(SpecError):
    """A spec with faults, all of which the message lists, one a line.

    Args:
      faults: at least one.
    """

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = tuple(faults)


_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "a text",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "finite_number": "a finite number",
}

_BOUNDS = {
    "greater_than": ("above", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("below", "lt"),
    "less_than_equal": ("at most", "le"),
}


def key_path(location: Iterable[str | int]) -> tuple[str | int, ...]:
    """Pydantic's location without the names of variants, which are no keys of the spec."""
    parts = tuple(location)
    if len(parts) > 1 and parts[0] in UNIONS:
        return (parts[0], *parts[2:])
    return parts


def explain(error: Mapping[str, Any]) -> list[Found]:
    """What a pydantic error means.

    Args:
      error: one of `ValidationError.errors()`.

    Returns:
      one fault; several if the error stands for faults between sections, none if it follows from
      another.
    """
    if error["type"] == "senn_cross":
        return list(error["ctx"]["faults"])
    if error["type"] == "too_short" and len(error["input"]) >= error["ctx"]["min_length"]:
        return []  # pydantic counts the items that are valid; what the others lack is told of each
    if error["type"] == "extra_forbidden":
        path, variant = key_path(error["loc"]), _variant(error["loc"])
        elsewhere = belongs(tuple(map(str, path)), variant)
        if elsewhere is not None:
            return [Found(path, *elsewhere, unread=True)]
        return [Found(path, unknown_key(tuple(map(str, path)), variant))]
    return [Found(*_explained(error))]


def _explained(error: Mapping[str, Any]) -> tuple[tuple[str | int, ...], str]:
    kind, found, context = error["type"], error["input"], error.get("ctx", {})
    path = key_path(error["loc"])
    if kind == "senn":
        return path, context["message"]
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        return _untagged(path, found)
    if kind == "missing":
        return path, _missing(path)
    if kind == "literal_error":
        return path, choose(re.findall(r"'([^']*)'", context["expected"]), found)
    if kind in _BOUNDS:
        word, name = _BOUNDS[kind]
        return path, f"should be {word} {_bound(context[name])}, found {describe(found)}"
    if kind in ("too_short", "too_long"):
        word, most = (
            ("at least", "min_length") if kind == "too_short" else ("at most", "max_length")
        )
        items = "one item" if context[most] == 1 else f"{context[most]} items"
        return path, f"should have {word} {items}, found {describe(found)}"
    if kind in ("string_too_short", "string_too_long"):
        return path, f"should be a single character, found {describe(found)}"
    expected = _EXPECTED.get(kind)
    if expected == "a mapping" and found is None:
        return path, "is empty; leave it out to take the defaults"
    if expected is not None:
        near = _shorter(path, found) if expected in ("a mapping", "a list") else None
        hint = f"; did you mean `{near}`?" if near is not None else ""
        return path, f"should be {expected}, found {describe(found)}{hint}"
    # Whatever a validator raised is told in its own words; pydantic puts its own before them.
    raised = context.get("error")
    told = error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    reason = str(raised) if isinstance(raised, Exception) else told
    return path, f"is wrong: {reason}, found {describe(found)}"


def _shorter(path: tuple[str | int, ...], found: Any) -> str | None:
    """What a section or a list that is given as a single value was meant to be."""
    section = path[-1] if path else None
    if section == "hidden" and type(found) is int and found > 0:
        return f"hidden: [{found}]"
    if section == "expansion" and found is False:
        return "expansion: none"
    if section == "expansion" and found is True:
        return "expansion: senn"
    if section == "training" and isinstance(found, str):
        length = duration_of(found)
        return None if length is None else f"training: {{{length.unit}: {tidy(length.value)}}}"
    if section == "checkpoints" and isinstance(found, str) and duration_of(found) is not None:
        return f"checkpoints: {{every: {found}}}"
    return None


def choose(names: Iterable[str], found: Any) -> str:
    """`should be one of ..., found ...; did you mean ...?`."""
    known = list(names)
    one_of = "one of " if len(known) > 1 else ""
    message = f"should be {one_of}{alternatives(known)}, found {describe(found)}"
    near = closest(found, known) if isinstance(found, str) else None
    return f"{message}; did you mean {near}?" if near is not None else message


def _bound(value: Any) -> str:
    named = {2**32: " (2^32)", LARGEST: " (2^31 - 1)", WIDEST: " (2^20)"}
    return f"{value}{named.get(value, '')}" if isinstance(value, int) else f"{value:g}"


def _variant(location: Sequence[str | int]) -> str:
    """The variant of the section that pydantic's location leads into."""
    return str(location[1]) if len(location) > 1 and location[0] in UNIONS else ""


def _untagged(
    path: tuple[str | int, ...], found: Mapping[str, Any]
) -> tuple[tuple[str | int, ...], str]:
    key = DISCRIMINATORS[str(path[0])]
    if key in found:
        return (*path, key), _chosen(str(path[0]), found[key])
    return path, _no_variant(str(path[0]), found)


def _chosen(section: str, found: Any) -> str:
    """What to say of a kind that there is not; a path where a source should stand is a file."""
    message = choose(_variants(section), found)
    ending = found.rpartition(".")[2].lower() if isinstance(found, str) and "." in found else ""
    sources = {"csv": "csv", "tsv": "csv", "txt": "csv", "npz": "npz", "parquet": "parquet"}
    options = sources.get(ending)
    if section != "data" or options is None:
        return message
    target = ", target: COLUMN" if options in ("csv", "parquet") else ""
    meant = f"{{source: {options}, path: {quote(found)}{target}}}"
    return f"{message.partition('; did you mean')[0]}; did you mean `{meant}`?"


def _missing(path: tuple[str | int, ...]) -> str:
    if path in (("data",), ("network",)):
        name = "digits" if path == ("data",) else "mlp"
        return f"is missing; write for example `{path[0]}: {name}`"
    return "is missing"


def _no_variant(section: str, found: Mapping[str, Any]) -> str:
    key = DISCRIMINATORS[section]
    names = _variants(section)
    message = f"has no {key}; it should be one of {alternatives(names)}"
    near = [name for name in found if closest(name, [key]) is not None]
    return f"{message} (did you mean {key} by {near[0]}?)" if near else message


def _variants(section: str) -> list[str]:
    return [place.variant for place in places() if place.path == (section,)]
