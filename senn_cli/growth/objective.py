"""What the searches maximise: Delta eta' (Theorem 2) of proposed neurons or layers.

A proposal reads a source `v` (N, d), whose first column is the constant 1, through `weights`, and
is scored against whitened residual gradients `r` (N, m). For fixed weights the score of a rational
neuron is a generalised Rayleigh quotient c^T N N^T c / c^T M c in its three coefficients c, with
N = E[phi r^T] (3 x m) and M = E[phi phi^T] (3 x 3), so the best ones have a closed form.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular

from senn_cli.curvature.kronecker import SMALLEST
from senn_cli.nets.activation import activate, rational_basis
from senn_cli.spec.activation import Activation

SHARE = 1e-4
"""Damping of proposals' own moments while searching, as a share of their mean eigenvalue."""


class Neurons(NamedTuple):
    """P proposed neurons.

    Attributes:
      weights: `(P, d)` on the source, the bias first.
      coefficients: `(P, 3)` of the rational activation; without meaning for others.
    """

    weights: Any
    coefficients: Any


def best_coefficients(cross: jax.Array, moment: jax.Array) -> jax.Array:
    """The c that maximises |c^T N|^2 / c^T M c, scaled to c^T M c = 1 (unit second moment).

    Args:
      cross: N = E[phi r^T], `(..., 3, m)`.
      moment: M = E[phi phi^T], `(..., 3, 3)`.

    Returns:
      `(..., 3)`, with the sign that makes the first component non-negative.
    """
    trace = jnp.trace(moment, axis1=-2, axis2=-1)[..., None, None]
    eye = jnp.eye(3, dtype=moment.dtype)
    factor = jnp.linalg.cholesky(moment + (SHARE * trace / 3 + SMALLEST) * eye)
    whitened = solve_triangular(factor, cross, lower=True)
    _, vectors = jnp.linalg.eigh(whitened @ jnp.swapaxes(whitened, -1, -2))
    top = vectors[..., -1:]
    c = solve_triangular(jnp.swapaxes(factor, -1, -2), top, lower=False)[..., 0]
    return jnp.where(c[..., :1] < 0, -c, c)


def closed_form(
    activation: Activation, weights: jax.Array, v: jax.Array, r: jax.Array
) -> tuple[Neurons, jax.Array]:
    """Neurons with the best coefficients for their weights, and Delta eta', `(P,)`.

    The derivative with respect to `weights` is right although it passes the coefficients by: at
    their maximum the score does not depend on them to first order (envelope theorem).
    """
    pre = v @ weights.T
    n = v.shape[0]
    if activation == "rational":
        phi = rational_basis(pre)
        frozen = jax.lax.stop_gradient(phi)
        cross = jnp.einsum("npk,nm->pkm", frozen, r) / n
        moment = jnp.einsum("npk,npl->pkl", frozen, frozen) / n
        coefficients = jax.lax.stop_gradient(best_coefficients(cross, moment))
        a_p = jnp.einsum("npk,pk->np", phi, coefficients)
    else:
        coefficients = jnp.zeros((weights.shape[0], 3), v.dtype)
        a_p = activate(activation, pre, None)
    return Neurons(weights, coefficients), lower_bound(a_p, r)


def lower_bound(a_p: jax.Array, r: jax.Array) -> jax.Array:
    """Delta eta' of single neurons with activations `a_p` (N, P): |E[a_p r]|^2 / E[a_p^2]."""
    moment = a_p.T @ r / a_p.shape[0]
    power = jnp.mean(a_p**2, axis=0)
    return jnp.sum(moment**2, axis=1) / (power * (1.0 + SHARE) + SMALLEST)


def neuron_score(activation: Activation, neurons: Neurons, v: jax.Array, r: jax.Array) -> jax.Array:
    """Delta eta' of neurons with their own coefficients, `(P,)`."""
    pre = v @ neurons.weights.T
    return lower_bound(activate(activation, pre, neurons.coefficients.T), r)


def layer_activations(layer: Neurons, v: jax.Array, active: jax.Array) -> jax.Array:
    """Activations `(N, q)` of a proposed rational layer, of which the first `active` are in use.

    Args:
      layer: weights `(q, d)` and coefficients `(q, 3)`.
    """
    a_q = activate("rational", v @ layer.weights.T, layer.coefficients.T)
    return jnp.where(jnp.arange(a_q.shape[1]) < active, a_q, 0.0)


def layer_score(
    layer: Neurons, v: jax.Array, r: jax.Array, active: jax.Array, log_determinant: float
) -> jax.Array:
    """Delta eta' of one proposed layer minus the paper's regulariser, a scalar.

    The regulariser, `log_determinant` times (ln |det W_q|)^2 (appendix B), keeps W_q invertible.
    """
    a_q = layer_activations(layer, v, active)
    power = a_q.T @ a_q / a_q.shape[0]
    scale = jnp.diag(power)
    ridge = jnp.where(scale > 0, SHARE * scale + SMALLEST, 1.0)
    factor = jnp.linalg.cholesky(power + jnp.diag(ridge))
    moment = a_q.T @ r / a_q.shape[0]
    score = jnp.sum(solve_triangular(factor, moment, lower=True) ** 2)
    _, logdet = jnp.linalg.slogdet(square(layer, active))
    penalised: jax.Array = score - log_determinant * logdet**2
    return penalised


def square(layer: Neurons, active: jax.Array) -> jax.Array:
    """W_q without the bias, `(q, q)` as (neurons, source); unused rows and columns the identity."""
    q = layer.weights.shape[0]
    used = jnp.arange(q) < active
    kernel = layer.weights[:, 1:]
    return jnp.where(used[:, None] & used[None, :], kernel, jnp.eye(q, dtype=kernel.dtype))
