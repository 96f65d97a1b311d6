"""Data that a device does not take whole: they stay with the host, which hands out rows.

A run has the same batches, looks, samples and draws either way. Its numbers differ by rounding at
most, as the steps are compiled into another program; two runs whose data are handed out have the
same bits, resumed ones too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from senn_cli.data.dataset import Array, Dataset, Part
from senn_cli.data.rows import PIECE
from senn_cli.engine.arrays import Arrays, examples, on_device
from senn_cli.engine.mesh import ONE, Placement


@dataclass(frozen=True, eq=False)
class Feed:
    """A part of the data that stays with the host, in memory or in a file that is mapped.

    Attributes:
      dataset: that it is a part of, for the scaling.
      piece: bytes that are handed out at a time.
    """

    dataset: Dataset
    part: Part
    piece: int = PIECE

    def __len__(self) -> int:
        """How many examples there are."""
        return len(self.part)

    @property
    def y(self) -> Array:
        """The targets as they are stored, one an example."""
        return self.part.y

    @property
    def weights(self) -> Array | None:
        """How much every example counts; None where all count alike."""
        return self.part.weights

    @property
    def most(self) -> int:
        """Examples in a piece, at least 1."""
        return max(1, self.piece // (4 * max(1, prod(self.part.x.shape[1:]))))

    def take(self, rows: Array) -> Arrays:
        """These rows on the device, in this order."""
        return on_device(self.dataset, self.part.take(np.asarray(rows)))

    def pieces(self, block: int) -> Iterator[tuple[Arrays, int]]:
        """All rows in their order, each piece with how many of its rows count.

        Pieces are of one size, whole blocks of rows: the last one is filled up with its last row.
        """
        size = min(max(block, self.most - self.most % block), -(-len(self) // block) * block)
        for start in range(0, len(self), size):
            count = min(size, len(self) - start)
            yield self.take(np.minimum(np.arange(start, start + size), len(self) - 1)), count


def blocks(data: Arrays, block: int) -> Iterator[tuple[Arrays, int]]:
    """All rows of data on a CPU in their order, `block` at a time, each with how many count.

    The last block is filled up with its last row. Nothing is copied but what is filled up.
    """
    n, x, y = examples(data), np.asarray(data.x), np.asarray(data.y)
    for start in range(0, n, block):
        rows: Any = slice(start, start + block)
        if start + block > n:
            rows = np.minimum(np.arange(start, start + block), n - 1)
        yield data._replace(x=x[rows], y=y[rows], weights=None), min(block, n - start)


Data = Arrays | Feed
"""A part of the data as a run has it."""


def placed(dataset: Dataset, part: Part, place: Placement = ONE) -> Data:
    """`part` on the devices; where there is one that does not take it whole, with the host."""
    size = part.x.size * min(part.x.itemsize, 4)  # what is float64 on the host is float32 there
    if place.mesh is None and size > place.limit:
        return Feed(dataset, part)
    return on_device(dataset, part, place)


def handed(data: Data, rows: Array) -> tuple[Arrays, Array]:
    """Arrays that have `rows`, and their numbers in there: what a program needs to read them."""
    if isinstance(data, Feed):
        return data.take(rows), np.arange(len(rows), dtype=np.int32)
    return data, rows
