"""Augmentation on the device: the steps of `data.augment` as one pure function inside `jit`.

Flip, pad, rotate, scale and crop are affine maps of the image plane. Consecutive ones are composed
to a single map an image, and the image is resampled once: what a chain of resamplings would blur
several times is blurred once, and a border is never stored. Resampling is bilinear, with black
outside the image, by four gathers (64 images of 32x32x3 on two CPU cores: 0.26 ms; interpolation as
a product with matrices: 24 ms).
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from senn_cli.spec.augment import (
    ColorSpec,
    CropSpec,
    FlipSpec,
    PadSpec,
    RotateSpec,
    ScaleSpec,
    SomeSpec,
    StepSpec,
)

_WHITE = 255.0
_LUMA = (0.299, 0.587, 0.114)


@dataclass(frozen=True)
class Affine:
    """A map from places in the output to places in the input, one an image.

    Places are (row, column) in pixels, counted from the image's centre: `matrix @ place + shift`.

    Attributes:
      matrix: float32 `(N, 2, 2)`.
      shift: float32 `(N, 2)`.
    """

    matrix: jax.Array
    shift: jax.Array

    def then(self, later: Affine) -> Affine:
        """This map's image, changed by another map: places go through `later` first."""
        matrix = _product(self.matrix, later.matrix)
        return Affine(matrix, _applied(self.matrix, later.shift) + self.shift)


def augment(steps: tuple[StepSpec, ...], images: jax.Array, key: jax.Array) -> jax.Array:
    """Randomly changed copies of images, each with its own draws.

    The draws depend on `key`, a step's place in the list and an image's place in the batch alone:
    with a key of (seed, step), training that is resumed sees the same images.

    Args:
      steps: `data.augment` of a spec, checked when the spec was read; static under `jit`.
      images: `(N, H, W, C)` or `(N, H, W)`, uint8 or float, before normalisation; `color` takes
        values from 0 to 255 and one or three channels.
      key: a JAX random key.

    Returns:
      float32 of the same shape; values in the range of the input and 0, after `color` in 0 to 255.
    """
    if not steps:
        return images.astype(jnp.float32)
    shape = images.shape
    state = _State(images.astype(jnp.float32).reshape(*shape[:3], -1))
    everyone = jnp.ones(shape[0], bool)
    for place, step in enumerate(steps):
        own = jax.random.fold_in(key, place)
        if isinstance(step, SomeSpec):
            chosen = jax.random.uniform(own, shape[:1]) < step.share
            for inner, simple in enumerate(step.apply, start=1):
                state.apply(simple, chosen, jax.random.fold_in(own, inner))
        else:
            state.apply(step, everyone, own)
    return state.finished().reshape(shape)


class _State:
    """Images while the steps go over them: an affine map may still wait to be carried out."""

    def __init__(self, images: jax.Array) -> None:
        self.images = images
        self.pending: Affine | None = None
        self.room = (0, 0)

    def apply(self, step: StepSpec, chosen: jax.Array, key: jax.Array) -> None:
        """Applies one step to the images `chosen` (N,), each with its own draws."""
        height, width = self.images.shape[1:3]
        if isinstance(step, PadSpec):
            # The border is not made: it is the black outside, and room for a crop to move in.
            self.room = (round(step.to * height) - height, round(step.to * width) - width)
        elif isinstance(step, ColorSpec):
            self.images = _colored(self.finished(), step, chosen, key)
        else:
            step_map = _drawn(step, self.room, chosen, key)
            self.pending = step_map if self.pending is None else self.pending.then(step_map)
            if isinstance(step, CropSpec):
                self.room = (0, 0)

    def finished(self) -> jax.Array:
        """The images with no map left to carry out."""
        if self.pending is not None:
            self.images, self.pending = resample(self.images, self.pending), None
        return self.images


