"""The region in which a natural gradient's quadratic model of the loss is trusted.

The model of a step u is g^T u + u^T F u / 2 with F of the batch itself. It bounds how far a step
goes (`optimizer.kl_clip`); how well it foretold what a step did to the loss of its own batch moves
the damping, as Levenberg and Marquardt have it (Martens and Grosse, 2015, section 6.5), has stale
inverses made anew, and a step that would raise that loss tenfold is not taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from senn_cli.engine.trust import Trust, changed, found

JUDGED = 5
"""Steps from one comparison of the loss with the model to the next, where F is at hand."""

MEASURED = 10
"""Steps from one exact d^T F d to the next, where it takes a pass through the network."""

EARLY = 50
"""Steps at the start that all measure it. Below a head at zero maps have no curvature at first,
and what the first looks say is far from what the next steps meet: a carried network lost by them
what it had learnt."""

OMEGA = 19 / 20
"""What the damping is multiplied by for every step that the model foretold well."""

SMALLEST, LARGEST = 1e-8, 1e4
"""Between these a damping stays that adapts."""

GOOD, BAD = 0.75, 0.25
"""Reduction ratios above which the damping falls, and below which it rises."""

TENFOLD = 10.0
SHRINK = 0.25
"""What the length of a step is multiplied by for every step before it that was not taken."""

MOST_REFUSED = 20
"""Refused steps in a row after which training has diverged."""


LEAST = 0.1
"""The share of its linear term that a predicted fall must have to be compared with anything."""


class Judged(NamedTuple):
    """The loss of a step's batch behind it, and the predicted change; NaN where none counts."""

    after: jax.Array
    predicted: jax.Array


def foretold(linear: jax.Array, form: jax.Array) -> jax.Array:
    """The change of the loss by the model, g^T u + u^T F u / 2; NaN where its terms cancel.

    At a bound the step may go to where the model's fall is nothing, and a ratio to it says nothing.
    """
    change = linear + form / 2
    return jnp.where(change < LEAST * jnp.minimum(linear, 0), change, jnp.nan)


def trust_of(state: Any) -> Trust | None:
    """What the optimizer's state knows; None of a plain gradient."""
    trust: Trust | None = found(state, Trust)
    return trust


def row_of(state: Any, *, adapts: bool) -> dict[str, Any]:
    """What a row of metrics says of the region, as far as it is known.

    Args:
      state: the optimizer's, on the host.
      adapts: whether the damping does.
    """
    trust = trust_of(state)
    if trust is None:
        return {}
    row: dict[str, Any] = {"kl": float(trust.kl), "reduction_ratio": float(trust.ratio)}
    if trust.ratio == 0:
        del row["reduction_ratio"]
    if adapts:
        row["damping"] = float(trust.damping)
    return row | ({"refused_steps": int(trust.refused)} if trust.refused else {})


def velocity_of(state: Any) -> Any:
    """The last step's direction, which momentum repeats; None without momentum."""
    trace = found(state, optax.TraceState)
    return None if trace is None else trace.trace


def due(step: jax.Array, every: int) -> jax.Array:
    """Whether step number `step` is one of every so many."""
    return step % every == every - 1


def measures(step: jax.Array) -> jax.Array:
    """Whether step number `step` takes the exact d^T F d of its batch."""
    return (step < EARLY) | (step % MEASURED == 0)


def judged(
    loss: jax.Array,
    length: jax.Array,
    now: jax.Array,
    judge: Callable[[], Judged],
) -> Judged:
    """`judge()` where it is due, or a step is long; the loss as it was elsewhere.

    Args:
      loss: of the batch before the step.
      length: u^T F u. By the model, a step whose length is below the loss raises it by half at
        most: for a tenfold rise the model would have to be wrong by a factor of 18.
      now: whether it is due.
    """
    unknown = Judged(loss, jnp.full_like(loss, jnp.nan))
    seen: Judged = jax.lax.cond(now | (length > loss), judge, lambda: unknown)
    return seen


def is_refused(loss: jax.Array, after: jax.Array) -> jax.Array:
    """Whether a step is not taken. One to a loss that is not finite is: the next one faults."""
    return jnp.isfinite(after) & (after > TENFOLD * loss)


def is_far(ratio: jax.Array) -> jax.Array:
    """Whether a reduction ratio is so far from 1 that the curvature must be stale; not of NaN."""
    return (ratio < BAD) | (ratio > 1 / BAD)


def ratio_of(loss: jax.Array, seen: Judged) -> jax.Array:
    """The actual change of the loss over the predicted one; NaN where there is none."""
    return (seen.after - loss) / seen.predicted


def adapted(damping: jax.Array, ratio: jax.Array, refused: jax.Array) -> jax.Array:
    """The damping after a step with this reduction ratio; as it was where that is not known."""
    factor = OMEGA**JUDGED
    scale = jnp.where(ratio > GOOD, factor, jnp.where((ratio < BAD) | refused, 1 / factor, 1.0))
    return jnp.clip(damping * scale, SMALLEST, LARGEST)


def settled(state: Any, refused: jax.Array, **fields: jax.Array) -> Any:
    """An optimizer's state with new `fields` of its `Trust`; a refused step leaves no velocity."""

    def told(trust: Trust) -> Trust:
        new = {name: jnp.asarray(x, getattr(trust, name).dtype) for name, x in fields.items()}
        count = refused.astype(trust.refused.dtype)
        row = jnp.where(refused, trust.row + 1, 0).astype(trust.row.dtype)
        return trust._replace(**new, refused=trust.refused + count, row=row)

    def still(trace: optax.TraceState) -> optax.TraceState:
        return optax.TraceState(jax.tree.map(lambda v: jnp.where(refused, 0, v), trace.trace))

    return changed(changed(state, optax.TraceState, still), Trust, told)
