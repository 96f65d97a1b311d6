"""An inverse root tracked by rank-one updates (appendix E, equation 20).

For L L^T = A^-1 and a vector a, with mu = a^T L L^T a,

  L' = L + c (L L^T a) (a^T L),   c = (sqrt(1 - mu / (1 + mu)) - 1) / mu,

is an inverse root of A + a a^T. As sqrt(1 - mu / (1 + mu)) = 1 / r with r = sqrt(1 + mu), c equals
-1 / (r + r^2): no difference of close numbers, no division by mu, -1/2 at mu = 0. There are only
products of matrices and vectors, so it vectorises; any inverse root will do, triangular or not.

Every function takes any number of leading dimensions, for many matrices at once. A mask `used` (n,)
says which rows and columns of A count: those of L that do not are zero, and L L^T is the inverse of
the used block with zeros around it. A row that becomes used shows as an error of 1 in L^T A L, and
`checked` then makes L anew.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular


def rank_one(root: jax.Array, a: jax.Array) -> jax.Array:
    """The inverse root of A + a a^T from that of A.

    Args:
      root: L, `(..., n, n)`.
      a: `(..., n)`; zero on rows that are not in use.
    """
    u = jnp.einsum("...ij,...i->...j", root, a)
    r = jnp.sqrt(1.0 + jnp.sum(u * u, axis=-1))
    c = -1.0 / (r + r * r)
    image = jnp.einsum("...ij,...j->...i", root, u)
    return root + c[..., None, None] * image[..., :, None] * u[..., None, :]


def decayed(root: jax.Array, samples: jax.Array, rate: float | jax.Array) -> jax.Array:
    """The inverse root of (1 - rate) A + rate mean_k a_k a_k^T from that of A.

    Args:
      root: L, `(..., n, n)`.
      samples: a_k, `(K, ..., n)`; each costs O(n^2).
      rate: weight of the new, at least 0 and below 1.
    """
    weight = jnp.sqrt(rate / (samples.shape[0] * (1.0 - rate))).astype(samples.dtype)

    def step(current: jax.Array, a: jax.Array) -> tuple[jax.Array, None]:
        return rank_one(current, weight * a), None

    updated, _ = jax.lax.scan(step, root, samples)
    return updated / jnp.sqrt(1.0 - rate).astype(root.dtype)


def masked(matrix: jax.Array, used: jax.Array) -> jax.Array:
    """`matrix` (..., n, n) with the rows and columns that are not `used` (..., n) set to zero."""
    return jnp.where(used[..., :, None] & used[..., None, :], matrix, 0)


def inverse_root(matrix: jax.Array, used: jax.Array) -> jax.Array:
    """L of the used block of a positive definite `matrix` (..., n, n), by Cholesky.

    L = C^-T where the used block is C C^T.
    """
    eye = jnp.eye(matrix.shape[-1], dtype=matrix.dtype)
    # Ones instead of what is not in use: the factor splits into the two blocks.
    whole = jnp.where(used[..., :, None] & used[..., None, :], matrix, eye)
    factor = jnp.linalg.cholesky(whole)
    eye = jnp.broadcast_to(eye, whole.shape)
    return masked(jnp.swapaxes(solve_triangular(factor, eye, lower=True), -1, -2), used)


def error(root: jax.Array, matrix: jax.Array, used: jax.Array) -> jax.Array:
    """The largest |L^T A L - I| over the used block, `(...)`: 0 for an exact inverse root.

    A used row that `root` knows nothing of counts as 1.
    """
    root = masked(root, used)
    eye = jnp.eye(matrix.shape[-1], dtype=matrix.dtype)
    product = jnp.swapaxes(root, -1, -2) @ matrix @ root
    deviation = jnp.where(used[..., :, None] & used[..., None, :], product - eye, 0)
    return jnp.max(jnp.abs(deviation), axis=(-2, -1))


def checked(
    root: jax.Array, matrix: jax.Array, used: jax.Array, tolerance: float
) -> tuple[jax.Array, jax.Array]:
    """`root`, or one made anew by Cholesky where its error is above `tolerance`.

    One factorisation for all leading dimensions where any of them needs it.

    Args:
      root: L, `(..., n, n)`.
      matrix: A, `(..., n, n)`, positive definite on the used rows.
      used: rows in use, bool `(..., n)`.
      tolerance: above 0 and below 1, so that a row which has become used is noticed.

    Returns:
      The root, zero outside the used block, and whether it was made anew.

    Raises:
      ValueError: `tolerance` is out of range.
    """
    if not 0.0 < tolerance < 1.0:
        raise ValueError(f"need 0 < tolerance < 1, got {tolerance}")
    # Not `error > tolerance`, which NaN would pass.
    due = ~jnp.all(error(root, matrix, used) <= tolerance)
    new = jax.lax.cond(due, lambda: inverse_root(matrix, used), lambda: masked(root, used))
    return new, due


def combinations(key: jax.Array, rows: jax.Array, count: int) -> jax.Array:
    """`count` vectors whose outer products have the second moment of `rows` as their expectation.

    sum_i zeta_i x_i / sqrt(N) with unit normal zeta: what a factor's rank-one updates are fed with.

    Args:
      key: of the random weights.
      rows: x, `(N, n)`: what a map reads, or the gradients at what it yields.
      count: how many.
    """
    zeta = jax.random.normal(key, (count, rows.shape[0]), rows.dtype)
    return jnp.matmul(zeta, rows) / jnp.sqrt(rows.shape[0]).astype(rows.dtype)
