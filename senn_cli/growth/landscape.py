"""The score of a new neuron as a function of where it bends and how sharply (figure 2).

A rational neuron with one input x computes sigma((x - location) / scale) for coefficients of its
own; its bias is -location / scale and its weight 1 / scale. At every location and scale the best
coefficients are taken, which have a closed form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from senn_cli.curvature.observe import input_rows, observe
from senn_cli.engine.arrays import Arrays, inputs, targets
from senn_cli.engine.metric import Metric
from senn_cli.engine.objective import Objective
from senn_cli.growth.objective import closed_form
from senn_cli.growth.target import prepare
from senn_cli.nets.features import Architecture
from senn_cli.nets.leaves import row_mask
from senn_cli.nets.registry import Parameters, used

POINTS = 81
"""Locations and scales in a landscape, each."""


def weights_at(location: Any, scale: Any) -> Any:
    """Input weights `(..., 2)`, the bias first, of neurons that bend at `location`."""
    location, scale = np.broadcast_arrays(location, scale)
    return np.stack([-location / scale, 1.0 / scale], axis=-1)


def place_of(weights: Any) -> Any:
    """Location and scale `(..., 2)` of neurons with input weights `(..., 2)`, the bias first."""
    bias, weight = weights[..., 0], weights[..., 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack([-bias / weight, 1.0 / np.abs(weight)], axis=-1)


def grid(x: Any) -> tuple[Any, Any]:
    """Locations `(POINTS,)` over the inputs `x` (N,) and a bit beyond, and scales, in log steps."""
    low, high = float(x.min()), float(x.max())
    span = max(high - low, 1e-6)
    location = np.linspace(low - 0.1 * span, high + 0.1 * span, POINTS, dtype=np.float32)
    return location, np.geomspace(span / 50, 2 * span, POINTS).astype(np.float32)


def make_landscape(
    objective: Objective, metric: Metric, *, damping_a: float, damping_s: float
) -> Callable[..., tuple[jax.Array, jax.Array]]:
    """The function `(shape, params, widths, data, rows, weights) -> Delta eta' / eta_c, eta_c`.

    `weights` (P, 2) are input weights of proposed neurons of hidden layer 0 of `shape`, each scored
    with its best coefficients on the examples `rows`; the first result is `(P,)`.
    """

    def landscape(
        shape: Architecture,
        params: Parameters,
        widths: jax.Array,
        data: Arrays,
        rows: jax.Array,
        weights: jax.Array,
    ) -> tuple[jax.Array, jax.Array]:
        x, y = inputs(data, rows), targets(data, rows)
        units = used(shape, widths)
        seen = observe(shape, params, units, x, y, objective, metric)
        first, m = shape.maps[:2]
        mask = row_mask(m, units)
        target = prepare(
            jnp.where(mask, input_rows(m, seen.reads[m.name]), 0.0),
            seen.told[m.name],
            seen.s[m.name],
            active_in=jnp.sum(mask),
            active_out=jnp.sum(units[m.target.name]),
            share_a=damping_a,
            share_s=damping_s,
        )
        activation, read = first.target.activation, input_rows(first, seen.reads[first.name])
        assert activation is not None
        _, lower = closed_form(activation, weights, read, target.residual)
        return lower / target.eta, target.eta

    return landscape
