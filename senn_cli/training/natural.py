"""The natural gradient of a step: the direction that a solver makes of a gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from senn_cli.curvature import fisher, rows
from senn_cli.curvature.kronecker import Spectrum
from senn_cli.curvature.tracking import Tracked, preconditioned, stepped
from senn_cli.engine.metric import output_product, sample_output_gradient, weighted
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import Parameters, Shifts, apply
from senn_cli.training.optimizer import CgSettings, Optimizer, RowsSettings
from senn_cli.training.passes import Batch, Line


class Solved(NamedTuple):
    """What a solver makes of a batch.

    Attributes:
      direction: the natural gradient.
      curvature: with this batch.
      before: what momentum repeats a share of; None without it.
    """

    direction: Parameters
    curvature: Tracked | None
    before: Parameters | None


Masked = Callable[[Any], Any]
"""A tree of the parameters' shape with zeros where nothing is trained."""


def solved(
    shape: Architecture,
    optimizer: Optimizer,
    batch: Batch,
    line: Line | None,
    params: Parameters,
    curvature: Tracked | None,
    gradient: Parameters,
    *,
    key: jax.Array,
    in_use: Masked,
    input_factor: Spectrum | None,
    damping: jax.Array | None,
    before: Parameters | None,
) -> Solved:
    """(F + damping I)^-1 g as the optimizer's solver has it.

    Args:
      before: the last direction, where there is momentum.
      line: the batch to first order; None where the curvature is looked at beside the steps.
      params: with those of buds.
      damping: where it adapts; None where it is what the settings say.
    """
    if isinstance(optimizer.solver, CgSettings):
        settings = optimizer.solver
        product = fisher.fisher_product(
            lambda p: apply(shape, p, batch.x, batch.units, Shifts({}, {}, batch.factors)).outputs,
            params,
            optimizer.metric,
            batch.weights,
        )
        direction = fisher.natural_gradient(
            lambda v: in_use(product(v)),
            gradient,
            damping=settings.damping if damping is None else damping,
            iterations=settings.iterations,
            tolerance=settings.tolerance,
        )
        return Solved(direction, curvature, before)
    if isinstance(optimizer.solver, RowsSettings):
        assert line is not None
        level = optimizer.solver.damping if damping is None else damping
        direction, before = _by_rows(batch, line, level, before)
        return Solved(direction, curvature, before)
    assert curvature is not None and optimizer.tracking is not None
    if line is not None:
        # Only what reaches the signals is used of this pull-back: no per-example gradients of
        # weights ever exist.
        roots = None if batch.weights is None else jnp.sqrt(batch.weights)
        covectors = sample_output_gradient(optimizer.metric, line.outputs, key)
        _, sampled = line.pull(weighted(covectors, roots))
        curvature = stepped(
            batch.shape,
            optimizer.tracking,
            curvature,
            line.signals,
            sampled,
            batch.units,
            input_factor,
            batch.weights,
            damping,
        )
    direction = preconditioned(shape, optimizer.tracking, curvature, gradient, damping)
    return Solved(direction, curvature, before)


def _by_rows(
    batch: Batch, line: Line, damping: float | jax.Array, before: Parameters | None
) -> tuple[Parameters, Parameters | None]:
    """The exact direction, and of the last one p what SPRING repeats: p - (F + damping I)^-1 F p.

    That is what p has in directions that this batch says nothing of.
    """
    metric = batch.optimizer.metric
    told = [line.told]
    if before is not None:
        moved = output_product(metric, line.outputs, line.moved(before))
        told.append(weighted(moved, batch.weights))
    follows = rows.derivatives(line.pull, line.outputs)
    k = rows.kernel(batch.shape, line.signals, follows, batch.units)
    found = rows.solve(k, metric, line.outputs, jnp.stack(told), damping, batch.weights)
    direction, _ = line.pull(found[0])
    if before is None:
        return direction, None
    again, _ = line.pull(found[1])
    return direction, jax.tree.map(lambda p, d: p - d, before, again)
