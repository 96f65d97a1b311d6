"""Gradients averaged over many steps: what scores are made of.

A score is quadratic in the gradient dW, so that noise in dW raises it, by G n_s / N for a feature
of G rows where dW is a mean over N examples. With two averages over different batches, one for
even and one for odd steps, each product pairs one with the other and has no such term in its
expectation; what remains is a standard error (`score.gain_error`).

Every row has an age in each of the two, as the factors of tracked.py have: a row that is new counts
its first batch in full.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp


class SlowGradient(NamedTuple):
    """Two averages of dW for every map by its name.

    Attributes:
      averages: `(2, n_a, n_s)`.
      ages: batches that every row has seen, int32 `(2, n_a)`.
    """

    averages: dict[str, jax.Array]
    ages: dict[str, jax.Array]


def initial(sizes: Mapping[str, tuple[int, int]]) -> SlowGradient:
    """Nothing seen yet, for maps of `sizes` (n_a, n_s)."""
    return SlowGradient(
        {name: jnp.zeros((2, n_a, n_s)) for name, (n_a, n_s) in sizes.items()},
        {name: jnp.zeros((2, n_a), jnp.int32) for name, (n_a, _) in sizes.items()},
    )


def seen(
    slow: SlowGradient,
    gradients: Mapping[str, jax.Array],
    turn: jax.Array,
    rate: float,
    rows: Mapping[str, jax.Array],
) -> SlowGradient:
    """The averages with one more batch in that of `turn`.

    Args:
      gradients: dW of the batch, `(n_a, n_s)`.
      turn: 0 or 1.
      rate: the weight of a batch in the long run.
      rows: which rows of dW the batch says something of, bool `(n_a,)`; the rest stay.
    """
    averages, ages = {}, {}
    for name, gradient in gradients.items():
        age = slow.ages[name][turn] + rows[name]
        weight = jnp.maximum(1.0 / jnp.maximum(age, 1), rate).astype(gradient.dtype)
        weight = jnp.where(rows[name], weight, 0.0)[:, None]
        old = slow.averages[name]
        averages[name] = old.at[turn].add(weight * (gradient - old[turn]))
        ages[name] = slow.ages[name].at[turn].set(age)
    return SlowGradient(averages, ages)
