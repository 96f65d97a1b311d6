"""Inverted dropout: of every example some hidden units are left out (Srivastava et al., 2014).

Steps of training alone know of it; what is evaluated, exported and looked at by growth is the
network with all of its units.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import Used
from senn_cli.randomness import purpose_number


def dropped(
    shape: Architecture, used: Used, rate: float, examples: int, key: jax.Array
) -> dict[str, jax.Array]:
    """What activations are multiplied by in one step, `(examples, units)` by the feature's name.

    With the probability `rate` a unit that is in use is 0, and else 1 / (1 - rate), so that the
    mean of what is read is that without dropout. Proposals that are not in use are left as they
    are: nothing reads them, and their scores would only be noisier. A unit's draws depend on its
    place alone, as one row is drawn for it, so that capacity is invisible here, too.

    Args:
      rate: 0 for none: then there are no factors.
      key: of this step, from which this has streams of its own.
    """
    if not rate:
        return {}
    factors = {}
    for feature in shape.features:
        if feature.role == "hidden":
            own = jax.random.fold_in(key, purpose_number(f"dropout {feature.name}"))
            stays = jax.random.bernoulli(own, 1 - rate, (feature.capacity, examples)).T
            factor = jnp.where(stays, 1 / (1 - rate), 0.0)
            factors[feature.name] = jnp.where(used[feature.name], factor, 1.0)
    return factors


def scaled(h: jax.Array, factors: jax.Array | None) -> jax.Array:
    """Activations `h` (N, units) or (N, H, W, units) times `factors` (N, units), if there are any.

    A channel is left out at all positions of an image: its neighbours would tell what is missing
    at one (Tompson et al., 2015).
    """
    if factors is None:
        return h
    return h * jnp.expand_dims(factors, tuple(range(1, h.ndim - 1))).astype(h.dtype)
