"""What a trained network is asked about, as scikit-learn and pandas hand it out.

Data frames and mappings of columns are read by the names that the run's table had, in any order;
arrays with texts by the place of its columns. Arrays of numbers are examples as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from senn_cli.data.again import rows_of
from senn_cli.data.dataset import Array
from senn_cli.data.encoding import Column, Encoding
from senn_cli.data.examples import LIMIT
from senn_cli.data.frames import is_frame, is_series, joined, table_of, typed
from senn_cli.data.given_inputs import array_of
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.data.table import Table
from senn_cli.errors import DataError
from senn_cli.words import plural


def columns_alone(count: int) -> Encoding:
    """The encoding of a run whose examples are no rows of a table: numbers in their order."""
    return Encoding(tuple(Column(f"x{number}") for number in range(1, count + 1)), named=False)


def examples_of(x: Any, how: Preprocessing, what: str = "x") -> tuple[Array, list[str]]:
    """Examples of a run, and notes on what was found.

    Args:
      x: a data frame; a mapping of columns by name, or of single values, which are one row; an
        array, a list, a tensor or a sparse matrix.
      how: the run's preprocessing.
      what: how to call it in an error.

    Returns:
      (examples, notes): of frames and texts float64 `(N, inputs)`, with NaN where a value is
      missing that the run has something for; of numbers the array as it is.

    Raises:
      DataError: columns that are missing or of another type, values that are missing, texts for a
        run that knows none.
    """
    if is_frame(x):
        return _rows(table_of(x, what), how)
    if is_series(x):
        raise DataError(
            f"{what} is a single column or row of a frame; expected a frame",
            hint=f"{what}.to_frame() for a column of one feature, frame.iloc[[0]] for a single row",
        )
    if isinstance(x, Mapping) and not hasattr(x, "toarray"):  # as one kind of sparse matrix is
        return _rows(_columns(x, what), how)
    array, _ = array_of(x, what, LIMIT)
    if array.dtype.kind in "biuf":
        return array, []
    if how.encoding is None or array.ndim != 2:
        raise DataError(f"{what}: expected numbers, found the type {array.dtype}")
    names = how.encoding.names
    if array.shape[1] != len(names):
        raise DataError(
            f"{what} has {plural(array.shape[1], 'column')}, but the run learnt from "
            f"{len(names)}: {', '.join(map(repr, names))}"
        )
    columns = [
        (name, typed(column, f"{what}, column {name!r}"), False)
        for name, column in zip(names, array.T, strict=True)
    ]
    return _rows(joined(columns, what), how)


def _rows(table: Table, how: Preprocessing) -> tuple[Array, list[str]]:
    size = int(np.prod(how.shape, dtype=np.int64))
    return rows_of(table, columns_alone(size) if how.encoding is None else how.encoding)


def _columns(x: Mapping[str, Any], what: str) -> Table:
    """A mapping as a table; single values are one row."""
    columns = []
    for name, values in x.items():
        listed = [values] if isinstance(values, str | bytes) or np.ndim(values) == 0 else values
        columns.append((str(name), typed(np.asarray(listed, object), f"{what}[{name!r}]"), False))
    sizes = {len(values) for _, values, _ in columns}
    if len(sizes) != 1:
        listed = ", ".join(f"{name!r} {len(values)}" for name, values, _ in columns) or "none"
        raise DataError(f"{what}: columns of one length are needed, found {listed}")
    return joined(columns, what)
