"""A layer at the identity within a dense map (appendix B): weights, gradients and curvature.

The map W becomes two, W_q and W_q^-1 W where the new layer stands on the side of the inputs, W W_q
and W_q^-1 on that of the outputs, with the activation function between them at the identity. That
is a change of coordinates, and everything that belongs to the old map is carried over by it.

Matrices act from the right on rows that begin with the constant 1: a map is the joined
`(1 + n_in, n_out)` of bias and kernel, here over what is in use alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from senn_cli.growth.edits import InsertLayer
from senn_cli.growth.optimizer_state import Kind
from senn_cli.nets.features import Architecture, ArrayTree, Map, hidden_feature, used_units, writer
from senn_cli.nets.leaves import joined, row_mask


def homogeneous(weights: np.ndarray) -> np.ndarray:
    """[[1, b], [0, W]] `(1 + n, 1 + m)` of a joined `(1 + n, m)`: maps [1, x] to [1, x W + b]."""
    first = np.zeros((weights.shape[0], 1), np.float64)
    first[0] = 1.0
    return np.concatenate([first, np.asarray(weights, np.float64)], axis=1)


def floored(kernel: np.ndarray, floor: float) -> np.ndarray:
    """`kernel` (q, q) with singular values of at least `floor` times their mean (appendix B).

    Or times 1 where that is larger: beside biases of order one, a kernel that is small as a whole
    would lose the function's precision just as one with a small singular value does.
    """
    u, values, vt = np.linalg.svd(np.asarray(kernel, np.float64))
    result: np.ndarray = (u * np.maximum(values, floor * max(values.mean(), 1.0))) @ vt
    return result


def receiver(architecture: Architecture, index: int) -> Map:
    """The map that yields hidden layer `index`, the outputs' where there are only as many."""
    if index == len(architecture.hidden):
        return next(m for m in architecture.maps if m.target.role == "outputs")
    return writer(architecture, hidden_feature(architecture, index).name)


class Block(NamedTuple):
    """The part of a map that is in use.

    Attributes:
      rows, columns: their numbers in the joined matrix.
    """

    rows: np.ndarray
    columns: np.ndarray

    @classmethod
    def of(cls, architecture: Architecture, m: Map) -> Block:
        """Rows and columns of `m` between units in use."""
        used = used_units(architecture)
        return cls(np.flatnonzero(row_mask(m, used)), np.flatnonzero(used[m.target.name]))

    def cut(self, matrix: np.ndarray) -> np.ndarray:
        """The block of a joined matrix, in double precision."""
        cut: np.ndarray = matrix[np.ix_(self.rows, self.columns)].astype(np.float64)
        return cut

    def placed(self, m: Map, block: np.ndarray, dtype: np.dtype[np.generic]) -> np.ndarray:
        """A joined matrix of `m` with that block, zero around it."""
        full = np.zeros(m.size, dtype)
        full[np.ix_(self.rows, self.columns)] = block.astype(dtype)
        return full


class Insertion:
    """One `edit` of a network: the map that it takes apart, and the two that come of it."""

    def __init__(self, architecture: Architecture, after: Architecture, edit: InsertLayer) -> None:
        self.edit = edit
        self.old = receiver(architecture, edit.map)
        self.first = receiver(after, edit.map)
        self.second = receiver(after, edit.map + 1)
        if self.old.window or not self.old.bias:
            raise ValueError(f"{self.old.name} is no dense map with a bias: no identity fits in")
        self.old_block = Block.of(architecture, self.old)
        self.blocks = Block.of(after, self.first), Block.of(after, self.second)
        self.q = homogeneous(edit.weights)
        self.inverse = np.linalg.inv(self.q)

    def weights(self, tree: ArrayTree, kind: Kind, *, identity: bool) -> list[np.ndarray]:
        """The joined matrices of both maps in a tree of the parameters' shape.

        Args:
          kind: how the old map's entries change with the coordinates: as weights and steps do
            (`vector`), or as gradients do (`covector`).
          identity: whether the new map gets its weights (parameters) or zeros (their optimizer
            state).
        """
        matrix = joined(self.old, tree[self.old.name])
        old, q, inverse = self.old_block.cut(matrix), self.q, self.inverse
        if self.edit.side == "inputs":
            first = q[:, 1:] if identity else np.zeros_like(q[:, 1:])
            second = inverse @ old if kind == "vector" else q.T @ old
        else:
            if kind == "vector":
                first = old @ q[1:, 1:]
                if identity:
                    first[0] += q[0, 1:]
            else:
                first = old @ inverse[1:, 1:].T
            second = inverse[:, 1:] if identity else np.zeros_like(inverse[:, 1:])
        pairs = zip((self.first, self.second), self.blocks, (first, second), strict=True)
        return [block.placed(m, values, matrix.dtype) for m, block, values in pairs]

    def factors(
        self, params: ArrayTree, a: np.ndarray, s: np.ndarray
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """A and S of both maps, from those of the old one.

        Args:
          params: the parameters before the edit.
          a, s: at capacity, `(n_a, n_a)` and `(n_s, n_s)`.
        """
        rows, columns = self.old_block
        dtype, q, inverse = a.dtype, self.q, self.inverse
        a, s = (matrix[np.ix_(i, i)].astype(np.float64) for matrix, i in ((a, rows), (s, columns)))
        weights = self.old_block.cut(joined(self.old, params[self.old.name]))
        if self.edit.side == "inputs":
            # Pre-activations z_q = [1, h] Q: their second moments are Q^T A Q; the gradient with
            # respect to them is that of the old map, pulled back through W_q^-1 W.
            second_kernel = (inverse @ weights)[1:]
            s_first = second_kernel @ s @ second_kernel.T
            a_second = q.T @ a @ q
        else:
            # z_q = z W_q + b with z = [1, h] W; the gradient is pulled back through W_q^-1.
            back = inverse[1:, 1:]
            s_first = back @ s @ back.T
            lifted = homogeneous(weights) @ q
            a_second = lifted.T @ a @ lifted

        def placed(size: int, index: np.ndarray, block: np.ndarray) -> np.ndarray:
            full = np.zeros((size, size), dtype)
            full[np.ix_(index, index)] = block.astype(dtype)
            return full

        (first_rows, first_columns), (second_rows, second_columns) = self.blocks
        return [
            (
                placed(self.first.rows, first_rows, a),
                placed(self.first.columns, first_columns, s_first),
            ),
            (
                placed(self.second.rows, second_rows, a_second),
                placed(self.second.columns, second_columns, s),
            ),
        ]
