"""A data part on the devices, and how its rows become network inputs and targets."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from senn_cli.data.augment import augment
from senn_cli.data.dataset import Dataset, Part
from senn_cli.data.normalize import scaled as scaled_on_the_host
from senn_cli.engine.mesh import ONE, Placement, by_rows
from senn_cli.spec.augment import StepSpec


class Arrays(NamedTuple):
    """A part of the data on the devices, as stored (images stay uint8) unless that is float64.

    Attributes:
      x: `(N, ...)`; by rows on several devices where it is too large for each of them, and then
        with rows of zeros behind the last, which nothing reads.
      y: labels `(N,)` int32 or targets `(N, m)` float32, whole on every device.
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


def on_device(dataset: Dataset, part: Part, place: Placement = ONE) -> Arrays:
    """`part` of `dataset` on the devices of `place`, which says whether each has all of it.

    Numbers of float64 are centred here: those far from 0 would lose all their digits in float32.
    Inputs are scaled, too; targets are counted in `dataset.unit`.
    """
    x, shift, scale = np.asarray(part.x), dataset.shift, dataset.scale
    if x.dtype == np.float64:
        x = scaled_on_the_host(x, shift, scale)
        shift, scale = np.zeros_like(shift), np.ones_like(scale)
    y, target_shift, target_scale = part.y, dataset.target_shift, dataset.target_scale
    if y.dtype == np.float64:
        y = ((y - target_shift) / dataset.unit).astype(np.float32)
        target_shift, target_scale = np.zeros_like(target_shift), target_scale * dataset.unit
    scaling = (shift, scale, target_shift, target_scale, part.weights)
    single = (None if value is None else np.asarray(value, np.float32) for value in scaling)
    if place.divides(x.nbytes):
        return Arrays(place.rows(x), *place.replicated((y, *single)))
    return Arrays(*place.replicated((x, y, *single)))


def inputs(arrays: Arrays, rows: jax.Array | None = None) -> jax.Array:
    """The network inputs `(B, inputs)` of `rows` (B,), or of all; called inside `jit`."""
    return scaled(arrays, arrays.x[: examples(arrays)] if rows is None else _taken(arrays.x, rows))


def scaled(arrays: Arrays, x: jax.Array) -> jax.Array:
    """The network inputs `(B, inputs)` of examples `(B, ...)` as they are stored, or augmented."""
    x = (x.astype(jnp.float32) - arrays.shift) * arrays.scale
    return x.reshape(x.shape[0], -1)


def targets(arrays: Arrays, rows: jax.Array | None = None) -> jax.Array:
    """The labels or scaled targets of `rows`, or of all."""
    y = arrays.y if rows is None else _taken(arrays.y, rows)
    if jnp.issubdtype(y.dtype, jnp.integer):
        return y
    return (y - arrays.target_shift) * arrays.target_scale


def batch(
    arrays: Arrays, rows: jax.Array, augmentation: tuple[StepSpec, ...], key: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Network inputs and targets of `rows`, the images changed by `augmentation` as `key` says."""
    x = inputs(arrays, rows)
    if augmentation:
        x = scaled(arrays, augment(augmentation, _taken(arrays.x, rows), key))
    return x, targets(arrays, rows)


def weights_of(arrays: Arrays, rows: jax.Array) -> jax.Array | None:
    """How much `rows` count, `(B,)`; None where all count alike."""
    return None if arrays.weights is None else _taken(arrays.weights, rows)


def _taken(array: jax.Array, rows: jax.Array) -> jax.Array:
    """Some rows of an array of all examples, divided over the devices."""
    return by_rows(array[rows])


def drawn_rows(n: int, weights: jax.Array | None, count: int, key: jax.Array) -> jax.Array:
    """`count` of n rows drawn with replacement, each as often as it counts: their plain mean is
    that of the weighted examples."""
    if weights is None:
        return jax.random.randint(key, (count,), 0, n)
    edges = jnp.cumsum(weights)
    places = jax.random.uniform(key, (count,)) * edges[-1]
    return jnp.minimum(jnp.searchsorted(edges, places, side="right"), n - 1)


class Counted(Protocol):
    """Whatever has the targets of a part."""

    @property
    def y(self) -> Any:
        """One an example."""


def examples(data: Counted) -> int:
    """How many examples there are."""
    return int(data.y.shape[0])
