"""What a natural gradient knows of how far its quadratic model of the loss can be trusted.

Kept in the optimizer's state, so that checkpoints have it and edits leave it as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax


class Trust(NamedTuple):
    """Scalars from step to step.

    Attributes:
      damping: lambda of F + lambda I.
      kl: of the last step, d^T F d / 2 of what it moved along the natural gradient.
      ratio: the last actual change of a batch's loss over the predicted one; 0 before one is known.
      stretch: the exact d^T F d over what stands for it between the steps that know it.
      refused: steps that were not taken; row: how many of them just now, one after the other.
    """

    damping: Any
    kl: Any
    ratio: Any
    stretch: Any
    refused: Any
    row: Any


def hold_trust(damping: float) -> optax.GradientTransformation:
    """Optax's part that does nothing but keep a `Trust`; a step writes into it."""

    def init(params: Any) -> Trust:
        none = np.float32(0)
        start = (np.float32(damping), none, none, np.float32(1))
        return Trust(*start, np.int32(0), np.int32(0))

    return optax.GradientTransformation(init, _same)


def remember() -> optax.GradientTransformation:
    """Optax's part that keeps what it was given last: the velocity of a momentum."""

    def init(params: Any) -> optax.TraceState:
        return optax.TraceState(jax.tree.map(jnp.zeros_like, params))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, optax.TraceState]:
        return updates, optax.TraceState(updates)

    return optax.GradientTransformation(init, update)


def _same(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
    return updates, state


def found(state: Any, kind: type) -> Any:
    """The part of an optimizer's state that is of one class; None where there is none."""
    parts = (s for s in jax.tree.leaves(state, is_leaf=_is(kind)) if isinstance(s, kind))
    return next(parts, None)


def changed(state: Any, kind: type, function: Callable[[Any], Any]) -> Any:
    """An optimizer's state with `function` of the parts of one class in their place."""

    def change(part: Any) -> Any:
        return function(part) if isinstance(part, kind) else part

    return jax.tree.map(change, state, is_leaf=_is(kind))


def _is(kind: type) -> Callable[[Any], bool]:
    return lambda node: isinstance(node, kind)
