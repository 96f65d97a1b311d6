"""The policy `dynamic_node_creation` (Ash, Connection Science 1(4), 1989).

It answers when: a unit comes where the loss no longer falls, until its mean and its largest value
are small enough. Where is given; what is a unit of small random weights, which changes the function
a little; all weights go on training.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from senn_cli.engine.arrays import Arrays, examples, inputs, targets
from senn_cli.engine.objective import Objective, loss_and_gradient
from senn_cli.engine.programs import Ledger, Program
from senn_cli.growth.policies.given import NOWHERE, Given, Places, Resting, fresh
from senn_cli.growth.policy import Decision, Round, View
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import Parameters, kind_of, outputs


@dataclass(frozen=True)
class Bounds:
    """What a network that needs no more units satisfies.

    Attributes:
      mean, largest: of the losses of training examples, at most; None for any.
    """

    mean: float
    largest: float | None


class DynamicNodeCreation(Given):
    """Adds units of small random weights where the loss is flat.

    Args:
      places: which layers get units, and how many.
      resting: when the loss is flat.
      scale: of the new weights, as a share of the initial distribution's.
      bounds: when nothing is added any more.
      objective: whose losses are compared with the bounds.
      ledger: counts what is compiled.
    """

    def __init__(
        self,
        places: Places,
        resting: Resting,
        scale: float,
        bounds: Bounds,
        objective: Objective,
        ledger: Ledger,
    ) -> None:
        self.places, self.resting, self.scale, self.bounds = places, resting, scale, bounds

        def largest(
            shape: Architecture, params: Parameters, widths: jax.Array, data: Arrays
        ) -> jax.Array:
            n = examples(data)
            size = min(n, kind_of(shape).block)

            def block(index: jax.Array, most: jax.Array) -> jax.Array:
                rows = jnp.minimum(index * size + jnp.arange(size), n - 1)
                yielded = outputs(shape, params, inputs(data, rows), widths)
                losses, _ = loss_and_gradient(objective.plain, yielded, targets(data, rows))
                return jnp.maximum(most, jnp.max(losses))

            found: jax.Array = jax.lax.fori_loop(0, -(-n // size), block, jnp.float32(-jnp.inf))
            return found

        self._largest = Program("score", largest, ledger, static=(0,))

    def due(self, view: View) -> Round:
        """Units where the loss is flat and not small enough; else the reason why not."""
        loss = view.loss()
        found = self.resting.of(view, loss)
        reason = self._enough(view, loss) if found.flat else found.reason
        if reason is not None:
            return Round((Decision(None, reason, loss=loss),), kept=found.kept)
        decisions = [
            Decision(
                fresh(view, layer, count, self.scale, "dynamic_node_creation"),
                found.reason,
                loss=loss,
                keeps=False,
            )
            for layer, count in self.places.of(view.architecture)
        ]
        if not decisions:
            return Round((Decision(None, NOWHERE, loss=loss),), kept=found.kept)
        return Round(tuple(decisions), kept=found.since)

    def _enough(self, view: View, loss: float) -> str | None:
        """Why the network is good enough as it is, if it is."""
        bounds = self.bounds
        if loss > bounds.mean:
            return None
        reason = f"mean_error: the loss is {loss:.3g}, at most {bounds.mean:g}"
        if bounds.largest is None:
            return reason
        shape = view.architecture.shape()
        found = self._largest(shape, view.params, view.widths, view.sample)
        worst = float(jax.device_get(found))
        if worst > bounds.largest:
            return None
        return f"{reason}; max_error: the largest is {worst:.3g}, at most {bounds.largest:g}"
