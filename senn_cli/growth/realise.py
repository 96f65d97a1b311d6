"""The gain of new units at once: their output weights by one step, as long as the loss likes it.

With a_p what the new units read and g the gradients of the map that will read them, the natural
gradient of their output weights alone, where all else stays, is by the score's own factors

    V = -A_pp^-1 E[a_p g^T] S^-1,

A_pp damped by a share of each unit's own power as in Delta eta. V is what the quadratic model likes
best; the sizes s V are tried on the sample itself, 0 among them, so that its loss never rises.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve

from senn_cli.engine.arrays import Arrays, inputs, targets
from senn_cli.engine.objective import Objective, loss_and_gradient
from senn_cli.growth.edits import AddUnits
from senn_cli.growth.policy import Decision
from senn_cli.growth.target import Target
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import Parameters, Shifts, apply, used

SIZES = np.concatenate([[0.0], 2.0 ** np.arange(-10, 9)]).astype(np.float32)
"""Sizes that a line search tries."""


class Realised(NamedTuple):
    """What output weights do.

    Attributes:
      weights: of the map's rows, zero but for new units, `(rows, m)`.
      losses: the mean loss with the first i new units at these weights, `(rows + 1,)`; the first
        is that without them.
    """

    weights: Any
    losses: Any


def best_size(losses: jax.Array) -> jax.Array:
    """The number of the lowest loss; one that is not finite is none."""
    return jnp.argmin(jnp.where(jnp.isfinite(losses), losses, jnp.inf))


def closed_form(target: Target, g: jax.Array, new: jax.Array) -> jax.Array:
    """V, `(rows, m)`; zero of rows that are not new.

    Args:
      target: the map that reads the units, with their activations among the columns of its `a`.
      g: gradients of the loss with respect to what it yields, per example, `(N, m)`.
      new: the columns of new units, bool `(rows,)`.
    """
    a_p, n = jnp.where(new, target.a, 0.0), len(g)
    power = a_p.T @ a_p / n
    own = jnp.diag(power)
    live = new & (own > 0)  # a unit that is silent on the sample gets nothing
    factor = jnp.linalg.cholesky(power + jnp.diag(jnp.where(live, target.share * own, 1.0)))
    step = cho_solve((factor, True), a_p.T @ g / n)
    return -cho_solve((target.s_factor, True), step.T).T


def realise(
    objective: Objective,
    shape: Architecture,
    at: str,
    params: Parameters,
    widths: jax.Array,
    data: Arrays,
    rows: jax.Array,
    target: Target,
    g: jax.Array,
    first: jax.Array,
    count: jax.Array,
) -> Realised:
    """Output weights of `count` units whose columns of what map `at` reads begin at `first`.

    Args:
      shape, params, widths: the network without them; data, rows: the sample.
    """
    x, y, columns = inputs(data, rows), targets(data, rows), jnp.arange(target.a.shape[1])
    weights = closed_form(target, g, (columns >= first) & (columns < first + count))

    def loss(weights: jax.Array) -> jax.Array:
        shifts = Shifts({at: target.a @ weights})
        outputs = apply(shape, params, x, used(shape, widths), shifts).outputs
        return jnp.mean(loss_and_gradient(objective, outputs, y)[0])

    sizes = jnp.asarray(SIZES)
    weights = sizes[best_size(jax.lax.map(lambda s: loss(s * weights), sizes))] * weights

    def with_one_more(i: jax.Array, losses: jax.Array) -> jax.Array:
        return losses.at[i].set(loss(jnp.where(columns[:, None] < first + i, weights, 0.0)))

    losses = jnp.zeros(1 + len(columns), x.dtype)
    return Realised(weights, jax.lax.fori_loop(0, count + 1, with_one_more, losses))


def declared(decisions: list[Decision], at: str, found: Realised, first: int) -> list[Decision]:
    """The decisions, of which additions are read by map `at` as `found` says.

    Each tells what it changes the loss by. Where no size lowers the loss all stay as they are.

    Args:
      first: the row of the first new unit.
    """
    if not np.any(found.weights):
        return decisions
    result, number = list[Decision](), 0
    for decision in decisions:
        before = float(found.losses[number])
        if isinstance(decision.edit, AddUnits):
            after, row = float(found.losses[number + 1]), first + number
            outgoing: Mapping[str, np.ndarray] = {at: found.weights[None, row : row + 1]}
            told = (
                f"{decision.reason}; its output weights at once change the loss of the deciding "
                f"sample from {before:.4g} to {after:.4g}"
            )
            decision = replace(
                decision,
                edit=replace(decision.edit, outgoing=outgoing),
                reason=told,
                change=after - before,
                keeps=False,
            )
            number += 1
        result.append(replace(decision, loss=before))
    return result
