"""Where each key of the spec language lives, read off the models; used in messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from senn_cli.spec.describe import alternatives
from senn_cli.spec.duration import Duration
from senn_cli.spec.spec import Spec
from senn_cli.spec.suggest import closest

DISCRIMINATORS = {"data": "source", "network": "kind", "optimizer": "kind"}
"""The key that names a section's variant, where a single one does."""

UNIONS = (*DISCRIMINATORS, "expansion")
"""The sections that are unions of models."""


@dataclass(frozen=True)
class Place:
    """A mapping of the spec language.

    Attributes:
      path: the keys that lead to it; () is the top level.
      choice: the key that decides which variant of the section it is in, or an empty text.
      variant: what that key says, such as `adam`, or an empty text.
      keys: the keys it can have.
    """

    path: tuple[str, ...]
    choice: str
    variant: str
    keys: tuple[str, ...]


def places() -> tuple[Place, ...]:
    """All mappings of the spec language but durations, outermost first."""
    networks: Any = Spec.model_fields["network"].annotation
    return _found(networks)


@cache
def _found(networks: Any) -> tuple[Place, ...]:
    """All of them, where `network` may be one of these."""
    found = list(dict.fromkeys(_places(Spec, (), ("", ""))))
    return tuple(sorted(found, key=lambda place: len(place.path)))


def _places(model: type[BaseModel], path: tuple[str, ...], within: tuple[str, str]) -> list[Place]:
    if len(path) == 1 and path[0] in UNIONS:
        within = choice_of(model, path[0])
    found = [Place(path, *within, tuple(model.model_fields))]
    for name, field in model.model_fields.items():
        for inner in models_in(field.annotation, deep=False):
            found += _places(inner, (*path, name), within)
    return found


def choice_of(model: type[BaseModel], section: str) -> tuple[str, str]:
    """The key and the value of it that make a section this model."""
    key = DISCRIMINATORS.get(section)
    if key is None:
        key = "proposals" if "proposals" in model.model_fields else "policy"
    return key, str(get_args(model.model_fields[key].annotation)[0])


def models_in(annotation: Any, *, deep: bool = True) -> list[type[BaseModel]]:
    """The sections that a field's annotation names, durations aside.

    Args:
      deep: with all sections within them, each once.
    """
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if annotation is Duration:
            return []
        fields = annotation.model_fields.values() if deep else ()
        return list(dict.fromkeys([*_deeper(fields), annotation]))
    if get_origin(annotation) is Literal:
        return []
    return [model for inner in get_args(annotation) for model in models_in(inner, deep=deep)]


def _deeper(fields: Iterable[FieldInfo]) -> list[type[BaseModel]]:
    return [model for field in fields for model in models_in(field.annotation)]


def keys_at(path: tuple[str, ...], variant: str) -> tuple[str, ...]:
    """The keys that the mapping at `path` can have."""
    if path and any(place.path == path for place in places()):
        same = [p for p in places() if p.path == path]
        exact = [p for p in same if p.variant == variant]
        return (exact or same)[0].keys
    return places()[0].keys if not path else tuple(Duration.model_fields)


def belongs(path: tuple[str, ...], variant: str) -> tuple[str, tuple[str, ...]] | None:
    """What to say about a key that another variant of its section has; None if none does.

    Returns:
      a sentence without its subject, and the choices that it depends on, as keys from the top.
    """
    *section, key = path
    same = [p for p in places() if p.path == tuple(section) and p.variant and key in p.keys]
    if not same:
        return None
    own = next((p.choice for p in places() if p.path[:1] == path[:1] and p.variant == variant), "")
    if variant == "none":  # nothing grows, wherever proposals would come from
        told = f"is not an option of policy: {variant}; it belongs to a policy that grows"
        return told, (f"{section[0]}.policy",)
    by_choice: dict[str, list[str]] = {}
    for place in same:
        by_choice.setdefault(place.choice, []).append(place.variant)
    homes = " or ".join(f"{key}: {alternatives(names)}" for key, names in by_choice.items())
    told = f"is not an option of {own}: {variant}; it belongs to {homes}"
    return told, tuple(f"{section[0]}.{choice}" for choice in dict.fromkeys((*by_choice, own)))


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
