"""What is remembered of the factors of a network's maps, and how rows go to other places.

A map has two sides: A, the second moment of what it reads, and S, that of the gradients of its
pre-activations. Every row of a side has an age of its own (averages.py). Edits move rows on the
host.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class Side(NamedTuple):
    """One factor of a map.

    Attributes:
      moment: the average of A or S without damping, `(n, n)`.
      ages: updates that every row has seen, int32 `(n,)`.
      solver: the inverse of the damped used block (`ema`), an inverse root L of it with L L^T the
        inverse (`rank_one`), or its eigenvectors (`ekfac`); `(n, n)`, zero around the block.
      used: the rows that `solver` is about, bool `(n,)`.
      ridge: the damping within `solver`, a scalar.
    """

    moment: jax.Array
    ages: jax.Array
    solver: jax.Array
    used: jax.Array
    ridge: jax.Array


class Pair(NamedTuple):
    """The factors of a map's inputs (A) and of its pre-activations' gradients (S)."""

    a: Side
    s: Side


class Block(NamedTuple):
    """The 3 x 3 blocks of the coefficients of n rational neurons.

    Attributes:
      moment: their averages, `(n, 3, 3)`; ages: updates that each has seen, int32 `(n,)`.
      solver: the damped inverses, `(n, 3, 3)`.
    """

    moment: jax.Array
    ages: jax.Array
    solver: jax.Array


class TrackState(NamedTuple):
    """What is remembered.

    Attributes:
      seen: updates so far, int32.
      maps: the factors of every map by its name.
      blocks: of rational neurons, by the name of their coefficients.
      diagonals: of `ekfac`, by the map's name, second moments of gradients in its basis.
    """

    seen: jax.Array
    maps: dict[str, Pair]
    blocks: Mapping[str, Block] = {}
    diagonals: Mapping[str, jax.Array] = {}


def _zeros(shape: tuple[int, ...], dtype: Any) -> jax.Array:
    """Zeros from the host: `jnp.zeros` and `jnp.asarray` would be compiled, a program a shape."""
    zeros: jax.Array = jax.device_put(np.zeros(shape, dtype))
    return zeros


def _empty(size: int, dtype: Any) -> Side:
    square = _zeros((size, size), dtype)
    return Side(
        moment=square,
        ages=_zeros((size,), jnp.int32),
        solver=square,
        used=_zeros((size,), bool),
        ridge=_zeros((), dtype),
    )


def initial_state(
    sizes: Mapping[str, tuple[int, int]],
    dtype: Any = jnp.float32,
    neurons: Mapping[str, int] | None = None,
    *,
    diagonal: bool = False,
) -> TrackState:
    """Nothing seen yet; the first batch counts in full.

    Args:
      sizes: of every map, (n_a, n_s).
      neurons: rational ones, by the name of their coefficients.
      diagonal: whether gradients' second moments are kept in a basis.
    """
    maps = {
        name: Pair(_empty(n_a, dtype), _empty(n_s, dtype)) for name, (n_a, n_s) in sizes.items()
    }
    blocks = {}
    for name, n in (neurons or {}).items():
        none = _zeros((n, 3, 3), dtype)
        blocks[name] = Block(none, _zeros((n,), jnp.int32), none)
    kept = {name: _zeros(size, dtype) for name, size in sizes.items()} if diagonal else {}
    return TrackState(_zeros((), jnp.int32), maps, blocks, kept)


def renewed(side: Side, rows: np.ndarray) -> Side:
    """`side` with the unused `rows` (bool `(n,)`) made new, on the host.

    Their next batch counts in full.
    """
    keep = np.outer(~rows, ~rows)
    moment: Any = np.where(keep, np.asarray(side.moment), 0).astype(side.moment.dtype)
    ages: Any = np.where(rows, 0, np.asarray(side.ages)).astype(np.int32)
    return side._replace(moment=moment, ages=ages)


def moved(side: Side, source: np.ndarray) -> Side:
    """`side` with its rows in other places, on the host: padding, insertion, removal.

    In NumPy, so that an edit compiles nothing.

    Args:
      side: before.
      source: for every row afterwards its row before, int `(m,)`; -1 for a new row, which is
        unused and has age 0. Where a used row goes, the inverse is no longer one: all rows count as
        unused until the next update makes it anew.
    """
    source = np.asarray(source)
    old = source >= 0
    rows = np.where(old, source, 0)
    used = np.asarray(side.used)
    stays = np.zeros(len(used), bool)
    stays[source[old]] = True
    whole = not np.any(used & ~stays)

    def square(matrix: jax.Array) -> np.ndarray:
        kept = np.asarray(matrix)[np.ix_(rows, rows)]
        return np.where(np.outer(old, old), kept, 0).astype(kept.dtype)

    ages = np.where(old, np.asarray(side.ages)[rows], 0).astype(np.int32)
    mask = used[rows] & old & whole
    found: Any = (square(side.moment), ages, square(side.solver), mask, side.ridge)
    return Side(*found)
