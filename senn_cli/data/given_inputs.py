"""What Python objects are inputs, and how they become an array or a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.data.examples import (
    LIMIT,
    channels_last,
    is_dataset,
    is_tensor,
    read_all,
    tensor_array,
)
from senn_cli.data.frames import is_frame, is_series, joined, table_of, typed
from senn_cli.data.table import Table
from senn_cli.data.targets import as_numbers, require_finite
from senn_cli.errors import DataError
from senn_cli.words import in_bytes, plural


def inputs_of(
    x: Any, what: str, fills: bool, limit: int
) -> tuple[Array | Table, Array | None, list[str]]:
    """Inputs, the targets that came with them, and notes."""
    if is_frame(x):
        return table_of(x, what), None, []
    if is_series(x):
        raise DataError(
            f"{what} is a single column; expected a table of examples", hint=f"{what}.to_frame()"
        )
    if not is_tensor(x) and not _is_sparse(x) and is_dataset(x):
        inputs, targets, notes = read_all(x, what, limit)
        return _examples(inputs, what, fills), targets, notes
    array, notes = array_of(x, what, limit)
    return _examples(array, what, fills), None, notes


def array_of(value: Any, what: str, limit: int = LIMIT) -> tuple[Array, list[str]]:
    """An array of whatever is one, and notes on how it became one."""
    if is_tensor(value):
        array, notes = channels_last(tensor_array(value, what))
        return array, [f"{what}: {note}" for note in notes]
    if _is_sparse(value):
        size = int(np.prod(value.shape, dtype=np.int64)) * value.dtype.itemsize
        told = f"{what}: a sparse matrix of {plural(int(value.nnz), 'value')}"
        if size > limit:
            raise DataError(
                f"{told} takes {in_bytes(size)} as a dense one, more than {in_bytes(limit)}",
                hint="reduce its columns first, for example by sklearn.decomposition.TruncatedSVD",
            )
        return np.asarray(value.toarray()), [f"{told} became a dense one, {in_bytes(size)}"]
    if isinstance(value, np.ma.MaskedArray):
        gaps = np.ma.getmaskarray(value)
        # As an array it would show what lies under the mask.
        return (np.where(gaps, np.nan, value.data) if gaps.any() else value.data), []
    if isinstance(value, list | tuple) and value and isinstance(value[0], dict):
        raise DataError(f"{what} is a list of mappings", hint=f"pandas.DataFrame({what})")
    if isinstance(value, list | tuple) and value and all(map(is_tensor, value)):
        value = [tensor_array(one, what) for one in value]
    try:
        return np.asarray(value), []
    except ValueError as error:
        raise DataError(
            f"{what}: its rows differ in length or depth: {error}",
            hint="every example must have the same shape",
        ) from error


def _is_sparse(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("toarray", "nnz", "shape", "dtype"))


def _examples(x: Array, what: str, fills: bool) -> Array | Table:
    """An array as a source keeps it; a table where it has columns of text, or gaps to be filled."""
    if x.dtype.kind == "c":
        raise DataError(
            f"{what}: Complex data not supported", hint="give real and imaginary parts as columns"
        )
    if x.ndim < 2:
        raise DataError(
            f"{what}: expected one row an example, (N, features) or (N, height, width), found the "
            f"shape {x.shape}. Reshape your data",
            hint=f"{what}.reshape(-1, 1) for a single feature, {what}.reshape(1, -1) for a single "
            "example",
        )
    if len(x) == 0:
        raise DataError(f"{what} has no examples: its shape is {x.shape}")
    if x.size == 0:
        raise DataError(f"{what}: 0 feature(s) (shape={x.shape}) while a minimum of 1 is required.")
    if x.dtype.kind not in "biuf" or (fills and x.ndim == 2 and _has_gaps(x)):
        if x.ndim != 2:
            raise DataError(f"{what}: expected numbers, found the type {x.dtype}")
        columns = [typed(column, f"{what}, column {n}") for n, column in enumerate(x.T)]
        if all(isinstance(column, np.ndarray) for column in columns):
            numbers = np.stack([np.asarray(column, np.float64) for column in columns], axis=1)
            if not (fills and _has_gaps(numbers)):
                return _examples(numbers, what, fills)
        named = [(f"x{n}", column, False) for n, column in enumerate(columns, start=1)]
        return joined(named, what)
    fill = " or let data.missing: median fill gaps in" if x.ndim == 2 else ""
    require_finite(x, what, f"leave these rows out{fill}")
    return x if x.dtype == np.uint8 else as_numbers(x, what)


def _has_gaps(x: Array) -> bool:
    return x.dtype.kind == "f" and bool(np.isnan(x).any())
