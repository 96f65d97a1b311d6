"""Looking at the network: what every linear map reads, yields and is told, for a sample of data."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from senn_cli.engine.metric import Metric, output_factor
from senn_cli.engine.objective import Task, loss_and_gradient
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.nets.mlp_flax import Parameters, apply, with_constant


class Observation(NamedTuple):
    """For N examples and every map.

    Attributes:
      a: what it reads with the constant in front, `(N, 1 + n_in)`; unused columns zero.
      z: what it yields, `(N, n_out)`; unused columns zero.
      g: gradients of the loss with respect to z, per example, `(N, n_out)`.
      s: its second Kronecker factor, E[J^T H J] exactly, `(n_out, n_out)`.
      loss: the mean loss, a scalar.
    """

    a: tuple[jax.Array, ...]
    z: tuple[jax.Array, ...]
    g: tuple[jax.Array, ...]
    s: tuple[jax.Array, ...]
    loss: jax.Array


def observe(
    shape: MlpArchitecture,
    params: Parameters,
    widths: jax.Array,
    x: jax.Array,
    y: jax.Array,
    task: Task,
    metric: Metric,
) -> Observation:
    """The observation of network inputs `x` (N, inputs) with targets `y`."""
    n = x.shape[0]
    zeros = tuple(jnp.zeros((n, shape.map_capacity(i)[1]), x.dtype) for i in range(len(shape.maps)))

    def run(shifts: tuple[jax.Array, ...]) -> tuple[jax.Array, tuple[tuple[jax.Array, ...], ...]]:
        signals = apply(shape, params, x, widths, shifts)
        return signals.outputs, (signals.inputs, signals.preactivations)

    outputs, pull, (inputs, preactivations) = jax.vjp(run, zeros, has_aux=True)
    losses, gradient = loss_and_gradient(task, outputs, y)
    (g,) = pull(gradient)

    # One pull-back for every direction of the metric's factor: exact, and never all at once.
    def accumulate(
        total: tuple[jax.Array, ...], v: jax.Array
    ) -> tuple[tuple[jax.Array, ...], None]:
        (pulled,) = pull(v)
        return tuple(t + p.T @ p / n for t, p in zip(total, pulled, strict=True)), None

    none = tuple(jnp.zeros((z.shape[1], z.shape[1]), x.dtype) for z in zeros)
    s, _ = jax.lax.scan(accumulate, none, output_factor(metric, outputs))
    counts = [widths[i] for i in range(len(shape.hidden))] + [jnp.asarray(shape.outputs)]
    z = tuple(
        jnp.where(jnp.arange(p.shape[1]) < count, p, 0.0)
        for p, count in zip(preactivations, counts, strict=True)
    )
    return Observation(tuple(with_constant(i) for i in inputs), z, g, s, jnp.mean(losses))
