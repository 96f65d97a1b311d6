"""The paper's natural gradient: Fisher-vector products and conjugate gradients (section 3.4).

It is the step of equation 1 with F for H, solved as in appendix B.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.sparse.linalg import cg

from senn_cli.engine.metric import Metric, output_product, weighted

Tree = Any


def fisher_product(
    outputs: Callable[[Tree], jax.Array],
    params: Tree,
    metric: Metric,
    weights: jax.Array | None = None,
) -> Callable[[Tree], Tree]:
    """The map v -> F v with F = E[J^T H J], without any matrix of the size of the parameters.

    Args:
      outputs: parameters -> network outputs `(N, m)`.
      params: where J is taken.
      metric: the metric H on the outputs.
    """
    y, forward = jax.linearize(outputs, params)
    backward = jax.linear_transpose(forward, params)

    def product(v: Tree) -> Tree:
        (result,) = backward(weighted(output_product(metric, y, forward(v)), weights) / y.shape[0])
        return result

    return product


def natural_gradient(
    product: Callable[[Tree], Tree],
    gradient: Tree,
    *,
    damping: float | jax.Array,
    iterations: int,
    tolerance: float,
) -> Tree:
    """(F + damping I)^-1 g by conjugate gradients from zero.

    Stops when the residual's norm falls below `tolerance` (relative to g) or after `iterations`.
    The system is solved for g scaled to a largest entry of 1: the squared norms within would
    underflow for the small gradients of a nearly saturated classifier.
    """
    largest = jnp.max(jnp.stack([jnp.max(jnp.abs(x)) for x in jax.tree.leaves(gradient)]))
    scale = jnp.where(largest > 0, largest, 1.0)
    # Below the precision of the numbers there is only 0/0.
    tolerance = max(tolerance, float(np.finfo(largest.dtype).eps))

    def damped(v: Tree) -> Tree:
        return jax.tree.map(lambda f, x: f + damping * x, product(v), v)

    scaled = jax.tree.map(lambda x: x / scale, gradient)
    solution, _ = cg(damped, scaled, tol=tolerance, maxiter=iterations)
    return jax.tree.map(lambda x: x * scale, solution)


def inner(a: Tree, b: Tree) -> jax.Array:
    """The inner product of two trees of equal shapes, a scalar."""
    return sum(jax.tree.leaves(jax.tree.map(jnp.vdot, a, b)), start=jnp.zeros(()))
