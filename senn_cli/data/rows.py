"""Rows of an array that is mapped from a file: chosen by number, read where they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

PIECE = 1 << 26
"""Bytes of inputs, as float32, that a device is handed at a time of data that it does not hold."""

BLOCK_BYTES = 1 << 24
"""Bytes of float64 that are looked at at a time."""


@dataclass(frozen=True, eq=False)
class Rows:
    """An array `(N, *shape)` of some rows of another one, which are read when they are asked for.

    It has what NumPy's arrays have as far as examples are read by it: `x[rows]` with a number, a
    slice or an array of numbers is an array in memory, `np.asarray(x)` is all of it.

    Attributes:
      stored: what is read from, `(M, ...)`: mapped from a file, or in memory.
      shape: of what is yielded.
      dtype: of what is yielded.
      numbers: the rows of `stored` in their order, `(N,)`; None for all of them.
    """

    stored: Array
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    numbers: Array | None = None

    @classmethod
    def of(cls, stored: Array | Rows) -> Rows:
        """All rows of an array as they are."""
        return stored if isinstance(stored, Rows) else cls(stored, stored.shape, stored.dtype)

    def __len__(self) -> int:
        """How many rows there are."""
        return self.shape[0]

    @property
    def ndim(self) -> int:
        """Axes, that of the rows included."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Numbers in all rows."""
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of one number."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes that all rows would take in memory."""
        return self.size * self.itemsize

    def __getitem__(self, key: Any) -> Array:
        """Rows in memory: one, a slice, or those of an array of numbers."""
        if isinstance(key, int | np.integer):
            one: Array = self[np.array([key])][0]
            return one
        if self.numbers is None and isinstance(key, slice):
            return np.array(self.stored[key])
        places = np.arange(len(self))[key] if self.numbers is None else self.numbers[key]
        return _gathered(self.stored, places)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """All rows in memory, read a block at a time."""
        whole = np.empty(self.shape, self.dtype if dtype is None else dtype)
        for start, block in blocks(self):
            whole[start : start + len(block)] = block
        return whole

    def take(self, numbers: Array) -> Rows:
        """The rows of these numbers; nothing is read."""
        chosen = numbers if self.numbers is None else self.numbers[numbers]
        return replace(self, shape=(len(numbers), *self.shape[1:]), numbers=chosen)


def taken(stored: Any, numbers: Array) -> Any:
    """The rows of these numbers: a copy of what is in memory, `Rows` of what is mapped."""
    if isinstance(stored, np.memmap):
        stored = Rows.of(stored)
    return stored.take(numbers) if isinstance(stored, Rows) else stored[numbers]


def blocks(stored: Array | Rows) -> Iterator[tuple[int, Array]]:
    """The rows in order, a few at a time, each with the number of the first of them."""
    step = max(1, BLOCK_BYTES // max(1, prod(stored.shape[1:]) * 8))
    for start in range(0, len(stored), step):
        yield start, stored[start : start + step]


def _gathered(stored: Array, places: Array) -> Array:
    """Rows `places` of an array that may be mapped: read in the order of the file."""
    order = np.argsort(places, kind="stable")
    found = np.empty((len(places), *stored.shape[1:]), stored.dtype)
    found[order] = stored[places[order]]
    return found
