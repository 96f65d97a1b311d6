"""Scores of every unit that is not in use, or that is, from tracked curvature.

A unit is read by several maps. What it would add to the score, and what its removal costs, is
the sum over them: the curvature is block-diagonal over maps (appendix "Hyperparameters").
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from senn_cli.curvature.tracking import Tracked, Tracking
from senn_cli.growth import moments, score
from senn_cli.nets.features import Architecture, standing
from senn_cli.nets.leaves import joined
from senn_cli.nets.registry import used


class TrackedScores(NamedTuple):
    """What growth is decided by; all but the first two by the name of a hidden layer or a bud.

    Attributes:
      etas: eta of every map by its name; its sum is what thresholds are relative to.
      eta_errors: the standard error of each by the noise of gradients.
      gains: Theorem 2's lower bound for every unit, 0 for those in use, `(capacity,)`.
      errors: the standard error of such a gain by the noise of gradients, `(capacity,)`.
      costs: of removing every unit, 0 for those not in use, `(capacity,)`.
      changes: the predicted change of the loss by its removal, `(capacity,)`.
    """

    etas: dict[str, Any]
    eta_errors: dict[str, Any]
    gains: dict[str, Any]
    errors: dict[str, Any]
    costs: dict[str, Any]
    changes: dict[str, Any]


def tracked_scores(
    shape: Architecture, tracking: Tracking, state: Tracked, params: Any, widths: jax.Array
) -> TrackedScores:
    """All scores of the network of `shape`.

    Gradients are the averages of even and of odd steps, one for each factor of a product, so that
    their noise adds nothing in expectation (score.py).
    """
    assert state.slow is not None and tracking.slow is not None
    units = used(shape, widths)
    blank = {f.name: jnp.zeros(f.capacity) for f in shape.features if f.grows}
    gains, variances, costs, changes = dict(blank), dict(blank), dict(blank), dict(blank)
    etas, eta_errors = {}, {}
    for wire in standing(shape):
        pair = state.factors.maps[wire.name]
        first, other = state.slow.averages[wire.name]
        view = moments.of_tracked(tracking.settings, pair, first)
        etas[wire.name] = score.eta(view, other)
        eta_errors[wire.name] = score.eta_error(view, other)
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
            name = source.feature.name
            if not source.feature.grows:
                continue
            gains[name] += gain[here]
            variances[name] += variance[here]
            costs[name] += removal.cost[here]
            changes[name] += removal.change[here]
    errors = {name: jnp.sqrt(variance) for name, variance in variances.items()}
    return TrackedScores(etas, eta_errors, gains, errors, costs, changes)
