"""Losses per example with their gradients on the outputs, and what evaluation counts."""

from __future__ import annotations

from typing import Literal

import jax
import jax.numpy as jnp

from senn_cli.engine.metric import Metric

Task = Literal["classification", "regression"]


def default_metric(task: Task) -> Metric:
    """The metric whose Fisher matrix belongs to the task's loss."""
    return "softmax" if task == "classification" else "gaussian"


def loss_and_gradient(task: Task, outputs: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Losses `(N,)` in nats and their gradients on `outputs` (N, m).

    Classification: cross-entropy of softmax with labels `y` (N,). Regression: half the squared
    error, the negative log-likelihood of a unit Gaussian up to a constant, with `y` (N, m); with
    it, eta / 2 is the predicted gain for both tasks.
    """
    if task == "classification":
        log_p = jax.nn.log_softmax(outputs)
        one_hot = jax.nn.one_hot(y, outputs.shape[-1], dtype=outputs.dtype)
        return -jnp.sum(one_hot * log_p, axis=-1), jnp.exp(log_p) - one_hot
    error = outputs - y
    return 0.5 * jnp.sum(error**2, axis=-1), error


def figure(task: Task, outputs: jax.Array, y: jax.Array) -> jax.Array:
    """What is reported per example, `(N,)`: 1 for a right label, or the mean squared error."""
    if task == "classification":
        return (jnp.argmax(outputs, axis=-1) == y).astype(outputs.dtype)
    return jnp.mean((outputs - y) ** 2, axis=-1)
