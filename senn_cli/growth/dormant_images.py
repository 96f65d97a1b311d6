"""Scores of everything in a DenseNet that is not in use, or that is, from tracked curvature.

A channel is read by several maps. What it would add to the score, and what its removal costs, is
the sum over them: the curvature is block-diagonal over maps (appendix "Hyperparameters").
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from senn_cli.curvature.tracking import Tracked, Tracking
from senn_cli.growth import moments, score
from senn_cli.nets.densenet import DenseArchitecture
from senn_cli.nets.features import joined, standing
from senn_cli.nets.registry import used


class ImageScores(NamedTuple):
    """What growth is decided by; tuples have an entry for every hidden layer.

    Attributes:
      etas: eta of every map by its name; its sum is what thresholds are relative to.
      gains: Theorem 2's lower bound for every channel, 0 for those in use, `(capacity,)`.
      errors: the standard error of such a gain by the noise of gradients, `(capacity,)`.
      buds, bud_errors: the same for the channels of the bud before the layer, `(bud,)`.
      costs: of removing every channel, 0 for those not in use, `(capacity,)`.
      changes: the predicted change of the loss by its removal, `(capacity,)`.
    """

    etas: dict[str, Any]
    gains: tuple[Any, ...]
    errors: tuple[Any, ...]
    buds: tuple[Any, ...]
    bud_errors: tuple[Any, ...]
    costs: tuple[Any, ...]
    changes: tuple[Any, ...]


def image_scores(
    shape: DenseArchitecture, tracking: Tracking, state: Tracked, params: Any, widths: jax.Array
) -> ImageScores:
    """All scores of the network of `shape`.

    Gradients are the averages of even and of odd steps, one for each factor of a product, so that
    their noise adds nothing in expectation (score.py).
    """
    assert state.slow is not None and tracking.slow is not None
    units = used(shape, widths)
    layers = range(len(shape.hidden))
    zeros = [jnp.zeros(h.capacity) for h in shape.hidden]
    none = [jnp.zeros(shape.bud) for _ in layers]
    gains, variances, costs, changes = list(zeros), list(zeros), list(zeros), list(zeros)
    buds, bud_variances = list(none), list(none)
    etas = {}
    for wire in standing(shape):
        pair = state.factors.maps[wire.name]
        first, other = state.slow.averages[wire.name]
        view = moments.of_tracked(tracking.settings, pair, first)
        etas[wire.name] = score.eta(view, other)
        groups = jnp.asarray(np.concatenate([wire.groups(source) for source in wire.sources]))
        # What only one of the two averages has seen has no product of two yet.
        seen = jnp.min(state.slow.ages[wire.name], axis=0)[groups[:, 0]] > 0
        gain = jnp.where(seen, score.gains(view, groups, other).lower, 0.0)
        kernel = joined(wire, params[wire.name])
        removal = score.removals(view, kernel, groups, other)
        outputs = jnp.sum(jnp.asarray(units[wire.target.name]))
        variance = score.gain_error(view, groups, other, outputs) ** 2
        start = 0
        for source in wire.sources:
            here = slice(start, start + source.feature.capacity)
            start += source.feature.capacity
            if source.feature.role == "data":
                continue
            if source.feature.role == "bud":
                buds[source.feature.index] += gain[here]
                bud_variances[source.feature.index] += variance[here]
                continue
            gains[source.feature.index] += gain[here]
            variances[source.feature.index] += variance[here]
            costs[source.feature.index] += removal.cost[here]
            changes[source.feature.index] += removal.change[here]
    return ImageScores(
        etas=etas,
        gains=tuple(gains),
        errors=tuple(map(jnp.sqrt, variances)),
        buds=tuple(buds),
        bud_errors=tuple(map(jnp.sqrt, bud_variances)),
        costs=tuple(costs),
        changes=tuple(changes),
    )
