"""Evaluation over a whole part of the data, in one dispatch."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from senn_cli.engine.arrays import Arrays, examples, inputs, targets
from senn_cli.engine.objective import Objective, figure, loss_and_gradient
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import Parameters, kind_of
from senn_cli.nets.registry import outputs as outputs_of


def make_evaluate(objective: Objective) -> Callable[..., tuple[jax.Array, jax.Array]]:
    """The function `(shape, params, widths, data) -> (mean loss, mean figure)`, to be compiled.

    The loss is of labels as they are, not smoothed. The figure is the accuracy, or the mean squared
    error in the units of `data.y`. Every example counts once: the last block is padded with
    examples of weight 0.
    """

    def evaluate(
        shape: Architecture, params: Parameters, widths: jax.Array, data: Arrays
    ) -> tuple[jax.Array, jax.Array]:
        n = examples(data)
        size = min(n, kind_of(shape).block)

        def block(index: jax.Array, totals: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, ...]:
            rows = index * size + jnp.arange(size)
            weight = (rows < n).astype(jnp.float32)
            rows = jnp.minimum(rows, n - 1)
            y = targets(data, rows)
            outputs = outputs_of(shape, params, inputs(data, rows), widths)
            losses, _ = loss_and_gradient(objective.plain, outputs, y)
            if objective.task == "regression":
                outputs = objective.predicted(outputs)
                outputs, y = outputs / data.target_scale, y / data.target_scale
            figures = figure(objective, outputs, y)
            return totals[0] + weight @ losses, totals[1] + weight @ figures

        zero = jnp.zeros((), jnp.float32)
        loss, value = jax.lax.fori_loop(0, -(-n // size), block, (zero, zero))
        return loss / n, value / n

    return evaluate
