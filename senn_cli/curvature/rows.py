"""The natural gradient in the space of the examples' outputs, exactly.

With J (N m, P) the derivative of N examples' m outputs with respect to the parameters, H the metric
on the outputs and l the gradient of the losses on them,

    (J^T H J / N + lambda I)^-1 J^T l / N = J^T (H K + lambda N I)^-1 l,   K = J J^T,

a system of N m unknowns, however many parameters there are. l is bounded and H may be singular,
so that this form is solved, not the symmetric one, which would need H^-1/2 l. Of a dense map K is
the elementwise product of what the examples read, R R^T, and of how their outputs follow what it
yields, S S^T: J itself, which is large, never exists.

With momentum it is SPRING (Goldshlager, Abrahamsen and Lin, 2024): of the directions d that fit the
batch, the one near mu times the last direction p is sought, the minimum of
d^T F d / 2 - g^T d + lambda |d - mu p|^2 / 2, which is mu p + the above with l - mu H J p for l.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from senn_cli.curvature.observe import in_full, input_rows
from senn_cli.curvature.tracking import masks
from senn_cli.engine.metric import Metric, output_product, weighted
from senn_cli.nets.activation import rational_basis
from senn_cli.nets.features import Architecture, standing
from senn_cli.nets.registry import Shifts, Signals, Used

Pull = Callable[..., tuple[Any, Shifts]]


def kernel(shape: Architecture, signals: Signals, told: Shifts, units: Used) -> jax.Array:
    """K = J J^T over the parameters in use, `(N, m, N, m)`.

    Args:
      shape: of a network of dense maps.
      told: the derivatives of every output of every example, `(m, N, n)` of each signal.
    """
    found: Any = 0.0
    used = masks(shape, units)
    for m in standing(shape):
        rows, columns = used[m.name]
        read = jnp.where(rows, input_rows(m, in_full(signals.inputs[m.name])), 0.0)
        follows = jnp.where(columns, told.pre[m.name], 0.0)
        alike = jnp.einsum("kna,lpa->nkpl", follows, follows)
        found = found + (read @ read.T)[:, None, :, None] * alike
        if m.target.coefficients is not None:
            phi = rational_basis(in_full(signals.preactivations[m.name]))
            follows = jnp.where(columns, told.post[m.target.name], 0.0)
            both = phi[None] * follows[..., None]
            found = found + jnp.einsum("knaj,lpaj->nkpl", both, both)
    kernel: jax.Array = found
    return kernel


def derivatives(pull: Pull, outputs: jax.Array) -> Shifts:
    """How every output follows every signal, `(m, N, n)`: one pull-back an output, in turn."""
    count, m = outputs.shape
    unit = jnp.broadcast_to(jnp.eye(m, dtype=outputs.dtype)[:, None], (m, count, m))
    told: Shifts = jax.lax.map(lambda v: pull(v)[1], unit)
    return told


def solve(
    k: jax.Array,
    metric: Metric,
    outputs: jax.Array,
    told: jax.Array,
    damping: float | jax.Array,
    weights: jax.Array | None = None,
) -> jax.Array:
    """The z with J^T z the natural gradient, of the same shape as `told`.

    Args:
      k: of `kernel`.
      outputs: `(N, m)`.
      told: gradients of the examples' losses times their weights, `(c, N, m)`: c systems at once.
      weights: how much every example counts, `(N,)`.
    """
    count, m = outputs.shape
    size = count * m

    def times(column: jax.Array) -> jax.Array:
        return weighted(output_product(metric, outputs, column), weights)

    product = jax.vmap(times, in_axes=-1, out_axes=-1)(k.reshape(count, m, size))
    matrix = product.reshape(size, size) + count * damping * jnp.eye(size, dtype=k.dtype)
    found: jax.Array = jnp.linalg.solve(matrix, told.reshape(-1, size).T).T.reshape(told.shape)
    return found
