"""Everything there is to say of every option of a spec, read off the models.

An option is named by its keys from the top, joined by dots. Where several members of a union have
one (`optimizer.learning_rate`), it is told once, with what differs between them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

from pydantic import BaseModel

from senn_cli.errors import UsageError
from senn_cli.spec.catalog import DISCRIMINATORS, UNIONS, choice_of, models_in
from senn_cli.spec.describe import alternatives
from senn_cli.spec.spec import Spec
from senn_cli.spec.suggest import closest
from senn_cli.spec.trades import NOTES, Note
from senn_cli.spec.under import conditions

_Json = Mapping[str, Any]
_UNBOUNDED = 1e5
"""Bounds from here on are told by nobody: they only keep numbers within 32 bits, or memory."""


@dataclass(frozen=True)
class Form:
    """An option as one or several members of a section have it.

    Attributes:
      members: the members of a union that have it, such as `kind: adam`; empty for all.
      needs: what must hold besides for it to be read.
      meaning: what it is.
      takes: the values that it accepts.
      default: what it is where it is not written; `required` where it must be.
    """

    members: tuple[str, ...]
    needs: tuple[str, ...]
    meaning: str
    takes: str
    default: str


@dataclass(frozen=True)
class Entry:
    """All about one option, or one section.

    Attributes:
      name: its keys from the top, joined by dots.
      forms: what it is; several where members of a union differ.
      note: what it trades, its unit and its place in the paper; None for a section or a name.
      members: the options of a section, in their order.
    """

    name: str
    forms: tuple[Form, ...]
    note: Note | None
    members: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The entry as plain values."""
        note = None if self.note is None else self.note._asdict()
        return asdict(self) | {"note": note}


def entries() -> Mapping[str, Entry]:
    """All options and sections, by name, in the order of a spec."""
    networks: Any = Spec.model_fields["network"].annotation
    return _entries(networks)


def explained(name: str, kind: str = "") -> Entry:
    """What is to be said of an option.

    Args:
      name: as `expansion.threshold`; a single word is looked for in all sections.
      kind: the member of a union that is meant, such as `adam`; empty for all.

    Raises:
      UsageError: there is no such option, or not under that kind.
    """
    known = entries()
    keys = name.strip().strip(".").replace("[", ".").replace("]", "")
    name = ".".join(key for key in keys.split(".") if not key.isdigit())
    if name not in known:
        ends = [other for other in known if other.rpartition(".")[2] == name]
        if len(ends) == 1:
            name = ends[0]
        else:
            raise UsageError(f"no option of a spec is called {name!r}", hint=_near(name, ends))
    entry = known[name]
    if not kind:
        return entry
    kinds = _kinds(entry)
    if kind not in kinds:
        raise UsageError(
            f"{name} is no option under {kind}",
            hint=f"It belongs to {alternatives(kinds)}." if kinds else "It is told once for all.",
        )
    forms = tuple(f for f in entry.forms if _of(f, kind)) or entry.forms
    members = tuple(m for m in entry.members if _has(known[m], kind))
    return Entry(entry.name, forms, entry.note, members)


def _kinds(entry: Entry) -> tuple[str, ...]:
    """What tells the members of an option's section apart, or of those right below it."""
    forms = [*entry.forms, *(f for m in entry.members for f in entries()[m].forms)]
    return tuple(dict.fromkeys(m.rpartition(" ")[2] for f in forms for m in f.members))


def _has(entry: Entry, kind: str) -> bool:
    return any(_of(form, kind) for form in entry.forms)


def _of(form: Form, kind: str) -> bool:
    return not form.members or any(m.rpartition(" ")[2] == kind for m in form.members)


def _near(name: str, ends: list[str]) -> str:
    if ends:
        return f"Did you mean {alternatives(ends)}?"
    section, _, last = name.rpartition(".")
    beside = [n for n in entries() if n.rpartition(".")[0] == section]
    if near := closest(last, [n.rpartition(".")[2] for n in beside]):
        return f"Did you mean {f'{section}.{near}' if section else near}?"
    outward = sorted(entries(), key=lambda n: -n.count("."))
    everywhere = {n.rpartition(".")[2]: n for n in outward}  # of equal names the shortest
    near = closest(last, list(everywhere))
    return f"Did you mean {everywhere[near]}?" if near else "All of them: senn explain --all"


