"""What a function is made of, as a value: two with equal essence compute the same.

Programs are closures that a run makes anew from its settings. Their code and the values that it
closes over say what they compute, so that a process which trains many networks of one form need
not compile them again (`programs.py`). Whatever is not known to be a value makes a function
unlike any other: nothing is shared that might differ.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import sys
import types
from collections.abc import Hashable
from typing import Any, NamedTuple

import jax
import numpy as np
from pydantic import BaseModel

_LARGEST = 1 << 16  # bytes of an array that is compared by its content

_PLAIN = (bool, int, str, bytes, complex, type(None), np.dtype, type(Ellipsis))


class Name(NamedTuple):
    """Where a module has something of its own."""

    module: str
    name: str


class _NotAValueError(Exception):
    """Something whose content may change, or is not known."""


def essence(value: Any) -> Hashable | None:
    """A hashable value that is equal for functions which compute the same; None where unknown.

    Args:
      value: a function, of whose code everything but the closure and the defaults is held for
        constant, as JAX does; or what is given to one.
    """
    try:
        return _of(value, ())
    except _NotAValueError:
        return None


def _of(value: Any, within: tuple[int, ...]) -> Hashable:
    if id(value) in within:  # an inner function that calls itself
        return ("again", len(within) - within.index(id(value)))
    within = (*within, id(value))
    if isinstance(value, enum.Enum | type):
        return value
    if isinstance(value, _PLAIN):
        return (type(value), value)
    if isinstance(value, float):
        return (type(value), value.hex())  # 0.0 is not -0.0
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return _array(value)
    if isinstance(value, tuple | list):
        return (type(value), *(_of(item, within) for item in value))
    if isinstance(value, dict):
        return (type(value), *((_of(k, within), _of(v, within)) for k, v in value.items()))
    if isinstance(value, functools.partial):
        return (functools.partial, _of([value.func, value.args, value.keywords], within))
    if isinstance(value, types.MethodType):
        return (types.MethodType, _of([value.__func__, value.__self__], within))
    if dataclasses.is_dataclass(value) and getattr(value, "__dataclass_params__").frozen:  # noqa: B009
        names = [field.name for field in dataclasses.fields(value)]
        return (type(value), *(_of(getattr(value, name), within) for name in names))
    if isinstance(value, BaseModel) and value.model_config.get("frozen"):
        return (type(value), _of(dict(value), within))
    if _is_global(value):
        return Name(value.__module__, value.__qualname__)
    if isinstance(value, types.FunctionType):
        return _function(value, within)
    raise _NotAValueError


def _array(value: Any) -> Hashable:
    if isinstance(value, jax.core.Tracer) or value.nbytes > _LARGEST or value.dtype.hasobject:
        raise _NotAValueError
    return ("array", value.shape, str(value.dtype), np.asarray(value).tobytes())


def _is_global(value: Any) -> bool:
    """Whether a module has it by its name, as `pickle` asks."""
    found: Any = sys.modules.get(getattr(value, "__module__", None) or "")
    for name in str(getattr(value, "__qualname__", "<none>")).split("."):
        found = getattr(found, name, None)
    return found is value


def _function(value: types.FunctionType, within: tuple[int, ...]) -> Hashable:
    if value.__globals__ is not getattr(sys.modules.get(value.__module__), "__dict__", None):
        raise _NotAValueError
    try:
        closed = [cell.cell_contents for cell in value.__closure__ or ()]
    except ValueError as error:  # a name that is not bound yet
        raise _NotAValueError from error
    parts = [closed, value.__defaults__, value.__kwdefaults__]
    return (Name(value.__module__, value.__qualname__), value.__code__, _of(parts, within))
