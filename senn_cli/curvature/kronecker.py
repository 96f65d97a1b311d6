"""Kronecker factors of a linear map's Fisher matrix, F ~ S (x) A (section 3.4), and their inverses.

A (1 + n_in, 1 + n_in) is the second moment of the map's inputs with the constant 1 in front; S
(n_out, n_out) is that of the gradients with respect to its pre-activations.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_factor, cho_solve

SMALLEST = 1e-30
"""Keeps divisions and factorisations finite where all gradients or activations vanish."""


class Spectrum(NamedTuple):
    """A symmetric matrix (n, n) with its eigenvalues (n,), ascending, and eigenvectors (n, n)."""

    matrix: jax.Array
    values: jax.Array
    vectors: jax.Array


def with_constant(a: jax.Array) -> jax.Array:
    """`a` (N, n) with the constant 1 put in front, `(N, 1 + n)`: the bias is a weight."""
    return jnp.concatenate([jnp.ones((a.shape[0], 1), a.dtype), a], axis=1)


def second_moment(x: jax.Array) -> jax.Array:
    """E[x x^T], `(n, n)` for N examples `(N, n)`."""
    return x.T @ x / x.shape[0]


def spectrum(matrix: jax.Array) -> Spectrum:
    """The eigendecomposition of `matrix` (n, n), negative eigenvalues (round-off) set to 0."""
    values, vectors = jnp.linalg.eigh(matrix)
    return Spectrum(matrix, jnp.maximum(values, 0.0), vectors)


def inverse(matrix: jax.Array, damping: jax.Array) -> jax.Array:
    """(matrix + damping I)^-1 by Cholesky; `(n, n)`."""
    eye = jnp.eye(matrix.shape[0], dtype=matrix.dtype)
    return cho_solve(cho_factor(matrix + damping * eye), eye)


def spectral_inverse(factor: Spectrum, damping: jax.Array) -> jax.Array:
    """(M + damping I)^-1, `(n, n)`, from the spectrum of a factor M that never changes."""
    return (factor.vectors / (factor.values + damping)) @ factor.vectors.T


def damping_split(
    a: jax.Array, s: jax.Array, n_a: jax.Array, n_s: jax.Array, damping: float | jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The shares of Tikhonov damping for A and S: pi sqrt(damping) and sqrt(damping) / pi.

    pi^2 is the ratio of the factors' mean eigenvalues (Martens and Grosse, 2015, section 6.3).

    Args:
      a, s: the factors; rows of unused neurons are zero.
      n_a, n_s: rows in use, so that spare capacity changes nothing.
      damping: lambda of F + lambda I.
    """
    mean_a = jnp.maximum(jnp.trace(a) / n_a, SMALLEST)
    mean_s = jnp.maximum(jnp.trace(s) / n_s, SMALLEST)
    pi = jnp.sqrt(mean_a / mean_s)
    # S is exactly zero for a map that nothing reads yet; the split must stay finite there.
    pi = jnp.clip(pi, 1e-4, 1e4)
    root = jnp.sqrt(jnp.asarray(damping, a.dtype))
    return pi * root, root / pi
