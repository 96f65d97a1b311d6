"""From a user's numbers to examples of a run: the same shape and type, nothing cast in silence."""

from __future__ import annotations

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.data.targets import as_float32, as_uint8, require_finite
from senn_cli.errors import DataError


def as_examples(values: Array, how: Preprocessing, what: str) -> Array:
    """Examples `(N, *how.shape)` of the type `how.dtype`.

    Args:
      values: `(N, *how.shape)`, flattened `(N, size)`, or `(N,)` for a single feature; a last axis
        of one channel may be missing or too many.
      how: the run's preprocessing.
      what: how to call the values in an error.

    Raises:
      DataError: another shape; text or objects; numbers that are not finite (NaN is a missing value
        where the run has something that stands for one); for 8-bit examples numbers that are not
        whole or not from 0 to 255, of whatever type; 8-bit numbers for other examples.
    """
    size = int(np.prod(how.shape, dtype=np.int64))
    shape = values.shape[1:]
    bare = how.shape[:-1] if len(how.shape) > 1 and how.shape[-1] == 1 else how.shape
    fits = shape in (how.shape, (size,), bare, (*how.shape, 1)) or (size == 1 and not shape)
    if values.ndim == 0 or not fits:
        alone = values.shape in (how.shape, bare)
        raise DataError(
            f"{what}: expected examples of the shape {how.shape} along the first axis, found an "
            f"array of the shape {values.shape}",
            hint="A single example needs a first axis of length 1: x[None]." if alone else None,
        )
    fills = how.encoding is not None and how.encoding.fill is not None
    return _typed(values, how.dtype, what, fills).reshape(len(values), *how.shape)


def _typed(values: Array, dtype: str, what: str, fills: bool) -> Array:
    if values.dtype == np.uint8:
        if dtype != "uint8":
            raise DataError(
                f"{what}: the numbers are uint8, but the run's examples are {dtype}",
                hint="Store them as float32 if they have the same range of values.",
            )
        return values
    if dtype == "float64" and values.dtype.kind in "biuf":
        require_finite(np.where(np.isnan(values), 0, values) if fills else values, what)
        return values.astype(np.float64)
    if dtype != "uint8":
        return as_float32(values, what)
    return as_uint8(values, what)
