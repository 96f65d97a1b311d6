"""What edits gain by the whole Fisher matrix: the truth that the score's factors approximate.

The score has one map's F for S (x) A and leaves out what maps have to do with each other. Where a
sample has few examples and outputs, eta = g^T (F + lambda)^-1 g over all parameters is a system of
as many unknowns (`curvature.rows`). All is in double precision: where there are fewer parameters
than that K is singular, and what rounding makes of it weighs 1 / lambda. What an edit that keeps
the function gains by the quadratic model is then half the difference that it makes to eta.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from senn_cli.curvature import rows
from senn_cli.curvature.observe import silent
from senn_cli.engine.arrays import Arrays, inputs, targets
from senn_cli.engine.feed import Data, handed
from senn_cli.engine.metric import Metric, output_product
from senn_cli.engine.objective import Objective, loss_and_gradient
from senn_cli.engine.programs import Program
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import Parameters, Shifts, apply, used
from senn_cli.training.network import Network

LIMIT = 2048
"""Examples times outputs at most."""

SHARE = 1e-3
"""lambda as a share of F's mean eigenvalue, as scores damp their factors."""


class System(NamedTuple):
    """F in the space of a sample's outputs, n = N m of them.

    Attributes:
      kernel: K = J J^T, `(n, n)`; product: H K; told: gradients of the losses, `(n,)`.
    """

    kernel: Any
    product: Any
    told: Any


def make_system(objective: Objective, metric: Metric) -> Callable[..., System]:
    """The function `(shape, params, widths, data, rows) -> System`, for `jax.enable_x64`."""

    def system(
        shape: Architecture, params: Parameters, widths: jax.Array, data: Arrays, sample: jax.Array
    ) -> System:
        example = inputs(data, sample), targets(data, sample)
        (x, y), params = jax.tree.map(_doubled, (example, params))
        units = used(shape, widths)

        def run(shifts: Shifts) -> tuple[jax.Array, Any]:
            signals = apply(shape, params, x, units, shifts)
            return signals.outputs, signals

        outputs, pull, signals = jax.vjp(run, silent(shape, params, units, x), has_aux=True)
        follows = rows.derivatives(lambda v: (None, *pull(v)), outputs)
        kernel, size = rows.kernel(shape, signals, follows, units), outputs.size

        def times(column: jax.Array) -> jax.Array:
            return output_product(metric, outputs, column)

        product = jax.vmap(times, -1, -1)(kernel.reshape(*outputs.shape, size))
        told = loss_and_gradient(objective, outputs, y)[1]
        return System(kernel.reshape(size, size), product.reshape(size, size), told.reshape(-1))

    return system


def _doubled(x: jax.Array) -> jax.Array:
    return x.astype(jnp.float64) if jnp.issubdtype(x.dtype, jnp.floating) else x


def eta(system: System, count: int, damping: float) -> float:
    """g^T (F + damping)^-1 g of N = `count` examples: l^T K z / N with (H K + damping N) z = l."""
    kernel, product, told = system
    z = np.linalg.solve(product + count * damping * np.eye(len(told)), told)
    return float(told @ kernel @ z) / count


def gain(
    program: Program, data: Data, sample: np.ndarray, before: Network, after: Network
) -> float:
    """Half of what the way from `before` to `after` adds to eta on the examples `sample`.

    Args:
      program: of `make_system`.
      after: a network with the function of `before`; both are damped alike.
    """
    arrays, numbers = handed(data, sample)
    count = len(sample)
    with jax.enable_x64(True):
        one, two = (
            jax.device_get(
                program(n.architecture.shape(), n.state.params, n.widths, arrays, numbers)
            )
            for n in (before, after)
        )
    mean = float(np.trace(one.product)) / count / before.architecture.parameters
    return (eta(two, count, SHARE * mean) - eta(one, count, SHARE * mean)) / 2
