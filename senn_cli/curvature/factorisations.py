"""Factorisations of many matrices at once, so that they are fast and come to an end on a CPU.

A batch of factorisations (`jnp.linalg.cholesky`, `inv`, `solve` and triangular solves of an array
`(n, m, m)` or under `vmap`) is split by jaxlib (0.10) into tasks of the thread pool one of whose
threads then waits for them. Two such batches that do not depend on each other can hold both threads
of a machine with two cores, and neither is ever done: six independent batches of 64 matrices
(32, 32) do so within a second. The slow tests of this module show it. Single matrices, a
chain of batches each of which needs the one before, and batches of so little work that they are
one task have never been seen to wait.

Therefore: single matrices go to LAPACK; many small positive definite ones go to `inverses`, which
is the faster for them, too (medians of 200 calls in turn on two cores, LAPACK's batched `inv` in
brackets: 64 of (3, 3) 49 us (55), 256 of (9, 9) 147 us (349), 64 of (32, 32) 504 us (1,047));
whatever else is needed of many matrices goes one after the other, `in_turn`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp

Operand = TypeVar("Operand")
Result = TypeVar("Result")


def inverses(matrices: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The inverses `(F, G, G)` of symmetric positive definite `matrices`, and which are such.

    Gauss-Jordan elimination of all F at once, in G steps without pivoting, which a positive
    definite matrix does not need; its pivots are positive, and only its. For small G: up to about
    32 it is faster than LAPACK.
    """

    def eliminated(k: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        matrices, definite = carry
        pivot = matrices[:, k, k]
        row = (matrices[:, k, :] / pivot[:, None]).at[:, k].set(1.0 / pivot)
        column = matrices[:, :, k].at[:, k].set(0.0)
        matrices = matrices.at[:, :, k].set(0.0) - column[:, :, None] * row[:, None, :]
        return matrices.at[:, k, :].set(row), definite & (pivot > 0)

    # A loop: written out, most of a program's compilation would be this.
    start = (matrices, jnp.ones(matrices.shape[0], bool))
    inverted, definite = jax.lax.fori_loop(0, matrices.shape[1], eliminated, start)
    return inverted, definite


def in_turn(function: Callable[[Operand], Result], operands: Operand) -> Result:
    """`function` of every row of the arrays of `operands`, one after the other.

    In place of `vmap`, where the function factorises.
    """
    results: Result = jax.lax.map(function, operands)
    return results
