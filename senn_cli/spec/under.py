"""Options that are read under some choices alone: what says so, and who finds the others.

Where a choice makes another section of it (`data.source`, `network.kind`, `optimizer.kind`,
`expansion.policy`), the section is a union of models. `Under` is for the rest: a single option of
a section that is otherwise the same, and what depends on a choice in another section.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from senn_cli.spec.describe import alternatives

Value = str | bool | None


class Under:
    """Annotation: the field is read where a key has one of some values, and else refused.

    Args:
      choices: pairs of a key and its values; one pair that holds is enough. A key without dots is
        one of the same section, any other is counted from the top of the spec. A section that
        has no such key holds none of the values.
    """

    def __init__(self, *choices: tuple[str, tuple[Value, ...]]) -> None:
        self.choices = choices

    def holds(self, section: BaseModel, spec: BaseModel) -> bool:
        """Whether the field is read in `section` of `spec`."""
        return any(
            _at(spec if "." in key else section, key.split(".")) in values
            for key, values in self.choices
        )

    def words(self) -> str:
        """The choice by its name: `solver: cg`."""
        return " or ".join(
            f"{key}: {alternatives('null' if v is None else str(v) for v in values)}"
            for key, values in self.choices
        )

    def keys(self, section: tuple[str, ...]) -> tuple[str, ...]:
        """The keys that it depends on, counted from the top, for a field of `section`."""
        return tuple(key if "." in key else ".".join((*section, key)) for key, _ in self.choices)


def under(**choices: Value | tuple[Value, ...]) -> Under:
    """`Under` for keys of the same section: `under(solver="cg")`."""
    pairs = (
        (key, value if isinstance(value, tuple) else (value,)) for key, value in choices.items()
    )
    return Under(*pairs)


def _at(model: Any, keys: list[str]) -> Any:
    for key in keys:
        model = getattr(model, key, None)
    return model


def conditions(model: type[BaseModel], name: str) -> list[Under]:
    """All that must hold for a field to be read."""
    return [note for note in model.model_fields[name].metadata if isinstance(note, Under)]


class Unread:
    """A field that nothing reads under the choices of its spec.

    Attributes:
      path: its keys from the top.
      condition: the first that does not hold.
      written: whether it was written, or is as by default.
    """

    def __init__(self, path: tuple[str, ...], condition: Under, *, written: bool) -> None:
        self.path, self.condition, self.written = path, condition, written


def unread(
    spec: BaseModel, section: BaseModel | None = None, path: tuple[str, ...] = ()
) -> Iterator[Unread]:
    """All fields that nothing reads, in the order of the models; of a whole section itself."""
    section = spec if section is None else section
    for name in type(section).model_fields:
        here = (*path, name)
        failed = [one for one in conditions(type(section), name) if not one.holds(section, spec)]
        if failed:
            yield Unread(here, failed[0], written=name in section.model_fields_set)
        elif isinstance(value := getattr(section, name), BaseModel):
            yield from unread(spec, value, here)
