"""Scaling of inputs and targets, fitted on the training part alone.

Everything is summed in float64 over blocks of rows: a float64 copy of a whole image set would take
eight times its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.data.rows import Rows
from senn_cli.errors import DataError

Method = Literal["per_feature", "per_channel", "global", "none"]

_BLOCK_BYTES = 1 << 24
# A spread below this share of the value is rounding, not information.
_RELATIVE_SPREAD = {np.float32: 1e-7, np.float64: 1e-15}


def resolve(method: str, x: Array | Rows) -> Method:
    """What `normalize: auto` means for these inputs: uint8 `global`, others `per_feature`."""
    if method == "auto":
        return "global" if x.dtype == np.uint8 else "per_feature"
    if method in ("per_feature", "per_channel", "global", "none"):
        return method  # type: ignore[return-value]
    raise ValueError(f"unknown normalisation {method!r}")


def fit(method: str, x: Array | Rows) -> tuple[Array, Array]:
    """The shift and scale for inputs.

    `global` takes one mean and one standard deviation over all values, `per_channel` those of every
    color channel, `per_feature` those of every feature, `none` zero and one. What is constant gets
    its value as shift and 1 as scale, so that it becomes exactly zero.

    Args:
      method: auto, per_feature, per_channel, global or none.
      x: the training inputs, `(N, *shape)`, N >= 1; for `per_channel` images `(N, H, W)`, which
        have one channel, or `(N, H, W, C)`.

    Returns:
      (shift, scale), float64 for inputs of float64, else float32, of shape `shape` for
      `per_feature`, `(1, 1, C)` for `per_channel` and of ones otherwise; the network's input is
      `(x - shift) * scale`.

    Raises:
      DataError: `per_channel` for inputs that are no images.
    """
    resolved = resolve(method, x)
    single = (1,) * (x.ndim - 1)
    if resolved == "none":
        return np.zeros(single, kind(x)), np.ones(single, kind(x))
    if resolved == "per_channel" and x.ndim not in (3, 4):
        raise DataError(
            "data.normalize is per_channel, but the inputs are no images: one has the shape "
            f"{x.shape[1:]}, not (height, width) or (height, width, channels)"
        )
    if resolved == "global" or (resolved == "per_channel" and x.ndim == 3):
        if isinstance(x, Rows):
            shift, scale = standardise(x, of=lambda rows: rows.reshape(-1, 1))
        else:
            shift, scale = standardise(x.reshape(-1, 1))
        return shift.reshape(single), scale.reshape(single)
    if resolved == "per_channel" and x.ndim == 4:
        channels = x.shape[-1]
        if isinstance(x, Rows):
            shift, scale = standardise(x, of=lambda rows: rows.reshape(-1, channels))
            return shift.reshape(1, 1, -1), scale.reshape(1, 1, -1)
        fitted = [standardise(x[..., channel].reshape(-1, 1)) for channel in range(channels)]
        shift, scale = (
            np.concatenate(values).reshape(1, 1, -1) for values in zip(*fitted, strict=True)
        )
        return shift, scale
    return standardise(x)


def kind(values: Array | Rows) -> type[np.float32] | type[np.float64]:
    """The type that values are shifted and scaled in: float64 for float64, else float32.

    Float32 holds seven digits, all of which a mean may take that is far from 0.
    """
    return np.float64 if values.dtype == np.float64 else np.float32


def scaled(values: Array, shift: Array, scale: Array) -> Array:
    """`(values - shift) * scale` as float32, computed in the type that `kind` names."""
    wide = kind(values)
    result: Array = (values.astype(wide) - shift.astype(wide)) * scale.astype(wide)
    return result.astype(np.float32)


def standardise(
    values: Array | Rows, of: Callable[[Array], Array] = lambda rows: rows
) -> tuple[Array, Array]:
    """Mean and reciprocal standard deviation over the first axis, of shape `shape`.

    Args:
      values: `(N, *shape)`, N >= 1, finite.
      of: what is taken of some rows, in place of the rows themselves.

    Returns:
      Both float64 for values of float64, else float32.
    """
    one = of(values[:1])
    count = len(values) * len(one)
    mean = np.zeros(one.shape[1:])
    low = np.asarray(one[0], np.float64)
    high = low.copy()
    for block in map(of, _blocks(values)):
        mean += block.sum(axis=0)
        low = np.minimum(low, block.min(axis=0))
        high = np.maximum(high, block.max(axis=0))
    mean /= count
    # A second pass instead of E[x^2] - E[x]^2, which loses all digits where the mean is large.
    squares = np.zeros(one.shape[1:])
    for block in map(of, _blocks(values)):
        squares += np.square(block - mean).sum(axis=0)
    deviation = np.sqrt(squares / count)

    result = kind(values)
    flat = (low == high) | (deviation <= _RELATIVE_SPREAD[result] * np.abs(mean))
    flat |= deviation <= 1.0 / float(np.finfo(result).max)
    shift = np.where(low == high, low, mean)
    scale = 1.0 / np.where(flat, 1.0, deviation)
    return shift.astype(result), scale.astype(result)


def _blocks(values: Array | Rows) -> Iterator[Array]:
    """The rows in order, a few at a time, as float64."""
    row_bytes = max(1, int(np.prod(values.shape[1:], dtype=np.int64)) * 8)
    step = max(1, _BLOCK_BYTES // row_bytes)
    for start in range(0, len(values), step):
        yield values[start : start + step].astype(np.float64)