def _drawn(step: StepSpec, room: tuple[int, int], chosen: jax.Array, key: jax.Array) -> Affine:
    """The map of one geometric step, the identity for images that it does not happen to."""
    coin, draw = jax.random.split(key)
    count = chosen.shape[0]
    if isinstance(step, CropSpec):
        # The window's corner is uniform over all whole places; the image is in the middle.
        extent = jnp.asarray(room)
        corner = jax.random.randint(draw, (count, 2), 0, extent + 1)
        shift = (corner - extent // 2).astype(jnp.float32)
        return translation(jnp.where(chosen[:, None], shift, 0.0))
    assert isinstance(step, FlipSpec | RotateSpec | ScaleSpec)
    happens = chosen & (jax.random.uniform(coin, (count,)) < step.probability)
    if isinstance(step, FlipSpec):
        return flip(happens)
    if isinstance(step, RotateSpec):
        limit = jnp.deg2rad(step.degrees)
        angle = jax.random.uniform(draw, (count,), minval=-limit, maxval=limit)
        return rotation(jnp.where(happens, angle, 0.0))
    factor = jax.random.uniform(draw, (count,), minval=step.low, maxval=step.high)
    return scaling(jnp.where(happens, factor, 1.0))


def flip(happens: jax.Array) -> Affine:
    """Exchanges left and right of the images that `happens` (N,) names."""
    zero, one = jnp.zeros(happens.shape), jnp.ones(happens.shape)
    return _linear(one, zero, zero, jnp.where(happens, -1.0, 1.0))


def rotation(angle: jax.Array) -> Affine:
    """Turns images anticlockwise about the centre by angles `(N,)` in radians."""
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    return _linear(cosine, sine, -sine, cosine)


def scaling(factor: jax.Array) -> Affine:
    """Enlarges images about the centre by factors `(N,)`; below 1 they shrink."""
    zero = jnp.zeros(factor.shape)
    return _linear(1.0 / factor, zero, zero, 1.0 / factor)


def translation(shift: jax.Array) -> Affine:
    """Moves a window over the image by `shift` (N, 2) pixels, (down, right)."""
    one, zero = jnp.ones(shift.shape[:1]), jnp.zeros(shift.shape[:1])
    return Affine(_linear(one, zero, zero, one).matrix, shift)


def resample(images: jax.Array, affine: Affine) -> jax.Array:
    """The images seen through a map, bilinear, black outside.

    Where the map leads to whole pixels, their values are copied exactly.

    Args:
      images: float `(N, H, W, C)`.
      affine: for every place in the output, where it is in the input.

    Returns:
      `(N, H, W, C)`.
    """
    count, height, width, channels = images.shape
    rows = jnp.arange(height) - (height - 1) / 2
    columns = jnp.arange(width) - (width - 1) / 2
    places = jnp.stack(jnp.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2)
    found = _applied(affine.matrix[:, None], places) + affine.shift[:, None]  # (N, HW, 2)
    row = found[..., 0] + (height - 1) / 2
    column = found[..., 1] + (width - 1) / 2
    top, left = jnp.floor(row), jnp.floor(column)
    flat = images.reshape(count, height * width, channels)
    result = jnp.zeros_like(flat)
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        near_row, near_column = top + i, left + j
        weight = (1.0 - jnp.abs(row - near_row)) * (1.0 - jnp.abs(column - near_column))
        inside = (near_row >= 0) & (near_row < height) & (near_column >= 0) & (near_column < width)
        index = (
            jnp.clip(near_row, 0, height - 1) * width + jnp.clip(near_column, 0, width - 1)
        ).astype(jnp.int32)
        value = jnp.take_along_axis(flat, index[..., None], axis=1, mode="clip")
        result += jnp.where(inside, weight, 0.0)[..., None] * value
    return result.reshape(images.shape)


def color(
    images: jax.Array, saturation: jax.Array, contrast: jax.Array, brightness: jax.Array
) -> jax.Array:
    """Changes the colors of images; factors of 1 and a brightness of 0 change no bit.

    A pixel moves away from its own gray (0.299 R + 0.587 G + 0.114 B) by the saturation factor,
    then from the mean gray of its image by the contrast factor; then brightness is added; then
    values are cut to 0 and 255.

    Args:
      images: `(N, H, W, C)`, 0 to 255, C 1 (which has no saturation) or 3.
      saturation, contrast: factors `(N,)`.
      brightness: `(N,)`, as a share of white.
    """
    changed = images
    if images.shape[-1] == 3:
        # As x + (s - 1)(x - gray), not gray + s (x - gray), which rounds even where s is 1.
        gray = jnp.sum(images * jnp.asarray(_LUMA, images.dtype), axis=-1, keepdims=True)
        changed = changed + (_each(saturation) - 1.0) * (changed - gray)
    gray = changed
    if images.shape[-1] == 3:
        gray = jnp.sum(changed * jnp.asarray(_LUMA, images.dtype), axis=-1, keepdims=True)
    mean = jnp.mean(gray, axis=(1, 2, 3), keepdims=True)
    changed = changed + (_each(contrast) - 1.0) * (changed - mean)
    return jnp.clip(changed + _WHITE * _each(brightness), 0.0, _WHITE)


def _colored(images: jax.Array, step: ColorSpec, chosen: jax.Array, key: jax.Array) -> jax.Array:
    shape = (images.shape[0],)
    coin, *draws = jax.random.split(key, 4)
    happens = chosen & (jax.random.uniform(coin, shape) < step.probability)

    def uniform(draw: jax.Array, low: float, high: float, neutral: float) -> jax.Array:
        return jnp.where(happens, jax.random.uniform(draw, shape, minval=low, maxval=high), neutral)

    return color(
        images,
        uniform(draws[0], *step.saturation, 1.0),
        uniform(draws[1], *step.contrast, 1.0),
        uniform(draws[2], -step.brightness, step.brightness, 0.0),
    )


def _each(values: jax.Array) -> jax.Array:
    return values[:, None, None, None]


def _linear(a: jax.Array, b: jax.Array, c: jax.Array, d: jax.Array) -> Affine:
    """The map with the matrix [[a, b], [c, d]], every entry `(N,)`."""
    matrix = jnp.stack([jnp.stack([a, b], axis=-1), jnp.stack([c, d], axis=-1)], axis=-2)
    return Affine(matrix, jnp.zeros((*a.shape, 2)))


# Written out rather than as matrix products, which a GPU may round to TF32: whole pixels must stay
# whole.
def _product(first: jax.Array, second: jax.Array) -> jax.Array:
    return jnp.sum(first[..., :, :, None] * second[..., None, :, :], axis=-2)


def _applied(matrix: jax.Array, place: jax.Array) -> jax.Array:
    return jnp.sum(matrix * place[..., None, :], axis=-1)
