"""Programs as JAX has traced and lowered them, kept on the disk as StableHLO.

JAX's own cache spares what XLA compiles, but looks it up by the lowered program, which every
process traces anew: of a warm run of the quickstart that was more than a quarter. Here a program is
known by what it is made of (`essence.py`), so that nothing of it is traced. What is kept is what
`jax.export` writes, and no pickle. Whoever traces a program first compiles it from there, too, so
that a process which finds it computes the same bits.

A function of this package counts by its name, as long as no file of the package differs. One from
anywhere else, of a user's own network for instance, may change while its name stays: programs with
such a part are traced.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import json
import sys
import types
from collections.abc import Callable, Hashable, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import export

from senn_cli.cache import traced_cache
from senn_cli.engine.essence import Name
from senn_cli.runs.environment import code, version_of
from senn_cli.runs.files import write_atomic

_LIBRARIES = ("jax", "jaxlib", "flax", "optax", "numpy", "ml_dtypes")
"""Whose functions and types are what their versions say."""

_KNOWN = frozenset({"senn_cli", *_LIBRARIES, *sys.stdlib_module_names}) - {"__main__"}


class _UnknownError(Exception):
    """Something whose name does not say what it is."""


def lowered(
    function: Callable[..., Any],
    made_of: Hashable,
    args: Sequence[Any],
    *,
    static: Sequence[int],
    donate: Sequence[int],
) -> Any | None:
    """`function` lowered for one CPU, to be compiled; it takes the arguments that are not static.

    Args:
      made_of: all that makes the program but this package and the libraries.
      args: shapes and types of arrays, and static arguments as they are.
      static, donate: numbers of arguments, as of `jax.jit`.

    Returns:
      None where programs are not kept, or this one cannot be.
    """
    folder = traced_cache()
    name = None if folder is None or jax.default_backend() != "cpu" else _named(made_of)
    if folder is None or name is None:
        return None
    dynamic = [a for i, a in enumerate(args) if i not in static]
    leaves, structure = jax.tree.flatten(dynamic)
    path = folder / name
    found = _read(path)
    if found is None:

        def whole(*leaves: Any) -> Any:
            rest = iter(jax.tree.unflatten(structure, leaves))
            return function(*(a if i in static else next(rest) for i, a in enumerate(args)))

        written = _written(whole, leaves)
        if written is None:
            return None
        with contextlib.suppress(OSError):  # whoever cannot keep it has it all the same
            folder.mkdir(parents=True, exist_ok=True)
            write_atomic(path, written)
        found = _parsed(written)
    call, result = found

    def again(*dynamic: Any) -> Any:
        return jax.tree.unflatten(result, call(*jax.tree.leaves(dynamic)))

    given = [i for i in range(len(args)) if i not in static]
    return jax.jit(again, donate_argnums=[given.index(i) for i in donate]).lower(*dynamic)


def _named(made_of: Hashable) -> str | None:
    """The name of a program's file; None for one that is made of what has no name."""
    try:
        text = _spelled((made_of, _surroundings()))
    except _UnknownError:
        return None
    return hashlib.blake2b(text.encode(), digest_size=20).hexdigest()


@functools.cache
def _of_the_installation() -> tuple[str, ...]:
    return (sys.version, code(), *(f"{name} {version_of(name)}" for name in _LIBRARIES))


def _surroundings() -> tuple[Any, ...]:
    """What tracing reads beside a function and its arguments."""
    values: dict[str, Any] = jax.config.values
    settings = tuple(f"{k}={v}" for k, v in sorted(values.items()) if not k.endswith("_dir"))
    return (*_of_the_installation(), *settings)


def _spelled(value: Any) -> str:
    """An essence as a text that is the same in every process."""
    if isinstance(value, Name):
        return _called(value.module, value.name)
    if isinstance(value, tuple):
        return f"({','.join(map(_spelled, value))})"
    if isinstance(value, type):
        return _called(value.__module__, value.__qualname__)
    if isinstance(value, Enum):
        return f"{_spelled(type(value))}.{value.name}"
    if isinstance(value, types.CodeType):  # of a function whose module is named beside it
        return f"{value.co_qualname}:{value.co_firstlineno}"
    if isinstance(value, jax.tree_util.PyTreeDef | np.dtype) or type(value) in (
        *(bool, int, str, bytes, complex, type(None), type(Ellipsis)),
    ):
        return repr(value)
    raise _UnknownError


def _called(module: str, name: str) -> str:
    if module.partition(".")[0] not in _KNOWN:
        raise _UnknownError
    return f"{module}:{name}"


def _written(whole: Callable[..., Any], leaves: Sequence[Any]) -> bytes | None:
    """A file's content: a checksum, the form of the result, and the program; None for no file."""
    form: list[Any] = []

    def flat(*leaves: Any) -> list[Any]:
        found, structure = jax.tree.flatten(whole(*leaves))
        form.append(structure)
        return found

    try:
        program = bytes(export.export(jax.jit(flat))(*leaves).serialize())
        told = json.dumps(_form(jax.tree.unflatten(form[0], range(form[0].num_leaves))))
    except (ValueError, _UnknownError):  # it calls what is kept nowhere; or tracing itself fails
        return None
    content = told.encode() + b"\n" + program
    return hashlib.blake2b(content, digest_size=20).digest() + content


def _read(path: Path) -> tuple[Callable[..., Any], Any] | None:
    """What a file holds; None where it is missing, or not whole."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    whole = hashlib.blake2b(content[20:], digest_size=20).digest() == content[:20]
    return _parsed(content) if whole else None


def _parsed(content: bytes) -> tuple[Callable[..., Any], Any]:
    """The program, from leaves to leaves, and the form of its result."""
    told, _, program = content[20:].partition(b"\n")
    exported = export.deserialize(bytearray(program))
    return exported.call, jax.tree.structure(_formed(json.loads(told)))


def _form(tree: Any) -> Any:
    """A tree of numbers in JSON."""
    match tree:
        case None | int():
            return tree
        case dict():
            return {"keys": list(tree), "values": [_form(value) for value in tree.values()]}
        case list():
            return [_form(value) for value in tree]
        case tuple():
            called = _called(type(tree).__module__, type(tree).__qualname__)
            return {"tuple": called, "values": [_form(value) for value in tree]}
    raise _UnknownError


def _formed(told: Any) -> Any:
    """The tree that `_form` wrote."""
    match told:
        case {"keys": keys, "values": values}:
            return dict(zip(keys, map(_formed, values), strict=True))
        case {"tuple": called, "values": values}:
            module, _, name = called.partition(":")
            found: Any = functools.reduce(getattr, name.split("."), importlib.import_module(module))
            return found(map(_formed, values)) if found is tuple else found(*map(_formed, values))
        case list():
            return [_formed(value) for value in told]
    return told
