"""Evaluation over a whole part of the data, in one dispatch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from senn_cli.engine.arrays import Arrays, examples, inputs, targets
from senn_cli.engine.objective import Objective, figure, loss_and_gradient
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import Parameters, kind_of
from senn_cli.nets.registry import outputs as outputs_of

Totals = tuple[Any, Any]
"""The sums of losses and of figures over some examples."""


def make_evaluate(objective: Objective) -> Callable[..., tuple[jax.Array, jax.Array]]:
    """The function `(shape, params, widths, data) -> (mean loss, mean figure)`, to be compiled.

    The loss is of labels as they are, not smoothed. The figure is the accuracy, or the mean squared
    error in the units of `data.y`. Every example counts once: the last block is padded with
    examples of weight 0.
    """
    add = make_add(objective)

    def evaluate(
        shape: Architecture, params: Parameters, widths: jax.Array, data: Arrays
    ) -> tuple[jax.Array, jax.Array]:
        n, zero = examples(data), jnp.zeros((), jnp.float32)
        size = min(n, kind_of(shape).block)
        loss, value = add(shape, params, widths, data, size, n, (zero, zero))
        return loss / n, value / n

    return evaluate


def make_add(objective: Objective) -> Callable[..., Totals]:
    """The function `(shape, params, widths, data, size, count, totals) -> totals`.

    It adds the losses and figures of the first `count` examples, `size` at a time. So those of a
    part are the same bits whether they come from it in one go or from pieces of whole blocks.
    """

    def add(
        shape: Architecture,
        params: Parameters,
        widths: jax.Array,
        data: Arrays,
        size: int,
        count: Any,
        totals: Totals,
    ) -> Totals:
        def block(index: jax.Array, totals: Totals) -> Totals:
            rows = index * size + jnp.arange(size)
            weight = (rows < count).astype(jnp.float32)
            rows = jnp.minimum(rows, count - 1)
            y = targets(data, rows)
            outputs = outputs_of(shape, params, inputs(data, rows), widths)
            losses, _ = loss_and_gradient(objective.plain, outputs, y)
            if objective.task == "regression":
                outputs = objective.predicted(outputs)
                outputs, y = outputs / data.target_scale, y / data.target_scale
            figures = figure(objective, outputs, y)
            return totals[0] + weight @ losses, totals[1] + weight @ figures

        number = -(-examples(data) // size)
        if number == 1:  # on a CPU, a convolution within a loop is many times slower
            return block(jnp.int32(0), totals)
        found: Totals = jax.lax.fori_loop(0, number, block, totals)
        return found

    return add
