"""A step's batch and its passes through the network: outputs, losses, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from senn_cli.curvature.observe import silent
from senn_cli.engine.metric import output_form, weighted
from senn_cli.engine.objective import Objective, loss_and_gradient
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import Parameters, Shifts, Signals, Used, apply
from senn_cli.training.optimizer import Optimizer


@dataclass(frozen=True)
class Batch:
    """N examples that a network without buds sees, and how it computes.

    Attributes:
      shape: of the network; units: what is in use of it.
      weights: how much every example counts, `(N,)`; None where all count alike.
      factors: what activations are multiplied by where units are left out.
    """

    shape: Architecture
    units: Used
    objective: Objective
    optimizer: Optimizer
    x: jax.Array
    y: jax.Array
    weights: jax.Array | None
    factors: dict[str, jax.Array]

    def run(self, params: Parameters, shifts: Shifts) -> tuple[jax.Array, Signals]:
        """Outputs `(N, m)` and all signals."""
        how = self.optimizer
        signals = apply(
            self.shape,
            params,
            self.x,
            self.units,
            shifts._replace(factors=self.factors),
            compute_dtype=how.compute_dtype,
            recompute=how.recompute,
        )
        return signals.outputs, signals

    def outputs(self, params: Parameters) -> jax.Array:
        """The network's outputs, `(N, m)`."""
        return self.run(params, Shifts({}))[0]

    def loss(self, params: Parameters) -> jax.Array:
        """The mean loss, a scalar."""
        return self.mean(loss_and_gradient(self.objective, self.outputs(params), self.y)[0])

    def mean(self, losses: jax.Array) -> jax.Array:
        """The mean of losses `(N,)`."""
        return jnp.mean(weighted(losses, self.weights))

    def form(self, outputs: jax.Array, moved: jax.Array) -> jax.Array:
        """d^T F d where `outputs` move by `moved` = J d; both `(N, m)`."""
        return output_form(self.optimizer.metric, outputs, moved, self.weights)

    def form_of(self, params: Parameters, direction: Parameters) -> jax.Array:
        """d^T F d of a direction d, by a pass of its own."""
        return self.form(*jax.jvp(self.outputs, (params,), (direction,)))

    def linearised(self, params: Parameters) -> Line:
        """The forward pass with its derivatives, the loss and its gradient."""
        zeros = silent(self.shape, params, self.units, self.x)
        outputs, push, signals = jax.linearize(self.run, params, zeros, has_aux=True)
        pull = jax.linear_transpose(push, params, zeros)
        losses, told = loss_and_gradient(self.objective, outputs, self.y)
        told = weighted(told, self.weights)
        gradient, _ = pull(told / self.x.shape[0])
        return Line(outputs, signals, push, pull, zeros, self.mean(losses), told, gradient)


@dataclass(frozen=True)
class Line:
    """A network's outputs at some parameters, to first order.

    Attributes:
      outputs: `(N, m)`; signals: all of the forward pass.
      push: from a change of parameters and shifts to that of the outputs, J d.
      pull: from covectors on the outputs to those on parameters and shifts, J^T v.
      zeros: no shifts.
      loss: the mean; told: the gradient of every example's own loss times its weight, `(N, m)`.
      gradient: of the mean loss.
    """

    outputs: jax.Array
    signals: Signals
    push: Callable[..., jax.Array]
    pull: Callable[..., tuple[Parameters, Shifts]]
    zeros: Shifts
    loss: jax.Array
    told: jax.Array
    gradient: Parameters

    def moved(self, direction: Any) -> jax.Array:
        """J d, `(N, m)`."""
        return self.push(direction, self.zeros)
