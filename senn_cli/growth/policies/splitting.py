"""The policy `splitting` (Wu, Wang and Liu, NeurIPS 2019: splitting steepest descent).

It answers when, where and what. A unit that becomes two, at theta + eps v and theta - eps v with
half its output weights each, changes the loss by eps^2 v^T S v / 2 + O(eps^4), with the splitting
matrix S = E[dL/da grad^2 sigma(theta . x)] of its activation a. So the units split whose smallest
eigenvalue is most negative, along its eigenvector; where none is negative the network is stable,
and nothing comes. That is asked where the loss no longer falls.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from senn_cli.curvature.factorisations import in_turn
from senn_cli.curvature.observe import input_rows, silent
from senn_cli.engine.arrays import Arrays, inputs, targets
from senn_cli.engine.objective import Objective, loss_and_gradient
from senn_cli.engine.programs import Ledger, Program
from senn_cli.growth.edits import SplitUnit
from senn_cli.growth.policies.given import NOWHERE, Given, Places, Resting, taken
from senn_cli.growth.policy import Decision, Round, View
from senn_cli.nets.activation import second_derivative
from senn_cli.nets.features import (
    Architecture,
    hidden_feature,
    map_named,
    used_units,
    writer,
)
from senn_cli.nets.leaves import row_mask
from senn_cli.nets.registry import Parameters, Shifts, apply, used


class _Split(NamedTuple):
    """A unit that may split: the smallest eigenvalue of its splitting matrix and where it stands,
    and the eigenvector `(n,)`."""

    value: float
    layer: int
    unit: int
    vector: np.ndarray


class Bends(NamedTuple):
    """What the splitting matrices of a layer are made of, for N examples.

    Attributes:
      reads: what its units read, the constant in front, `(N, n)`: rows of the joined map.
      bends: dL/da times the second derivative of the activation, `(N, units)`, L the example's own
        loss; zero of units that are not in use.
    """

    reads: jax.Array
    bends: jax.Array


class Lowest(NamedTuple):
    """The smallest eigenvalue of every unit's splitting matrix `(units,)`, 0 of one that is not in
    use, and its eigenvector `(units, n)`."""

    values: jax.Array
    vectors: jax.Array


def bends(
    shape: Architecture,
    params: Parameters,
    widths: jax.Array,
    x: jax.Array,
    y: jax.Array,
    objective: Objective,
) -> dict[str, Bends]:
    """By the name of the map that yields a hidden layer, what its splitting matrices are made of.

    Args:
      x, y: network inputs `(N, inputs)` and their targets.
    """
    units = used(shape, widths)
    zeros = silent(shape, params, units, x)

    def run(post: dict[str, jax.Array]) -> tuple[jax.Array, tuple[dict[str, jax.Array], ...]]:
        signals = apply(shape, params, x, units, Shifts({}, post))
        return signals.outputs, (signals.inputs, signals.preactivations)

    outputs, pull, (reads, yields) = jax.vjp(run, dict(zeros.post), has_aux=True)
    (told,) = pull(loss_and_gradient(objective.plain, outputs, y)[1])
    found = {}
    for feature in shape.features:
        if feature.role == "hidden" and feature.activation is not None:
            m, name = writer(shape, feature.name), feature.coefficients
            own = None if name is None else params[name]["coefficients"]
            bent = second_derivative(feature.activation, yields[m.name], own)
            bent = jnp.where(units[feature.name], told[feature.name] * bent, 0.0)
            found[m.name] = Bends(input_rows(m, reads[m.name]), bent)
    return found


def splitting_matrix(reads: jax.Array, bends: jax.Array) -> jax.Array:
    """S of one unit, `(n, n)`: the mean of `bends` (N,) times the outer products of `reads`."""
    return (reads * bends[:, None]).T @ reads / len(reads)


def lowest(found: Bends) -> Lowest:
    """The smallest eigenvalues and their eigenvectors, one unit after the other.

    What is below zero by no more than rounding, of inputs that never vary, is taken for zero.
    """
    n, precision = found.reads.shape[1], float(np.finfo(found.reads.dtype).eps)

    def one(bends: jax.Array) -> Lowest:
        def of() -> Lowest:
            values, vectors = jnp.linalg.eigh(splitting_matrix(found.reads, bends))
            rounding = n * precision * jnp.max(jnp.abs(values))
            value = jnp.where(values[0] < -rounding, values[0], jnp.maximum(values[0], 0.0))
            return Lowest(value, vectors[:, 0])

        none = Lowest(jnp.zeros((), bends.dtype), jnp.zeros(n, bends.dtype))
        result: Lowest = jax.lax.cond(jnp.any(bends != 0), of, lambda: none)
        return result

    return in_turn(one, found.bends.T)


class Splitting(Given):
    """Splits units where that lowers a loss that no longer falls.

    Args:
      places: which layers' units may split, and how many in a round.
      resting: when the loss is flat.
      step: eps.
      objective: whose loss it is.
      ledger: counts what is compiled.
    """

    def __init__(
        self, places: Places, resting: Resting, step: float, objective: Objective, ledger: Ledger
    ) -> None:
        self.places, self.resting, self.step = places, resting, step

        def look(
            shape: Architecture, params: Parameters, widths: jax.Array, data: Arrays
        ) -> dict[str, Lowest]:
            rows = jnp.arange(len(data.y))
            found = bends(shape, params, widths, inputs(data, rows), targets(data, rows), objective)
            return {name: lowest(one) for name, one in found.items()}

        self._look = Program("score", look, ledger, static=(0,))

    def due(self, view: View) -> Round:
        """The splits that lower the loss most, where it is flat; else the reason why not."""
        architecture = view.architecture
        loss = view.loss()
        found = self.resting.of(view, loss)
        if not found.flat:
            return Round((Decision(None, found.reason, loss=loss),), kept=found.kept)
        looked = self._look(architecture.shape(), view.params, view.widths, view.sample)
        units = sorted(self._units(architecture, jax.device_get(looked)), key=lambda u: u.value)
        lowering = [unit for unit in units if unit.value < 0]
        if not lowering:
            reason = "no splitting matrix has a negative eigenvalue: the network is stable"
            return Round((Decision(None, reason, loss=loss),), kept=found.kept)
        chosen = taken(self.places.limits, architecture, lowering)
        if not chosen:
            return Round((Decision(None, NOWHERE, loss=loss),), kept=found.kept)
        # The last layer first: none changes the rows that weights of one behind it are for.
        decisions = [
            Decision(
                SplitUnit(layer, unit, (0.5, 0.5), self.step * np.stack([vector, -vector], axis=1)),
                f"lambda_min {value:.3g} is negative",
                loss=loss,
                change=0.5 * self.step**2 * value,
                keeps=False,
            )
            for value, layer, unit, vector in sorted(chosen, key=lambda u: (-u.layer, u.value))
        ]
        return Round(tuple(decisions), kept=found.since)

    def _units(self, architecture: Architecture, looked: dict[str, Lowest]) -> list[_Split]:
        """All units that may split."""
        units, layers = used_units(architecture), self.places.layers
        found = []
        for name, (values, vectors) in looked.items():
            m = map_named(architecture, name)
            layer = m.target.index
            if layers is not None and layer not in layers:
                continue
            read = row_mask(m, units)  # of a vector's other entries, rounding alone is left
            for unit in range(hidden_feature(architecture, layer).width):
                vector = np.where(read, vectors[unit], 0.0)
                vector = vector / max(float(np.linalg.norm(vector)), 1e-30)
                found.append(_Split(float(values[unit]), layer, unit, vector))
        return found
