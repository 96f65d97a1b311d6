"""How units of a network fare: whether gradients reach them, and whether they do anything.

Newborn units whose output weights are small get small gradients; the ratio to those of incumbent
units tells whether they are starved. At the moment of the addition output weights are zero, so that
this is asked some steps later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from senn_cli.engine.arrays import Arrays, inputs, targets
from senn_cli.engine.objective import Objective, loss_and_gradient
from senn_cli.growth.newborn import Units
from senn_cli.nets.features import Architecture, Map, Source, readers, standing, used_units
from senn_cli.nets.leaves import joined
from senn_cli.nets.registry import Parameters, Signals, apply, used

SILENT = 1e-3
"""A unit is inactive whose output's standard deviation, or the norm of whose output weights, is at
most this share of the largest in its layer."""


class Vitals(NamedTuple):
    """Of every unit allocated of one hidden feature, `(capacity,)` each.

    Attributes:
      gradient: the norm of the mean loss's gradient with respect to its input weights and bias.
      deviation: the standard deviation of what the first map that reads it reads of it.
      outgoing: the norm of its output weights, over all maps in use that read it.
    """

    gradient: jax.Array
    deviation: jax.Array
    outgoing: jax.Array


def make_vitals(objective: Objective) -> Callable[..., dict[str, Vitals]]:
    """The function `(shape, params, widths, data) -> vitals` by feature, to be compiled."""

    def vitals(
        shape: Architecture, params: Parameters, widths: jax.Array, data: Arrays
    ) -> dict[str, Vitals]:
        units, x, y = used(shape, widths), inputs(data), targets(data)

        def loss(params: Parameters) -> tuple[jax.Array, Signals]:
            signals = apply(shape, params, x, units)
            return jnp.mean(loss_and_gradient(objective.plain, signals.outputs, y)[0]), signals

        gradients, signals = jax.grad(loss, has_aux=True)(params)
        found = {}
        for m in standing(shape):
            if m.target.role != "hidden":
                continue
            reading = [(r, s) for r, s in readers(shape, m.target.name) if r.target.role != "bud"]
            outgoing = [
                jnp.sum(jnp.where(units[r.target.name], joined(r, params[r.name]), 0.0) ** 2, 1)[
                    r.groups(s)
                ].sum(1)
                for r, s in reading
            ]
            found[m.target.name] = Vitals(
                jnp.linalg.norm(joined(m, gradients[m.name]), axis=0),
                jnp.std(_read(signals, *reading[0]), axis=(0, 2)),
                jnp.sqrt(sum(outgoing[1:], outgoing[0])),
            )
        return found

    return vitals


def _read(signals: Signals, m: Map, source: Source) -> jax.Array:
    """What `m` reads of `source`, `(N * positions, units, size)`."""
    first = sum(s.rows for s in m.sources[: m.sources.index(source)])
    values = signals.inputs[m.name][..., first : first + source.rows]
    return values.reshape(-1, source.feature.capacity, source.size)


def inactive(found: Vitals, units: np.ndarray) -> np.ndarray:
    """Which units do nothing: bool `(capacity,)`, False of those that are not in `units`."""
    dead: np.ndarray = np.zeros(len(units), bool)
    for values in (found.deviation, found.outgoing):
        known = np.where(units, np.asarray(values), 0.0)
        dead |= units & (known <= SILENT * known.max(initial=0.0))
    return dead


def newborn_figures(
    architecture: Architecture, vitals: Mapping[str, Vitals], born: Units, others: Units
) -> dict[str, float]:
    """How the units `born` fare beside incumbents; nothing where none is left.

    Incumbents are the units in use of the same features that are not among `others`, the units born
    in the same round; where there are none, those of all hidden features.

    Returns:
      `units`, how many; `gradient_ratio`, the mean norm of their gradients by that of incumbents',
      missing where that is zero; `inactive` and `incumbents_inactive`, shares.
    """
    in_use = {name: units for name, units in used_units(architecture).items() if name in vitals}
    theirs = {name: units for name, units in born.items() if units.any()}
    if not theirs:
        return {}
    old = {name: units & ~others[name] for name, units in in_use.items()}
    beside = {name: units for name, units in old.items() if name in theirs and units.any()} or old
    dead = {name: inactive(vitals[name], units) for name, units in in_use.items()}

    def mean(values: Mapping[str, np.ndarray], units: Units) -> float | None:
        picked = [np.asarray(values[name])[chosen] for name, chosen in units.items()]
        flat = np.concatenate(picked) if picked else np.zeros(0)
        return float(flat.mean()) if flat.size else None

    gradients = {name: np.asarray(each.gradient) for name, each in vitals.items()}
    mine, usual = mean(gradients, theirs), mean(gradients, beside)
    result = {
        "units": float(sum(int(units.sum()) for units in theirs.values())),
        "gradient_ratio": None if mine is None or not usual else mine / usual,
        "inactive": mean(dead, theirs),
        "incumbents_inactive": mean(dead, beside),
    }
    return {name: value for name, value in result.items() if value is not None}
