"""One map prepared for scoring additions to what it reads, from the examples of a sample.

`score` in terms of examples, as a search needs it: of proposals there are thousands, and what each
would read is known per example. The map reads activations `a` (the constant 1 included) and yields
pre-activations with gradients `g`; g_r = g - E[g a^T] A^-1 a is the residual gradient, so that R_p
= E[a_p g_r^T]. A and S are damped by a share of their mean eigenvalue. Gradients are kept whitened,
s = L^-1 g with S = L L^T, so that traces become squared lengths.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular

from senn_cli.curvature.kronecker import SMALLEST
from senn_cli.growth.score import Gains


class Target(NamedTuple):
    """One linear map, prepared for scoring additions to what it reads, from N examples.

    Attributes:
      a: what it reads with the constant in front, `(N, 1 + n)`; unused columns zero.
      a_factor: lower Cholesky factor of the damped A, `(1 + n, 1 + n)`.
      share: damping as a share of a mean eigenvalue; a new neuron's is this share of its own power.
      s_factor: lower Cholesky factor of the damped S, `(m, m)`.
      residual: whitened residual gradients L^-1 g_r, `(N, m)`.
      eta: the map's present score eta_c.
      eta_bias: by how much the finite sample is expected to raise `eta`.
      bound: lambda = E[g^T S^-1 g], which no score exceeds.
    """

    a: jax.Array
    a_factor: jax.Array
    share: jax.Array
    s_factor: jax.Array
    residual: jax.Array
    eta: jax.Array
    eta_bias: jax.Array
    bound: jax.Array


def damped(matrix: jax.Array, share: float, active: jax.Array) -> jax.Array:
    """`matrix` plus `share` of its mean eigenvalue over `active` rows times the identity."""
    ridge = share * jnp.trace(matrix) / active + SMALLEST
    return matrix + ridge * jnp.eye(matrix.shape[0], dtype=matrix.dtype)


def sample_bias(covectors: jax.Array, gradients: jax.Array, raw: jax.Array) -> jax.Array:
    """The expected excess of |E[x s]|^2 over its true value, from N examples.

    |1/N sum_i x_i s_i|^2 contains the N terms i = j, which do not vanish for independent x and s;
    the U-statistic without them is unbiased. Returns the plain value minus the U-statistic.

    Args:
      covectors: |x_i|^2 for every example, `(N, ...)`.
      gradients: |s_i|^2, `(N,)`.
      raw: the plain value, `(...)`.
    """
    n = gradients.shape[0]
    diagonal = jnp.tensordot(gradients, covectors, axes=1) / n
    return (diagonal - raw) / (n - 1)


def prepare(
    a: jax.Array,
    g: jax.Array,
    s: jax.Array,
    *,
    active_in: jax.Array,
    active_out: jax.Array,
    share_a: float,
    share_s: float,
) -> Target:
    """Everything that scoring needs of one map.

    Args:
      a: what the map reads with the constant in front, `(N, 1 + n)`.
      g: gradients of the loss with respect to what it yields, per example, `(N, m)`.
      s: the second factor S of its Fisher matrix, `(m, m)`.
      active_in: columns of `a` in use, the constant counted; `active_out`: columns of `g` in use.
      share_a, share_s: damping of A and S as shares of their mean eigenvalues.
    """
    n = a.shape[0]
    a_factor = jnp.linalg.cholesky(damped(a.T @ a / n, share_a, active_in))
    s_factor = jnp.linalg.cholesky(damped(s, share_s, active_out))
    whitened = solve_triangular(s_factor, g.T, lower=True).T
    moment = a.T @ whitened / n
    projected = solve_triangular(a_factor, moment, lower=True)
    eta = jnp.sum(projected**2)
    lengths = jnp.sum(whitened**2, axis=1)
    leverage = jnp.sum(solve_triangular(a_factor, a.T, lower=True) ** 2, axis=0)
    residual = whitened - a @ cho_solve((a_factor, True), moment)
    return Target(
        a=a,
        a_factor=a_factor,
        share=jnp.asarray(share_a, a.dtype),
        s_factor=s_factor,
        residual=residual,
        eta=eta,
        eta_bias=sample_bias(leverage, lengths, eta),
        bound=jnp.mean(lengths),
    )


def gain_of_neurons(target: Target, a_p: jax.Array) -> Gains:
    """The increases for P single neurons with activations `a_p` (N, P), each on its own."""
    n = a_p.shape[0]
    moment = a_p.T @ target.residual / n
    numerator = jnp.sum(moment**2, axis=1)
    # Damping relative to a neuron's own power: the score does not depend on its scale.
    power = (1.0 + target.share) * jnp.mean(a_p**2, axis=0)
    cross = target.a.T @ a_p / n
    explained = jnp.sum(solve_triangular(target.a_factor, cross, lower=True) ** 2, axis=0)
    schur = jnp.maximum(power - explained, SMALLEST)
    unexplained = a_p - target.a @ cho_solve((target.a_factor, True), cross)
    lengths = jnp.sum(target.residual**2, axis=1)
    bias = sample_bias(unexplained**2, lengths, numerator) / schur
    return Gains(numerator / schur, numerator / jnp.maximum(power, SMALLEST), bias)


def gain_of_layer(target: Target, a_q: jax.Array) -> Gains:
    """The increase for all the neurons `a_q` (N, q) of a new layer together, as scalars."""
    n = a_q.shape[0]
    moment = a_q.T @ target.residual / n
    power = a_q.T @ a_q / n
    scale = jnp.diag(power)
    # An unused neuron of the layer is all zero: a one on the diagonal leaves it out.
    damped_power = power + jnp.diag(jnp.where(scale > 0, target.share * scale, 1.0))
    cross = target.a.T @ a_q / n
    half = solve_triangular(target.a_factor, cross, lower=True)
    unexplained = a_q - target.a @ cho_solve((target.a_factor, True), cross)
    schur_factor = jnp.linalg.cholesky(damped_power - half.T @ half)
    power_factor = jnp.linalg.cholesky(damped_power)
    exact = jnp.sum(solve_triangular(schur_factor, moment, lower=True) ** 2)
    lower = jnp.sum(solve_triangular(power_factor, moment, lower=True) ** 2)
    leverage = jnp.sum(solve_triangular(schur_factor, unexplained.T, lower=True) ** 2, axis=0)
    lengths = jnp.sum(target.residual**2, axis=1)
    return Gains(exact, lower, sample_bias(leverage, lengths, exact))
