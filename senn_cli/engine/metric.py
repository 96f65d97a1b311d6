"""Metrics on the network's outputs: the choice that makes F a Fisher matrix (section 3.4).

With J the derivative of the outputs with respect to the parameters, F = E[J^T H J]; `H`
(outputs x outputs) is the identity for the Euclidean metric and for the Fisher matrix of a Gaussian
with unit variance, and diag(p) - p p^T for that of a categorical distribution with p = softmax.
"""

from __future__ import annotations

from typing import Literal

import jax
import jax.numpy as jnp

Metric = Literal["euclidean", "softmax", "gaussian"]


def output_product(metric: Metric, outputs: jax.Array, v: jax.Array) -> jax.Array:
    """H v for every example; `outputs` and `v` are `(N, m)`."""
    if metric != "softmax":
        return v
    p = jax.nn.softmax(outputs)
    return p * (v - jnp.sum(p * v, axis=-1, keepdims=True))


def output_form(metric: Metric, outputs: jax.Array, v: jax.Array) -> jax.Array:
    """The mean of v^T H v over the examples, a scalar; `outputs` and `v` are `(N, m)`.

    With v = J d it is d^T F d, exactly and whatever approximates F elsewhere: twice the change in
    KL divergence that the step d makes, to second order (Martens and Grosse, 2015, section 6).
    """
    return jnp.mean(jnp.sum(v * output_product(metric, outputs, v), axis=-1))


def output_factor(metric: Metric, outputs: jax.Array) -> jax.Array:
    """Vectors whose outer products sum to H for every example.

    Returns:
      `(m, N, m)`: the k-th of m vectors, for each of N examples. For softmax they are
      sqrt(p_k) (e_k - p), the gradients of the m possible labels weighted by their probabilities.
    """
    m = outputs.shape[-1]
    unit = jnp.eye(m, dtype=outputs.dtype)[:, None, :]
    if metric != "softmax":
        return jnp.broadcast_to(unit, (m, outputs.shape[0], m))
    p = jax.nn.softmax(outputs)
    return jnp.sqrt(p).T[:, :, None] * (unit - p[None])


def sample_output_gradient(metric: Metric, outputs: jax.Array, key: jax.Array) -> jax.Array:
    """A random vector `(N, m)` with mean zero and second moment H, one an example.

    For softmax the gradient of the loss at a label drawn from the network's own prediction, as in
    KFAC (Martens and Grosse, 2015).
    """
    if metric != "softmax":
        return jax.random.normal(key, outputs.shape, outputs.dtype)
    labels = jax.random.categorical(key, outputs)
    return jax.nn.softmax(outputs) - jax.nn.one_hot(labels, outputs.shape[-1], dtype=outputs.dtype)
