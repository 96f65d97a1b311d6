"""A learning rate that waits for the end of growth, which no number of steps tells beforehand.

Kept in the optimizer's state, so that a step is told of the end without being compiled anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import jax
import numpy as np
import optax

NEVER = int(np.iinfo(np.int32).max)
"""The end of growth where it has not come."""

Schedule: TypeAlias = Callable[..., Any]
"""The learning rate of a step, given its number and, where it is known, when growth has ended."""


class Ending(NamedTuple):
    """Scalars from step to step.

    Attributes:
      count: steps taken.
      ended: the step at which growth has ended, or `NEVER`.
    """

    count: Any
    ended: Any


def scale_by_rate(schedule: Schedule) -> optax.GradientTransformation:
    """Optax's part that turns a direction into a step against it, by a rate that waits."""

    def init(params: Any) -> Ending:
        return Ending(np.int32(0), np.int32(NEVER))

    def update(updates: Any, state: Ending, params: Any = None) -> tuple[Any, Ending]:
        rate = schedule(state.count, state.ended)
        updates = jax.tree.map(lambda u: -rate * u, updates)
        return updates, state._replace(count=state.count + 1)

    return optax.GradientTransformation(init, update)
