"""Data frames as tables: pandas, polars and Arrow, by what their objects can do.

None of these packages is imported: whoever has a frame has imported its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from senn_cli.data.arrow import values_of
from senn_cli.data.dataset import Array
from senn_cli.data.objects import cells_of, no_number
from senn_cli.data.table import Cells, Table
from senn_cli.errors import DataError

_KINDS = {"M": "dates", "m": "times", "c": "complex numbers", "V": "records"}

Values = tuple[Cells | Array, bool]
"""The values of a column, and whether it is one of categories by its type."""

Named = tuple[str, Cells | Array, bool]
"""The same behind its name."""


def is_frame(value: object) -> bool:
    """Whether an object is a data frame of pandas, polars or Arrow."""
    name, root = type(value).__name__, _package(value)
    return root in _COLUMNS and name in ("DataFrame", "LazyFrame", "Table", "RecordBatch")


def is_series(value: object) -> bool:
    """Whether an object is one column of pandas, polars or Arrow."""
    name, root = type(value).__name__, _package(value)
    named = name in ("Series", "Index", "Categorical") or name.endswith(("Array", "Index"))
    return root in _COLUMNS and named


def table_of(frame: Any, what: str) -> Table:
    """A data frame as a table.

    A column of vectors of one length becomes a column an element, `name[0]`, `name[1]`, ...

    Args:
      frame: see `is_frame`; one of polars that is lazy is collected.
      what: how to call it in errors.

    Raises:
      DataError: no rows, no columns, two columns of one name, or columns that a network cannot
        learn from: dates, lists, records, complex numbers.
    """
    frame = frame.collect() if type(frame).__name__ == "LazyFrame" else frame
    columns = _COLUMNS[_package(frame)](frame, what)
    return joined(columns, what)


def joined(columns: Iterable[Named], what: str) -> Table:
    """Columns under their names, vectors taken apart.

    Args:
      columns: name, values (a matrix `(N, k)` for vectors), and whether they are categories.
      what: how to call the table in errors.
    """
    header: list[str] = []
    cells: list[Cells] = []
    declared: list[str] = []
    vectors: dict[str, tuple[str, ...]] = {}
    for name, values, category in columns:
        if isinstance(values, np.ndarray) and values.ndim == 2:
            parts = tuple(f"{name}[{place}]" for place in range(values.shape[1]))
            vectors[name] = parts
            header += parts
            cells += [np.ascontiguousarray(column) for column in values.T]
            continue
        header.append(name)
        cells.append(values)
        if category:
            declared.append(name)
    for place, name in enumerate(header):
        if name in header[:place]:
            raise DataError(f"{what}: two columns are called {name!r}", hint="rename one of them")
        if not name:
            raise DataError(f"{what}: column {place} has no name", hint="name it")
    if not header:
        raise DataError(f"{what} has no columns")
    if not len(cells[0]):
        raise DataError(f"{what} has no rows, only the columns {', '.join(header)}")
    return Table(what, tuple(header), tuple(cells), declared=tuple(declared), vectors=vectors)


def column_of(series: Any, what: str) -> Values:
    """The values of a series, and whether its type says that they are categories.

    Args:
      series: see `is_series`.
      what: how to call it in errors.
    """
    return _SERIES[_package(series)](series, what)


def name_of(series: Any) -> str | None:
    """The name of a series, if it has one."""
    name = getattr(series, "name", None)
    return None if name is None or callable(name) or not str(name).strip() else str(name).strip()


def typed(values: Array, what: str) -> Cells | Array:
    """An array as a column: numbers as they are, booleans and objects as texts.

    Raises:
      DataError: dates, complex numbers, or objects that are neither numbers nor text.
    """
    kind = values.dtype.kind
    if kind in "iu":
        return values.astype(np.uint64 if values.dtype == np.uint64 else np.int64)
    if kind == "f":
        return values.astype(np.float64)
    if kind in _KINDS:
        raise no_number(what, _KINDS[kind], values.ravel()[0] if values.size else None)
    return cells_of(values.tolist(), what)


def _package(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def _pandas_columns(frame: Any, what: str) -> Iterator[Named]:
    for place, name in enumerate(frame.columns):
        if isinstance(name, tuple):
            raise DataError(
                f"{what}: its columns have names of several levels, such as {name!r}",
                hint="join them: df.columns = ['_'.join(map(str, c)) for c in df.columns]",
            )
        told = str(name).strip()
        yield (told, *_pandas(frame.iloc[:, place], f"{what}, column {told!r}"))


def _pandas(series: Any, what: str) -> Values:
    dtype = series.dtype
    if hasattr(dtype, "categories"):
        # Their numbers as texts, so that the categories 3 and 3.0 are one.
        return cells_of([_category(value) for value in series.tolist()], what), True
    kind = getattr(dtype, "kind", "O")
    if kind in _KINDS:
        raise no_number(what, _KINDS[kind], series.iloc[0] if len(series) else None)
    if kind in "iuf":
        if bool(series.isna().any()):
            return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan)), False
        plain = series.to_numpy(dtype=getattr(dtype, "numpy_dtype", None))
        return typed(np.asarray(plain), what), False
    return cells_of(series.tolist(), what), False


def _category(value: object) -> object:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else value


def _polars_columns(frame: Any, what: str) -> Iterator[Named]:
    for series in frame.get_columns():
        told = series.name.strip()
        yield (told, *_polars(series, f"{what}, column {told!r}"))


def _polars(series: Any, what: str) -> Values:
    dtype = series.dtype
    kind = type(dtype).__name__ if not isinstance(dtype, type) else dtype.__name__
    if dtype.is_numeric() and kind != "Decimal":
        # Whole numbers with gaps become float64 with NaN.
        return typed(np.asarray(series.to_numpy()), what), False
    if kind == "Array":
        return typed(np.stack(series.to_list()), what), False
    return cells_of(series.to_list(), what), kind in ("Categorical", "Enum")


def _arrow_columns(table: Any, what: str) -> Iterator[Named]:
    for place, name in enumerate(table.schema.names):
        told = name.strip()
        yield (told, *values_of(table.column(place), f"{what}, column {told!r}"))


_COLUMNS = {"pandas": _pandas_columns, "polars": _polars_columns, "pyarrow": _arrow_columns}
_SERIES = {"pandas": _pandas, "polars": _polars, "pyarrow": values_of}
