"""Columns of Arrow, which Parquet files and Hugging Face's data sets have, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.data.objects import cells_of, no_number
from senn_cli.data.table import Cells
from senn_cli.errors import DataError


def values_of(column: Any, what: str) -> tuple[Cells | Array, bool]:
    """The values of an Arrow array, and whether its type says that they are categories.

    Lists of one fixed length, of numbers, are a matrix `(N, k)`; decimals become float64.

    Args:
      column: a `pyarrow.Array` or `ChunkedArray`.
      what: how to call it in errors.

    Raises:
      DataError: dates and times, records, lists of any length, vectors with gaps.
    """
    kind = str(column.type)
    if kind.startswith("dictionary"):
        return cells_of(column.to_pylist(), what), True
    if kind.startswith("fixed_size_list"):
        return _vectors(column, what), False
    if kind.startswith(("int", "uint", "float", "double", "halffloat")):
        # Whole numbers with gaps become float64 with NaN.
        return _numbers(np.asarray(column.to_numpy(**_copies(column)))), False
    if kind.startswith(("timestamp", "date", "time", "duration", "month")):
        raise no_number(what, f"{kind.partition('[')[0]}s", _first(column))
    if kind.startswith(("list", "large_list", "struct", "map", "union")):
        raise no_number(what, f"values of the type {kind}", _first(column))
    return cells_of(column.to_pylist(), what), False


def _numbers(values: Array) -> Array:
    if values.dtype.kind == "f":
        return values.astype(np.float64)
    return values.astype(np.uint64 if values.dtype == np.uint64 else np.int64)


def _copies(column: Any) -> dict[str, bool]:
    """Arrays refuse to copy unless asked, chunked ones copy always."""
    return {} if hasattr(column, "chunks") else {"zero_copy_only": False}


def _vectors(column: Any, what: str) -> Array:
    if column.null_count:
        raise DataError(
            f"{what}: {column.null_count} of {len(column)} vectors are missing",
            hint="fill them in, or leave the rows or the column out",
        )
    joined = column.combine_chunks() if hasattr(column, "chunks") else column
    flat, _ = values_of(joined.flatten(), what)
    if isinstance(flat, list):
        raise no_number(what, f"values of the type {column.type}", _first(column))
    return flat.reshape(len(column), -1)


def _first(column: Any) -> object:
    return next((value for value in column.to_pylist() if value is not None), None)
