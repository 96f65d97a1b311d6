"""Units of a dense layer behind gates: what the loss would be with them, without any edit.

A unit that comes adds omega sigma(psi . x) to what the readers of its layer yield, so that the loss
with it is that of the network with these sums shifted. Firefly (Wu et al., 2020) gives every
candidate a gate. At the gate e a copy of each old unit reads by theta + e d and one by theta - e d,
at half the output weights each, and a fresh unit has the output weights e omega. At zero gates the
network is what it was.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from senn_cli.curvature.kronecker import SMALLEST
from senn_cli.curvature.observe import input_rows
from senn_cli.engine.objective import Objective, loss_and_gradient
from senn_cli.growth.sight import reads
from senn_cli.nets.activation import IDENTITY, activate
from senn_cli.nets.features import Architecture, feature_named, writer
from senn_cli.nets.leaves import joined, row_mask
from senn_cli.nets.registry import Parameters, Shifts, Used, apply

GRID = 3
"""Places along the gates' way at which a score is taken."""


class Units(NamedTuple):
    """k units that are not there.

    Attributes:
      incoming: psi over the rows of the joined map that yields the layer, `(n, k)`. A rational unit
        has the identity's coefficients.
      outgoing: omega, by the name of the map that reads them, `(k, m)`.
    """

    incoming: Any
    outgoing: dict[str, Any]


class Candidates(NamedTuple):
    """Those of one layer.

    Attributes:
      turns: d of every unit that is there, over the rows of the joined map, `(n, capacity)`.
      fresh: new units.
    """

    turns: Any
    fresh: Units


class Gates(NamedTuple):
    """A number for every candidate: gates, or what belongs to them.

    Attributes:
      splits: `(capacity,)`; fresh: `(k,)`.
    """

    splits: Any
    fresh: Any


