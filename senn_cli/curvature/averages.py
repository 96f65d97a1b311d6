"""Averages over batches whose rows are of different age.

Every row has an age, the batches that it has seen. An entry of a matrix is the mean over the k
batches that both of its rows have seen, a batch m updates ago with the weight decay^m: rows which
are new (padding, or a neuron initialised again) are unbiased from their first batch on and do not
look weak, which would overrate them.

Entries that are means over different batches need not be those of any second moment: the matrix may
be indefinite. `consistent` scales down what young rows have in common with old ones.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp


def average(
    old: jax.Array, new: jax.Array, rows: jax.Array, columns: jax.Array, decay: float
) -> jax.Array:
    """`old` and `new` (n, m) averaged, every entry by its own age.

    Args:
      old: the average so far.
      new: what the next batch says.
      rows, columns: ages with that batch counted, int `(n,)` and `(m,)`; an entry's is the lesser.
        At age 0, nothing has been seen, and the entry is what `new` says.
      decay: the largest weight of `old`.
    """
    # The weight grows with the age: that of the lesser age is the lesser weight.
    weights = (kept(jnp.maximum(ages, 1), decay) for ages in (rows, columns))
    of_rows, of_columns = (weight.astype(old.dtype) for weight in weights)
    keep = jnp.minimum(of_rows[:, None], of_columns[None, :])
    return (keep * old + (1.0 - keep) * new).astype(old.dtype)


def kept(age: jax.Array, decay: float) -> jax.Array:
    """The weight of the old average at batch number `age`: 0 at the first, `decay` in the end."""
    count = age.astype(float)  # of JAX's precision
    return decay * _weight(count - 1.0, decay) / _weight(count, decay)


def _weight(count: jax.Array, decay: float) -> jax.Array:
    """(1 - decay) times the sum of decay^m over `count` batches, precise for a decay near 1."""
    return -jnp.expm1(count * math.log(decay)) if decay > 0.0 else jnp.minimum(count, 1.0)


def consistent(moment: jax.Array, ages: jax.Array, decay: float) -> jax.Array:
    """`moment` with entries scaled so that it is positive semi-definite whatever the rows' ages.

    With W_i the weight of all batches that row i has seen, the sum over them of decay^m a a^T, each
    a without the rows not yet born, is W_min(i, j) times the moment, and positive semi-definite;
    so is that sum with rows and columns divided by sqrt(W_i): the moment times sqrt(W_min / W_max).
    The diagonal is as it was, and so is all of it once the rows are old.
    """
    root = jnp.sqrt(_weight(jnp.maximum(ages, 1).astype(float), decay)).astype(moment.dtype)
    ratio = root[:, None] / root[None, :]
    return moment * jnp.minimum(ratio, 1.0 / ratio)
