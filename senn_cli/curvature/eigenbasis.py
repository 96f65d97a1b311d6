"""The eigenvalue-corrected Kronecker factorisation, EKFAC (George et al., 2018).

KFAC takes the Fisher matrix of a map in the basis U_A (x) U_S of its factors' eigenvectors for
diagonal, with the products of their eigenvalues in it. Here the diagonal is what the gradients'
second moment in that basis is, E[(U_A^T dW U_S)^2], which is the best one (in Frobenius norm) and
costs two products: a sampled gradient of an example is an outer product, and so is its square.

The basis is that of the used block; beyond it, and in directions that nothing has been seen of,
gradients are zero and so are directions, whatever the damping is.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from senn_cli.curvature.kronecker import SMALLEST

BEYOND = -1.0
"""The eigenvalue that stands for what is not in use: no second moment has it."""

NOTHING = 4.0
"""Eigenvalues below this many roundings of the largest are of directions without any second moment:
the inverse is a pseudo-inverse, and what rounding leaves of a gradient there is not amplified."""


def basis(block: jax.Array, used: jax.Array) -> jax.Array:
    """The eigenvectors of the used block in columns, `(n, n)`; zero around it and in null spaces.

    Args:
      block: a second moment with zeros around what is `used`, bool `(n,)`.
    """
    scale = jnp.maximum(jnp.trace(block), SMALLEST)
    apart = block / scale + jnp.diag(jnp.where(used, 0.0, BEYOND).astype(block.dtype))
    values, vectors = jnp.linalg.eigh(apart)
    return jnp.where(used[:, None], of_range(values, vectors), 0.0)


def of_range(values: jax.Array, vectors: jax.Array) -> jax.Array:
    """Eigenvectors in columns, zero where their eigenvalues, ascending, are nothing."""
    return jnp.where(values > NOTHING * np.finfo(values.dtype).eps * values[-1], vectors, 0.0)


def spilt(vectors: jax.Array, block: jax.Array) -> jax.Array:
    """How much of a second moment is off the diagonal in a basis, a share of its Frobenius norm."""
    rotated = vectors.T @ block @ vectors
    off = rotated - jnp.diag(jnp.diagonal(rotated))
    whole = jnp.maximum(jnp.sum(block**2), SMALLEST)
    return jnp.sqrt(jnp.sum(off**2) / whole)


def products(a: jax.Array, vectors_a: jax.Array, s: jax.Array, vectors_s: jax.Array) -> jax.Array:
    """The diagonal by KFAC, products of eigenvalues, `(n_a, n_s)`; a start without any example."""
    return jnp.outer(_diagonal(vectors_a, a), _diagonal(vectors_s, s))


def _diagonal(vectors: jax.Array, block: jax.Array) -> jax.Array:
    return jnp.maximum(jnp.einsum("ij,ij->j", vectors, block @ vectors), 0.0)


def squares(
    read: jax.Array, vectors_a: jax.Array, sampled: jax.Array, vectors_s: jax.Array
) -> jax.Array:
    """E[(U_A^T dW U_S)^2] of N sampled gradients dW = a s^T, `(n_a, n_s)`.

    Args:
      read: a, `(N, n_a)`; sampled: s, `(N, n_s)`.
    """
    return ((read @ vectors_a) ** 2).T @ (sampled @ vectors_s) ** 2 / read.shape[0]


def turned(
    diagonal: jax.Array,
    before: tuple[jax.Array, jax.Array],
    after: tuple[jax.Array, jax.Array],
) -> jax.Array:
    """What a second moment that is diagonal in the bases `before` has for its diagonal in `after`.

    A basis whose columns only changed places has the same entries in these places.
    """
    of_a, of_s = ((new.T @ old) ** 2 for old, new in zip(before, after, strict=True))
    return of_a @ diagonal @ of_s.T


def preconditioned(
    gradient: jax.Array,
    vectors_a: jax.Array,
    vectors_s: jax.Array,
    diagonal: jax.Array,
    damping: float | jax.Array,
) -> jax.Array:
    """U_A [(U_A^T dW U_S) / (D + damping)] U_S^T, `(n_a, n_s)`."""
    inside = vectors_a.T @ gradient @ vectors_s
    return vectors_a @ (inside / (diagonal + damping)) @ vectors_s.T
