"""A hidden layer that is to get units, as one sample sees it: what they would read and be told.

A unit reads x, which the map that yields the layer reads, the constant 1 included; whoever reads
the layer reads h and is told g, the gradient of the loss with respect to what it yields. For dense
maps alone, of which there may be several that read the layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from senn_cli.curvature.kronecker import SMALLEST
from senn_cli.curvature.observe import input_rows, observe
from senn_cli.engine.arrays import Arrays, inputs, targets
from senn_cli.engine.feed import handed
from senn_cli.engine.metric import Metric
from senn_cli.engine.objective import Objective
from senn_cli.engine.programs import Ledger, Program
from senn_cli.growth.moments import MapStatistics
from senn_cli.growth.policy import View
from senn_cli.growth.score import residual_gradient
from senn_cli.nets.activation import IDENTITY
from senn_cli.nets.features import (
    Architecture,
    Feature,
    Map,
    Source,
    readers,
    standing,
    used_units,
    writer,
)
from senn_cli.nets.leaves import joined, row_mask
from senn_cli.nets.registry import Parameters, used

DAMPING = 1e-3
"""Of second moments, as a share of their mean eigenvalue: enough for single precision."""


class Reading(NamedTuple):
    """Means over a sample, of one map that reads the layer; h before x.

    Attributes:
      moment: E[(h, x) (h, x)^T], `(rows + n, rows + n)`.
      gradient: E[(h, x) g^T], `(rows + n, m)`.
    """

    moment: Any
    gradient: Any


class Sight(NamedTuple):
    """A hidden layer in one sample.

    Attributes:
      own: A = E[x x^T], zero where rows are not in use, `(n, n)`.
      readings: by the name of the map.
      loss: the mean loss.
    """

    own: Any
    readings: dict[str, Reading]
    loss: Any

    def damped(self) -> np.ndarray:
        """A plus `DAMPING` of its mean eigenvalue over rows in use, `(n, n)`."""
        a = np.asarray(self.own, np.float64)
        rows = max(1, int(np.sum(np.diagonal(a) > 0)))
        damped: np.ndarray = a + (DAMPING * np.trace(a) / rows + SMALLEST) * np.eye(len(a))
        return damped

    def gradients(self) -> np.ndarray:
        """E[x g^T] of all maps that read the layer side by side, `(n, m)`."""
        n = len(self.own)
        return np.hstack([np.asarray(r.gradient, np.float64)[-n:] for r in self.readings.values()])

    def residuals(self, architecture: Architecture) -> np.ndarray:
        """N = E[x g_r^T] side by side: of g what no linear function of h accounts for, `(n, m)`."""
        units, n = used_units(architecture), len(self.own)
        found = []
        for m in standing(architecture):
            if m.name in self.readings:
                reading = self.readings[m.name]
                known = np.pad(row_mask(m, units), (0, n))
                found.append(residual_gradient(_statistics(reading, known))[-n:])
        return np.hstack(found)


def _statistics(reading: Reading, known: np.ndarray) -> MapStatistics:
    """The map with x as rows that are not in use, on the host in double precision."""
    a, gradient = (np.asarray(x, np.float64) for x in reading)
    kept = np.where(known[:, None] & known, a, 0.0)
    ridge = np.full(len(a), DAMPING * float(np.trace(kept)) / known.sum() + SMALLEST)
    blocked = np.where(known, ridge, 1.0)
    inverse = np.where(known[:, None] & known, np.linalg.inv(kept + np.diag(blocked)), 0.0)
    unit = np.eye(gradient.shape[1])
    return MapStatistics(a, inverse, ridge, ridge, unit, unit, gradient, known)


def reads(architecture: Architecture, at: str) -> tuple[tuple[Map, Source], ...]:
    """The maps in use that read layer `at`, each with the source by which it does."""
    return tuple((m, s) for m, s in readers(architecture, at) if m.target.role != "bud")


def parted(architecture: Architecture, at: str, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Output weights of k units, `(k, m)` over all maps that read layer `at`: map by map.

    `(k, 1, columns)` each, of a map's capacity.
    """
    found, first = {}, 0
    for m, _ in reads(architecture, at):
        found[m.name] = rows[:, None, first : first + m.columns].astype(np.float32)
        first += m.columns
    return found


def mean_norm(architecture: Architecture, at: str, params: Mapping[str, Any]) -> float:
    """The mean length of the output weights of the units in use of layer `at`."""
    width = next(f.width for f in architecture.features if f.name == at)
    kernels = [
        np.asarray(joined(m, params[m.name]), np.float64)[m.groups(source)[:width, 0]]
        for m, source in reads(architecture, at)
    ]
    return float(np.mean(np.linalg.norm(np.hstack(kernels), axis=1)))


def identities(feature: Feature, count: int) -> np.ndarray | None:
    """Coefficients `(3, count)` of rational units that are the identity; None for others."""
    if feature.coefficients is None:
        return None
    return np.tile(np.array(IDENTITY, np.float32)[:, None], (1, count))


class Sights:
    """The program that looks at layers of networks with one objective."""

    def __init__(self, ledger: Ledger, objective: Objective, metric: Metric) -> None:
        def look(
            shape: Architecture,
            at: str,
            params: Parameters,
            widths: jax.Array,
            data: Arrays,
            rows: jax.Array,
        ) -> Sight:
            x, y, units = inputs(data, rows), targets(data, rows), used(shape, widths)
            seen = observe(shape, params, units, x, y, objective, metric)

            def read(m: Map) -> jax.Array:
                mask = jnp.asarray(row_mask(m, units))
                return jnp.where(mask, input_rows(m, seen.reads[m.name]), 0.0)

            own, found = read(writer(shape, at)), {}
            for m, _ in reads(shape, at):
                both = jnp.concatenate([read(m), own], axis=1)
                told = jnp.where(jnp.asarray(units[m.target.name]), seen.told[m.name], 0.0)
                found[m.name] = Reading(both.T @ both / len(x), both.T @ told / len(x))
            return Sight(own.T @ own / len(x), found, seen.loss)

        self._look = Program("observe", look, ledger, static=(0, 1))

    def seen(self, view: View, at: str, rows: np.ndarray) -> Sight:
        """Layer `at` in the examples `rows`."""
        shape = view.architecture.shape()
        found = self._look(shape, at, view.params, view.widths, *handed(view.data, rows))
        sight: Sight = jax.device_get(found)
        return sight