@cache
def _entries(networks: Any) -> dict[str, Entry]:
    """All of them, where `network` may be one of these."""
    forms: dict[str, list[Form]] = {}
    for name, form in _walk(Spec, (), "", _schemas()):
        told = forms.setdefault(name, [])
        alike = [one for one in told if replace(one, members=form.members) == form]
        if alike:
            place = told.index(alike[0])
            both = tuple(dict.fromkeys((*alike[0].members, *form.members)))
            told[place] = replace(form, members=both)
        else:
            told.append(form)
    children: dict[str, list[str]] = {}
    for name in forms:
        children.setdefault(name.rpartition(".")[0], []).append(name)
    return {
        name: Entry(name, tuple(found), NOTES.get(name), tuple(children.get(name, ())))
        for name, found in forms.items()
    }


def _schemas() -> dict[str, Any]:
    schema = Spec.model_json_schema()
    return {"Spec": schema, **schema["$defs"]}


def _walk(
    model: type[BaseModel], path: tuple[str, ...], choice: str, schemas: dict[str, Any]
) -> Iterator[tuple[str, Form]]:
    """Every option of a model and of the sections within it, with the choice that leads there."""
    for name, field in model.model_fields.items():
        here = (*path, name)
        needs = tuple(one.words() for one in conditions(model, name))
        shown = schemas[model.__name__]["properties"][name]
        default = "required" if field.is_required() else _default(shown.get("default"))
        inner = models_in(field.annotation, deep=False)
        if inner and default not in ("required", "null"):
            default = "" if isinstance(shown.get("default"), dict) else default
        meaning = str(field.description)
        members = (choice,) if choice else ()
        yield ".".join(here), Form(members, needs, meaning, _takes(shown), default)
        for member in inner:
            within = choice
            if len(here) == 1 and name in UNIONS:
                within = ": ".join(choice_of(member, name))
            elif len(inner) > 1:
                key = DISCRIMINATORS.get(name, "kind")
                within = f"{key}: {schemas[member.__name__]['properties'][key]['const']}"
            yield from _walk(member, here, within, schemas)


def _default(value: Any) -> str:
    """A default as YAML writes it in one line."""
    if isinstance(value, dict) and len(value) == 1:
        return "{" + ", ".join(f"{key}: {_default(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_default, value))}]"
    return value if isinstance(value, str) else json.dumps(value)


def _takes(schema: _Json) -> str:
    """The values that a JSON schema accepts, in words."""
    parts: list[str] = []
    for part in _alternatives(schema):
        parts += [words for words in _words(part) if words not in parts]
    return alternatives(parts)


def _alternatives(schema: _Json) -> Iterator[_Json]:
    inner = schema.get("anyOf") or schema.get("oneOf")
    if inner is None:
        yield schema
    for part in inner or ():
        yield from _alternatives(part)


def _words(schema: _Json) -> list[str]:
    """One alternative in words; several for a list of names."""
    if "$ref" in schema:
        own = schema["$ref"].endswith("/Duration")
        return ["a time such as `{epochs: 1}` or `{steps: 100}`" if own else "a section"]
    if "enum" in schema or "const" in schema:
        return [_default(value) for value in schema.get("enum", [schema.get("const")])]
    match schema.get("type"):
        case "boolean":
            return ["true", "false"]
        case "null":
            return ["null"]
        case "integer":
            return [f"a whole number{_range(schema)}"]
        case "number":
            return [f"a number{_range(schema)}"]
        case "array":
            inner = _takes(schema.get("items", {}))
            return [f"a list, each {inner}" if inner else "a list"]
        case "object":
            return ["a mapping from names to " + _takes(schema.get("additionalProperties", {}))]
        case "string" if "%" in schema.get("pattern", ""):
            return ["a percentage such as `10%`"]
        case "string" if "pattern" in schema:
            return ["a text such as `10 epochs`"]
    return ["a text"]


def _range(schema: _Json) -> str:
    """The bounds of a number, ` from 1 to 200`; those that only keep it within 32 bits left out."""
    low, above = schema.get("minimum"), schema.get("exclusiveMinimum")
    high, below = schema.get("maximum"), schema.get("exclusiveMaximum")
    found = []
    if low is not None:
        upward = high is None or high >= _UNBOUNDED
        found.append(f"of at least {low:g}" if upward else f"from {low:g}")
    elif above is not None:
        found.append(f"above {above:g}")
    if high is not None and high < _UNBOUNDED:
        found.append(f"to {high:g}" if low is not None else f"of at most {high:g}")
    elif below is not None and below < _UNBOUNDED:
        found.append(f"below {below:g}")
    return "".join(f" {part}" for part in found)
