"""Metrics on the network's outputs: the choice that makes F a Fisher matrix (section 3.4).

With J the derivative of the outputs with respect to the parameters, F = E[J^T H J]; `H`
(outputs x outputs) belongs to the distribution that the outputs describe: the identity for the
Euclidean metric and for a Gaussian with unit variance, diag(p) - p p^T for one of several classes
with p = softmax, diag(p (1 - p)) for labels on their own with p the logistic function, and diag(r)
for counts with rates r = exp. A number c stands for c times the identity: the Fisher information
of any distribution that the output only shifts.
"""

from __future__ import annotations

from typing import Literal

import jax
import jax.numpy as jnp

Metric = Literal["euclidean", "softmax", "gaussian", "bernoulli", "poisson"] | float


LARGEST_LOG = 60.0
"""Logarithms of rates beyond this count as this: squares of larger rates are not finite."""


def rate(outputs: jax.Array) -> jax.Array:
    """The rate of counts whose logarithm is `outputs`."""
    return jnp.exp(jnp.minimum(outputs, LARGEST_LOG))


def _diagonal(metric: Metric, outputs: jax.Array) -> jax.Array:
    """The diagonal of H, where that is all of it; `(N, m)`."""
    if metric == "bernoulli":
        return jax.nn.sigmoid(outputs) * jax.nn.sigmoid(-outputs)
    if metric == "poisson":
        return rate(outputs)
    return jnp.full_like(outputs, metric if isinstance(metric, float) else 1.0)


def output_product(metric: Metric, outputs: jax.Array, v: jax.Array) -> jax.Array:
    """H v for every example; `outputs` and `v` are `(N, m)`."""
    if metric != "softmax":
        return _diagonal(metric, outputs) * v
    p = jax.nn.softmax(outputs)
    return p * (v - jnp.sum(p * v, axis=-1, keepdims=True))


def output_form(
    metric: Metric, outputs: jax.Array, v: jax.Array, weights: jax.Array | None = None
) -> jax.Array:
    """The mean of v^T H v over the examples, a scalar; `outputs` and `v` are `(N, m)`.

    With v = J d it is d^T F d, exactly and whatever approximates F elsewhere: twice the change in
    KL divergence that the step d makes, to second order (Martens and Grosse, 2015, section 6).

    Args:
      weights: how much every example counts, `(N,)`; None where all count alike.
    """
    return jnp.mean(weighted(jnp.sum(v * output_product(metric, outputs, v), axis=-1), weights))


def weighted(x: jax.Array, weights: jax.Array | None) -> jax.Array:
    """`x` (N, ...) times the weight of its example."""
    return x if weights is None else x * weights.reshape(-1, *(1,) * (x.ndim - 1))


def output_combination(metric: Metric, outputs: jax.Array, c: jax.Array) -> jax.Array:
    """sum_k c_k u_k, of the m vectors u_k whose outer products sum to H for every example.

    For softmax they are sqrt(p_k) (e_k - p), the gradients of the m possible labels weighted by
    the roots of their probabilities. With independent signs c its second moment is H.

    Args:
      outputs: `(N, m)`.
      c: `(m,)`, or `(N, m)`.

    Returns:
      `(N, m)`.
    """
    if metric != "softmax":
        return c * jnp.sqrt(_diagonal(metric, outputs))
    p = jax.nn.softmax(outputs)
    taken = c * jnp.sqrt(p)
    return taken - p * jnp.sum(taken, axis=-1, keepdims=True)


def output_moment(metric: Metric, outputs: jax.Array) -> jax.Array:
    """The mean of H over the examples, `(m, m)`, of `outputs` (N, m)."""
    if metric != "softmax":
        return jnp.diag(jnp.mean(_diagonal(metric, outputs), axis=0))
    p = jax.nn.softmax(outputs)
    return jnp.diag(jnp.mean(p, axis=0)) - p.T @ p / len(p)


def sample_output_gradient(metric: Metric, outputs: jax.Array, key: jax.Array) -> jax.Array:
    """A random vector `(N, m)` with mean zero and second moment H, one an example.

    For softmax the gradient of the loss at a label drawn from the network's own prediction, as in
    KFAC (Martens and Grosse, 2015).
    """
    if metric == "softmax":
        labels = jax.random.categorical(key, outputs)
        one_hot = jax.nn.one_hot(labels, outputs.shape[-1], dtype=outputs.dtype)
        return jax.nn.softmax(outputs) - one_hot
    noise = jax.random.normal(key, outputs.shape, outputs.dtype)
    return noise * jnp.sqrt(_diagonal(metric, outputs))