class Behind:
    """The loss of a network on examples `x` (N, inputs), `y` with units of layer `at` added.

    Args:
      shape, params, used: the network.
      at: the name of a feature whose maps are dense.
    """

    def __init__(
        self,
        shape: Architecture,
        at: str,
        params: Parameters,
        used: Used,
        x: jax.Array,
        y: jax.Array,
        objective: Objective,
    ) -> None:
        self.network, self.at, self.data = (shape, params, used), at, (x, y, objective)
        self.feature, m = feature_named(shape, at), writer(shape, at)
        assert self.feature.activation is not None
        self.mask = jnp.asarray(row_mask(m, used))[:, None]
        read = input_rows(m, apply(shape, params, x, used).inputs[m.name])
        self.read = jnp.where(self.mask[:, 0], read, 0.0)
        self.units = jnp.asarray(used[at])
        self.weights = jnp.where(self.mask & self.units, joined(m, params[m.name]), 0.0)
        name = self.feature.coefficients
        self.bend = None if name is None else params[name]["coefficients"]
        self.kernels = {
            r.name: jnp.where(
                self.units[:, None], joined(r, params[r.name])[r.groups(source)[:, 0]], 0.0
            )
            for r, source in reads(shape, at)
        }

    def _shifted(self, shifts: dict[str, jax.Array]) -> jax.Array:
        shape, params, used = self.network
        x, y, objective = self.data
        outputs = apply(shape, params, x, used, Shifts(shifts)).outputs
        return jnp.mean(loss_and_gradient(objective, outputs, y)[0])

    def _values(self, z: jax.Array, bend: jax.Array | None) -> jax.Array:
        assert self.feature.activation is not None
        return activate(self.feature.activation, z, bend)

    def _fresh(self, incoming: jax.Array) -> jax.Array:
        bend = jnp.tile(jnp.array(IDENTITY, incoming.dtype)[:, None], (1, incoming.shape[1]))
        return self._values(self.read @ incoming, bend)

    def loss(self) -> jax.Array:
        """The loss as it is."""
        return self._shifted({})

    def added(self, units: Units, size: jax.Array) -> jax.Array:
        """The loss with `units` whose input and output weights are sqrt(`size`) times theirs."""
        values = self._fresh(jnp.sqrt(size) * units.incoming)
        shifts = {name: values @ (jnp.sqrt(size) * w) for name, w in units.outgoing.items()}
        return self._shifted(shifts)

    def gated(self, candidates: Candidates, gates: Gates) -> jax.Array:
        """The loss with all candidates at their gates."""
        z, turn = self.read @ self.weights, gates.splits * (self.read @ candidates.turns)
        both = self._values(z + turn, self.bend) + self._values(z - turn, self.bend)
        more = jnp.where(self.units, 0.5 * both - self._values(z, self.bend), 0.0)
        values = gates.fresh * self._fresh(candidates.fresh.incoming)
        outgoing = candidates.fresh.outgoing
        return self._shifted({n: more @ k + values @ outgoing[n] for n, k in self.kernels.items()})

    def bounds(self) -> tuple[jax.Array, dict[str, jax.Array]]:
        """The mean length of the input weights of units in use, and of their output weights."""
        count = jnp.sum(self.units)
        into = jnp.sum(jnp.linalg.norm(self.weights, axis=0)) / count
        out = {n: jnp.sum(jnp.linalg.norm(k, axis=1)) / count for n, k in self.kernels.items()}
        return into, out

    def drawn(self, key: jax.Array, count: int) -> Candidates:
        """Candidates of random directions, as long as those in use on average."""
        into, out = self.bounds()
        of_turns, of_fresh, *keys = jax.random.split(key, 2 + len(out))
        rows, capacity = self.weights.shape

        def drawn(key: jax.Array, columns: int) -> jax.Array:
            normal = jax.random.normal(key, (rows, columns), self.read.dtype)
            return into * _unit(jnp.where(self.mask, normal, 0.0), 0)

        outgoing = {
            n: out[n] * _unit(self._columns(n, jax.random.normal(k, (count, w.shape[1]))), 1)
            for k, (n, w) in zip(keys, self.kernels.items(), strict=True)
        }
        return Candidates(drawn(of_turns, capacity), Units(drawn(of_fresh, count), outgoing))

    def _columns(self, name: str, weights: jax.Array) -> jax.Array:
        """Output weights, zero where what their map yields is not in use."""
        shape, _, used = self.network
        target = next(m.target.name for m, _ in reads(shape, self.at) if m.name == name)
        return jnp.where(jnp.asarray(used[target]), weights, 0.0)

    def optimised(self, candidates: Candidates, size: float, steps: int, rate: float) -> Candidates:
        """Candidates after some steps down the loss with all gates at `size`.

        Each unit's directions go by `rate` of their bound at first, falling linearly, along the
        gradient, and back into the ball of that radius (`bounds`).
        """
        into, out = self.bounds()
        gates = Gates(
            jnp.full(self.units.shape, size), jnp.full(candidates.fresh.incoming.shape[1], size)
        )

        def moved(w: jax.Array, g: jax.Array, bound: jax.Array, axis: int, by: jax.Array) -> Any:
            w = w - by * bound * _unit(g, axis)
            return w * jnp.minimum(1.0, bound / (_length(w, axis) + SMALLEST))

        def step(number: jax.Array, found: Candidates) -> Candidates:
            g = jax.grad(self.gated)(found, gates)
            by = rate * (1.0 - number / steps)
            turns = moved(found.turns, jnp.where(self.mask, g.turns, 0.0), into, 0, by)
            inner = jnp.where(self.mask, g.fresh.incoming, 0.0)
            incoming = moved(found.fresh.incoming, inner, into, 0, by)
            outgoing = {
                n: moved(w, self._columns(n, g.fresh.outgoing[n]), out[n], 1, by)
                for n, w in found.fresh.outgoing.items()
            }
            return Candidates(turns, Units(incoming, outgoing))

        found: Candidates = jax.lax.fori_loop(0, steps, step, candidates)
        return found

    def scores(self, candidates: Candidates, size: float) -> Gates:
        """What each candidate changes the loss by: `size` times the mean of dL/de on e's way there.

        All gates go from 0 to `size` together, and their sum over candidates is, up to the grid,
        the change of the loss by all of them.
        """

        def at(share: jax.Array) -> Gates:
            full = Gates(
                jnp.full(self.units.shape, share * size),
                jnp.full(candidates.fresh.incoming.shape[1], share * size),
            )
            gradient: Gates = jax.grad(self.gated, argnums=1)(candidates, full)
            return gradient

        each = jax.lax.map(at, (jnp.arange(GRID) + 0.5) / GRID)
        return Gates(*(size * jnp.mean(g, axis=0) for g in each))


def _length(w: jax.Array, axis: int) -> jax.Array:
    length: jax.Array = jnp.linalg.norm(w, axis=axis, keepdims=True)
    return length


def _unit(w: jax.Array, axis: int) -> jax.Array:
    return w / (_length(w, axis) + SMALLEST)
