"""Where each key of the spec language lives, read off the models; used in messages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from senn_cli.spec.duration import Duration
from senn_cli.spec.spec import Spec
from senn_cli.spec.suggest import closest

DISCRIMINATORS = {"data": "source", "network": "kind", "optimizer": "kind"}
"""The key that names a section's variant."""


@dataclass(frozen=True)
class Place:
    """A mapping of the spec language.

    Attributes:
      path: the keys that lead to it; () is the top level.
      variant: what its discriminator says, such as `adam`, or an empty text.
      keys: the keys it can have.
    """

    path: tuple[str, ...]
    variant: str
    keys: tuple[str, ...]


@cache
def places() -> tuple[Place, ...]:
    """All mappings of the spec language but durations, outermost first."""
    found = list(_places(Spec, ()))
    return tuple(sorted(found, key=lambda place: len(place.path)))


def _places(model: type[BaseModel], path: tuple[str, ...]) -> list[Place]:
    key = DISCRIMINATORS.get(path[0]) if len(path) == 1 else None
    variants = get_args(model.model_fields[key].annotation) if key else ("",)
    found = [Place(path, str(variants[0]), tuple(model.model_fields))]
    for name, field in model.model_fields.items():
        for inner in _models(field.annotation):
            if inner is not Duration:
                found += _places(inner, (*path, name))
    return found


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) is Literal:
        return []
    return [model for inner in get_args(annotation) for model in _models(inner)]


def keys_at(path: tuple[str, ...], variant: str) -> tuple[str, ...]:
    """The keys that the mapping at `path` can have."""
    if path and any(place.path == path for place in places()):
        same = [p for p in places() if p.path == path]
        exact = [p for p in same if p.variant == variant]
        return (exact or same)[0].keys
    return places()[0].keys if not path else tuple(Duration.model_fields)


def unknown_key(path: tuple[str, ...], variant: str) -> str:
    """What to say about a key that does not exist.

    Args:
      path: the key's path, itself included.
      variant: what the discriminator of its section says, or an empty text.

    Returns:
      a sentence without its subject, such as `is unknown; did you mean learning_rate?`.
    """
    *section, key = path
    own = keys_at(tuple(section), variant)
    homes = [place for place in places() if key in place.keys]
    same = [place for place in homes if list(place.path) == section]
    if same:
        kind = DISCRIMINATORS[section[0]]
        names = " and ".join(place.variant for place in same)
        return f"is not an option of {kind} {variant}; it belongs to {names}"
    near = closest(key, own)
    elsewhere = _homes(homes, section)
    if elsewhere and near is None:
        return f"is unknown here; this key belongs {elsewhere}"
    if elsewhere:
        return f"is unknown here; did you mean {near}? {key} itself belongs {elsewhere}"
    if near is not None:
        return f"is unknown; did you mean {near}?"
    for place in places():
        far = closest(key, place.keys)
        if far is not None and far not in ("kind", "source", "enabled"):
            return f"is unknown; did you mean {'.'.join((*place.path, far))}?"
    return f"is unknown; {_owner(section)} has {', '.join(own)}"


def _owner(section: list[str]) -> str:
    return ".".join(section) if section else "a spec"


def _homes(homes: list[Place], section: list[str]) -> str:
    names: dict[str, None] = {}
    for place in homes:
        if list(place.path) != section:
            names["under " + ".".join(place.path) if place.path else "at the top level"] = None
    return " or ".join(list(names)[:3])
