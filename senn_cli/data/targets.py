"""From a user's labels or values to class numbers or float32 targets, with readable faults."""

from __future__ import annotations

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.data.numerals import LARGEST
from senn_cli.errors import DataError

MOST_CLASSES = 10_000
"""A network has an output a class, and the curvature of its outputs is a matrix of classes by
classes: 400 MB at this number."""


def require_few_classes(count: int, what: str) -> None:
    """Raises DataError where there are more classes than a network can have outputs."""
    if count > MOST_CLASSES:
        raise DataError(
            f"{what} has {count:,} different values, and a classification at most "
            f"{MOST_CLASSES:,} classes",
            hint="if these are numbers to predict, it is a regression (data.task: regression)",
        )


def class_names(*columns: Array) -> tuple[Array, tuple[str, ...]]:
    """The distinct labels of all columns, sorted, and their names.

    Args:
      columns: one-dimensional arrays of integers, booleans or text, all of one kind.

    Returns:
      (labels, names): integers in the order of their values, text in alphabetical order.
    """
    labels = np.unique(np.concatenate(columns))
    return labels, tuple(str(label) for label in labels.tolist())


def class_numbers(column: Array, labels: Array) -> Array:
    """The number of every label within `labels` (sorted, containing all of them), int32 `(N,)`."""
    return np.searchsorted(labels, column).astype(np.int32)


def as_labels(values: Array, what: str) -> Array:
    """Labels as integers or text, one for an example.

    Args:
      values: `(N,)` or `(N, 1)`; integers, booleans, text, or floats that are whole numbers.
      what: how to call the values in an error, e.g. "labels.npz, array 'y'".

    Raises:
      DataError: other shapes (one-hot rows among them), fractions or other types.
    """
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise DataError(
            f"{what}: class labels must be one a row, shape (N,), but the shape is {values.shape}",
            hint="for one-hot rows store their argmax; for values set data.task to regression",
        )
    if values.dtype.kind in "US":
        try:
            return values.astype(np.str_)
        except UnicodeDecodeError as error:
            raise DataError(f"{what}: class labels of bytes must be ASCII: {error}") from error
    if values.dtype.kind == "b":
        return values
    if values.dtype.kind in "iu":
        # One type for all, as NumPy joins int64 and uint64 to float64.
        if values.size and int(values.max()) > np.iinfo(np.int64).max:
            raise DataError(f"{what}: the class label {values.max()} is too large")
        return values.astype(np.int64)
    if values.dtype.kind == "f":
        require_finite(values, what)
        with np.errstate(invalid="ignore"):
            whole = values.astype(np.int64)
        if np.array_equal(whole, values):
            return whole
        row = int(np.flatnonzero(whole != values)[0])
        raise DataError(
            f"{what}: class labels must be whole numbers or text, but row {row} is {values[row]}",
            hint="if these are values to predict, set data.task to regression",
        )
    raise DataError(f"{what}: class labels cannot be of type {values.dtype}")


def as_flags(values: Array, what: str) -> Array:
    """Which labels hold of every example, uint8 `(N, k)` of 0 and 1.

    Raises:
      DataError: another shape or type, or another number; names the first.
    """
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise DataError(
            f"{what}: several labels are numbers 0 or 1 of the shape (N, labels), found "
            f"{values.dtype} of the shape {values.shape}"
        )
    other = np.argwhere((values != 0) & (values != 1))
    if len(other):
        where = tuple(int(i) for i in other[0])
        raise DataError(
            f"{what}: a label holds (1) or does not (0), but at index {where} stands "
            f"{values[where]}",
            hint="for numbers to predict, write data.task: regression",
        )
    return values.astype(np.uint8)


def as_float32(values: Array, what: str) -> Array:
    """Numbers as float32, checked to be finite before and after the conversion.

    Raises:
      DataError: types that are not real numbers, NaN, infinity, or values too large for float32.
    """
    if values.dtype.kind not in "biuf":
        raise DataError(f"{what}: expected real numbers, found type {values.dtype}")
    require_finite(values, what)
    with np.errstate(over="ignore"):
        single = values.astype(np.float32, copy=False)
    if single is not values and not np.isfinite(single).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(single))[0])
        raise DataError(f"{what}: {values[where]} at index {where} is too large for float32")
    return single


def as_uint8(values: Array, what: str) -> Array:
    """Whole numbers from 0 to 255 as uint8, whatever type they are of.

    Raises:
      DataError: types that are no real numbers; names the first number that is another one.
    """
    if values.dtype == np.uint8:
        return values
    if values.dtype.kind not in "iuf":
        raise DataError(
            f"{what}: the run's examples are uint8, whole numbers from 0 to 255; these are of type "
            f"{values.dtype}"
        )
    with np.errstate(invalid="ignore"):
        found = values.astype(np.uint8)
    other = np.argwhere(found != values)  # outside of the range they wrap around, or are anything
    if len(other):
        where = tuple(int(i) for i in other[0])
        with np.errstate(invalid="ignore"):
            unit = bool((np.abs(values) <= 1).all())
        raise DataError(
            f"{what}: the run's examples are whole numbers from 0 to 255, but at index {where} "
            f"stands {values[where]}",
            hint="These look scaled already. A run scales its examples itself: give them as the "
            "training data were."
            if unit
            else None,
        )
    return found


def as_numbers(values: Array, what: str) -> Array:
    """Numbers as they are kept until they are scaled: float64 where float32 might round them.

    That are float64 and integers of 32 bits or more, which may lie far from 0, with one or two
    axes; arrays with more are images, or large, and become float32.

    Raises:
      DataError: types that are not real numbers, NaN, infinity, or values that are too large.
    """
    small = values.dtype.itemsize < (8 if values.dtype.kind == "f" else 4)
    if values.ndim > 2 or small or values.dtype.kind not in "iuf":
        return as_float32(values, what)
    require_finite(values, what)
    double = values.astype(np.float64)
    large = np.argwhere(np.abs(double) > LARGEST)
    if len(large):
        where = tuple(int(i) for i in large[0])
        raise DataError(f"{what}: {values[where]} at index {where} is too large")
    return double


def require_finite(values: Array, what: str, hint: str | None = None) -> None:
    """Raises DataError, naming the first index, where a value is NaN or infinite."""
    if values.dtype.kind != "f":
        return
    finite = np.isfinite(values)
    if finite.all():
        return
    faults = np.argwhere(~finite)
    where = tuple(int(i) for i in faults[0])
    index = where[0] if len(where) == 1 else where
    raise DataError(
        f"{what}: {len(faults)} of {values.size} values are NaN or infinite; "
        f"the first is {values[where]} at index {index}",
        hint=hint,
    )


def as_weights(values: Array, what: str) -> Array:
    """Weights of examples as float32, checked to be finite, not negative, and not all zero."""
    require_finite(values, what)
    negative = np.flatnonzero(values < 0)
    if len(negative):
        row = int(negative[0])
        raise DataError(f"{what}: a weight is negative: {values[row]} in row {row}")
    if not values.any():
        raise DataError(f"{what}: all weights are zero, so that no example counts")
    return values.astype(np.float32)
