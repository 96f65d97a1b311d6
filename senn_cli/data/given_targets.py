"""What Python objects are targets or weights of examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from senn_cli.data.dataset import Array, Task
from senn_cli.data.frames import column_of, is_frame, is_series, name_of, table_of, typed
from senn_cli.data.given_inputs import array_of
from senn_cli.data.objects import is_gap
from senn_cli.data.table import Cells
from senn_cli.data.targets import (
    as_flags,
    as_labels,
    as_numbers,
    as_weights,
    require_few_classes,
    require_finite,
)
from senn_cli.errors import DataError


def targets_of(y: Any, what: str, task: Task | None) -> tuple[Array, tuple[str, ...]]:
    """Targets and their names."""
    names: tuple[str, ...] = ()
    if is_frame(y):
        table = table_of(y, what)
        names = table.header
        several = len(table.columns) > 1
        columns = [_plain(_flags(c) if several else c, what) for c in table.columns]
        array = columns[0] if len(columns) == 1 else _side_by_side(columns, what)
    elif is_series(y):
        own = name_of(y)
        names = () if own is None else (own,)
        values, _ = column_of(y, what)
        array = _plain(values, what)
    else:
        array, _ = array_of(y, what)
        array = _plain(array.tolist(), what) if array.dtype.kind == "O" else array
    if array.dtype.kind == "c":
        raise DataError(f"{what}: Complex data not supported")
    if array.ndim not in (1, 2) or array.size == 0:
        raise DataError(f"{what}: expected the shape (N,) or (N, k), found {array.shape}")
    require_finite(array, what, "leave these rows out")
    return _checked(array, what, task), names


def _plain(values: Sequence[Any] | Array, what: str) -> Array:
    """One column as an array of numbers or text, without gaps."""
    array = values if isinstance(values, np.ndarray) else None
    if array is None:
        if any(isinstance(value, list | tuple | np.ndarray) for value in values):
            raise DataError(
                f"{what} holds lists that differ in length, or objects within objects",
                hint="several labels an example are a table of 0 and 1, a column a label",
            )
        gaps = [row for row, value in enumerate(values) if value == "" or is_gap(value)]
        if gaps:
            raise DataError(
                f"{what}: {len(gaps)} of {len(values)} values are missing (None or NaN); the first "
                f"is that of row {gaps[0]}",
                hint="leave these rows out",
            )
        found = typed(np.array(list(values), dtype=object), what)
        array = found if isinstance(found, np.ndarray) else np.array(found, np.str_)
    return array


def _flags(values: Cells) -> Cells:
    """A column of booleans, which are texts in a table, as 1 and 0."""
    if isinstance(values, list) and set(values) <= {"true", "false"}:
        return np.array([int(cell == "true") for cell in values])
    return values


def _side_by_side(columns: Sequence[Array], what: str) -> Array:
    if any(column.dtype.kind not in "biuf" for column in columns):
        raise DataError(f"{what}: several targets must be numbers, and some are text")
    return np.stack(columns, axis=1)


def _checked(y: Array, what: str, task: Task | None) -> Array:
    if task == "classification":
        labels = as_labels(y, what)
        ordered = np.sort(labels)  # a tenth of the time of numpy.unique, where there are many
        count = 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))
        require_few_classes(count, what)
        if count < 2:
            raise DataError(
                f"{what} has one class only, {labels[0]!s}; a classification needs two at least"
            )
        return labels
    if task == "multilabel":
        return as_flags(y, what)
    if task == "regression":
        y = as_numbers(y, what)
        return y[:, None] if y.ndim == 1 else y
    return y


def weights_of(values: Any, what: str) -> Array:
    """How much every example counts, float32 `(N,)`."""
    if is_series(values):
        values = column_of(values, what)[0]
    array, _ = array_of(values, what)
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        raise DataError(
            f"{what}: expected numbers of the shape (N,), found {array.dtype} of {array.shape}"
        )
    return as_weights(array, what)
