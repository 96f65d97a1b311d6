"""The JSON schema of spec files, for editors: unions, short forms, and what is read under what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from senn_cli.spec.catalog import models_in
from senn_cli.spec.spec import Spec
from senn_cli.spec.trades import NOTES
from senn_cli.spec.under import Under, conditions

_Json = dict[str, Any]


def json_schema() -> _Json:
    """The JSON schema (draft 2020-12) of spec files, short forms included."""
    schema = Spec.model_json_schema()
    for name, model in _named(Spec, ()):
        if note := NOTES.get(name):
            part = schema if model is Spec else schema["$defs"][model.__name__]
            shown = part["properties"][name.rpartition(".")[2]]
            if not shown["description"].endswith(note.trade):
                shown["description"] += f" {note.trade}"
    for model in models_in(Spec):
        if rules := list(_within(model)):
            schema["$defs"][model.__name__]["allOf"] = rules
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "allOf": list(_across(Spec, ())),
        "title": "senn spec",
    }


def _named(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[tuple[str, type[BaseModel]]]:
    """Every option by its dotted name, and the model that it is a field of."""
    for name, field in model.model_fields.items():
        yield ".".join((*path, name)), model
        for inner in models_in(field.annotation, deep=False):
            yield from _named(inner, (*path, name))


def _within(model: type[BaseModel]) -> Iterator[_Json]:
    """A rule for every field that another key of the same section has to allow."""
    for name in model.model_fields:
        for one in conditions(model, name):
            if any("." in key for key, _ in one.choices):
                continue
            allowed = {key: {"enum": list(values)} for key, values in one.choices}
            # A preset may set a key that is not written.
            written = [
                key
                for key, values in one.choices
                if model.model_fields[key].default not in values
                and "preset" not in model.model_fields
            ]
            yield {
                "if": {"required": [name]},
                "then": {"properties": allowed, "required": written},
            }


def _across(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[_Json]:
    """A rule for every field that another section has to allow."""
    for name, field in model.model_fields.items():
        here = (*path, name)
        for one in conditions(model, name):
            if all("." in key for key, _ in one.choices):
                yield {"if": _written(here), "then": _allowed(one)}
        for inner in models_in(field.annotation, deep=False):
            yield from _across(inner, here)


def _written(path: tuple[str, ...]) -> _Json:
    name, *rest = path
    inner = {"type": "object", **_written(tuple(rest))} if rest else {}
    return {"required": [name], "properties": {name: inner}}


def _allowed(condition: Under) -> _Json:
    """That one of the choices holds; a section that is not written is as by default."""
    return {"anyOf": [_holds(key, list(values)) for key, values in condition.choices]}


def _holds(key: str, values: list[Any]) -> _Json:
    section, name = key.split(".")
    short, long = {"enum": values}, {"type": "object", "properties": {name: {"enum": values}}}
    return {"properties": {section: {"anyOf": [short, long]}}}
