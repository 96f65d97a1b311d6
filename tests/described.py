"""What an object is made of, as nested plain values: two that would act alike have the same.

Functions are described by what they have closed over, so that an optimizer or a program can be told
from another one without running or compiling it.
"""

from __future__ import annotations

import functools
import types
import zlib
from dataclasses import fields, is_dataclass
from typing import Any, get_args

import jax
import numpy as np
from pydantic import BaseModel

from senn_cli.engine.programs import Ledger
from senn_cli.spec.augment import StepSpec
from senn_cli.spec.duration import Duration

_PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic)
_STEPS = get_args(StepSpec)


def described(value: Any, above: tuple[int, ...] = ()) -> Any:
    """Nested tuples of types, names and numbers. Sections of a spec that something holds on to
    are left out: that they differ says nothing of what is done with them."""
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, np.ndarray | jax.Array):
        array = np.asarray(value)
        if array.dtype == object:
            return described(array.tolist(), above)
        return (array.shape, str(array.dtype), zlib.crc32(np.ascontiguousarray(array).tobytes()))
    if id(value) in above:
        return "above"
    if isinstance(value, type | types.ModuleType):
        return value.__name__
    if isinstance(value, Ledger):
        return "ledger"
    above = (*above, id(value))
    if isinstance(value, dict | types.MappingProxyType):
        return tuple((described(k, above), described(v, above)) for k, v in value.items())
    if isinstance(value, BaseModel):
        if not isinstance(value, (Duration, *_STEPS)):
            return type(value).__name__
        return (type(value).__name__, described(dict(value), above))
    if isinstance(value, list | tuple):
        return (type(value).__name__, *(described(v, above) for v in value))
    if isinstance(value, set | frozenset):
        return tuple(sorted(repr(described(v, above)) for v in value))
    if isinstance(value, functools.partial):
        return described((value.func, value.args, value.keywords), above)
    if isinstance(value, types.MethodType):
        return described((value.__func__, value.__self__), above)
    if isinstance(value, types.FunctionType):
        held = [_cell(cell) for cell in value.__closure__ or ()]
        return (value.__qualname__, described((held, value.__defaults__ or ()), above))
    if (wrapped := getattr(value, "__wrapped__", None)) is not None:
        return described(wrapped, above)
    if is_dataclass(value):
        held = {f.name: getattr(value, f.name) for f in fields(value)}
        return (type(value).__name__, described(held, above))
    return (type(value).__name__, described(getattr(value, "__dict__", {}), above))


def _cell(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None
