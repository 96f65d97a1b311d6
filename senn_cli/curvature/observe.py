"""Looking at the network: what every linear map reads, yields and is told, for a sample of data."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from senn_cli.engine.metric import Metric, output_factor
from senn_cli.engine.objective import Task, loss_and_gradient
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.nets.mlp_flax import with_constant
from senn_cli.nets.registry import Parameters, Shifts, apply, used

Tree = dict[str, jax.Array]


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
    units = used(shape, widths)
    zeros = {m.name: jnp.zeros((n, m.columns), x.dtype) for m in shape.maps}

    def run(shifts: Tree) -> tuple[jax.Array, tuple[Tree, Tree]]:
        signals = apply(shape, params, x, units, Shifts(shifts))
        return signals.outputs, (signals.inputs, signals.preactivations)

    outputs, pull, (inputs, preactivations) = jax.vjp(run, zeros, has_aux=True)
    losses, gradient = loss_and_gradient(task, outputs, y)
    (g,) = pull(gradient)

    # One pull-back for every direction of the metric's factor: exact, and never all at once.
    def accumulate(total: Tree, v: jax.Array) -> tuple[Tree, None]:
        (pulled,) = pull(v)
        return jax.tree.map(lambda t, p: t + p.T @ p / n, total, pulled), None

    none = {m.name: jnp.zeros((m.columns, m.columns), x.dtype) for m in shape.maps}
    s, _ = jax.lax.scan(accumulate, none, output_factor(metric, outputs))

    def in_order(tree: Tree) -> tuple[jax.Array, ...]:
        return tuple(tree[m.name] for m in shape.maps)

    a = {name: with_constant(read) for name, read in inputs.items()}
    z = {m.name: jnp.where(units[m.target.name], preactivations[m.name], 0.0) for m in shape.maps}
    return Observation(in_order(a), in_order(z), in_order(g), in_order(s), jnp.mean(losses))
