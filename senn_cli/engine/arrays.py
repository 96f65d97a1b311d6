"""A data part on the device, and how its rows become network inputs and targets."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from senn_cli.data.augment import augment
from senn_cli.data.dataset import Dataset, Part
from senn_cli.data.normalize import scaled as scaled_on_the_host
from senn_cli.spec.augment import StepSpec


class Arrays(NamedTuple):
    """A part of the data on the device, as stored (images stay uint8) unless that is float64.

    Attributes:
      x: `(N, ...)`; y: labels `(N,)` int32 or targets `(N, m)` float32.
      shift, scale: network input = (x - shift) * scale, flattened.
      target_shift, target_scale: network target = (y - target_shift) * target_scale.
      weights: how much every example counts in training, float32 `(N,)` with the mean 1; None where
        all count alike.
    """

    x: jax.Array
    y: jax.Array
    shift: jax.Array
    scale: jax.Array
    target_shift: jax.Array
    target_scale: jax.Array
    weights: jax.Array | None = None


def on_device(dataset: Dataset, part: Part) -> Arrays:
    """`part` of `dataset` on the default device.

    Numbers of float64 are centred here: those far from 0 would lose all their digits in float32.
    Inputs are scaled, too; targets are counted in `dataset.unit`.
    """
    x, shift, scale = part.x, dataset.shift, dataset.scale
    if x.dtype == np.float64:
        x = scaled_on_the_host(x, shift, scale)
        shift, scale = np.zeros_like(shift), np.ones_like(scale)
    y, target_shift, target_scale = part.y, dataset.target_shift, dataset.target_scale
    if y.dtype == np.float64:
        y = ((y - target_shift) / dataset.unit).astype(np.float32)
        target_shift, target_scale = np.zeros_like(target_shift), target_scale * dataset.unit
    scaling = (shift, scale, target_shift, target_scale, part.weights)
    single = (None if value is None else np.asarray(value, np.float32) for value in scaling)
    return Arrays(*jax.device_put((x, y, *single)))


def inputs(arrays: Arrays, rows: jax.Array | None = None) -> jax.Array:
    """The network inputs `(B, inputs)` of `rows` (B,), or of all; called inside `jit`."""
    return scaled(arrays, arrays.x if rows is None else arrays.x[rows])


def scaled(arrays: Arrays, x: jax.Array) -> jax.Array:
    """The network inputs `(B, inputs)` of examples `(B, ...)` as they are stored, or augmented."""
    x = (x.astype(jnp.float32) - arrays.shift) * arrays.scale
    return x.reshape(x.shape[0], -1)


def targets(arrays: Arrays, rows: jax.Array | None = None) -> jax.Array:
    """The labels or scaled targets of `rows`, or of all."""
    y = arrays.y if rows is None else arrays.y[rows]
    if jnp.issubdtype(y.dtype, jnp.integer):
        return y
    return (y - arrays.target_shift) * arrays.target_scale


def batch(
    arrays: Arrays, rows: jax.Array, augmentation: tuple[StepSpec, ...], key: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Network inputs and targets of `rows`, the images changed by `augmentation` as `key` says."""
    x = inputs(arrays, rows)
    if augmentation:
        x = scaled(arrays, augment(augmentation, arrays.x[rows], key))
    return x, targets(arrays, rows)


def weights_of(arrays: Arrays, rows: jax.Array) -> jax.Array | None:
    """How much `rows` count, `(B,)`; None where all count alike."""
    return None if arrays.weights is None else arrays.weights[rows]


def drawn_rows(arrays: Arrays, count: int, key: jax.Array) -> jax.Array:
    """`count` rows drawn with replacement, each as often as it counts: their plain mean is that of
    the weighted examples."""
    if arrays.weights is None:
        return jax.random.randint(key, (count,), 0, examples(arrays))
    edges = jnp.cumsum(arrays.weights)
    places = jax.random.uniform(key, (count,)) * edges[-1]
    return jnp.minimum(jnp.searchsorted(edges, places, side="right"), examples(arrays) - 1)


def examples(arrays: Arrays) -> int:
    """How many examples there are."""
    return int(arrays.x.shape[0])


def first_rows(arrays: Arrays, count: int) -> Arrays:
    """The first `count` examples, or all where there are fewer."""
    weights = None if arrays.weights is None else arrays.weights[:count]
    return arrays._replace(x=arrays.x[:count], y=arrays.y[:count], weights=weights)
