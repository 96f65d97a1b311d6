"""`source: csv`: the user's own table with a header, numeric features and named target columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from senn_cli.data.dataset import Array, Part, Source, Task
from senn_cli.data.table import read_cells
from senn_cli.data.targets import as_labels, class_names, class_numbers
from senn_cli.errors import DataError

_LARGEST = float(np.finfo(np.float32).max)
_SHOWN_FAULTS = 5
# How a missing label is written. Only taken as such among numbers: "none" may be a class.
_MISSING = frozenset({"nan", "na", "n/a", "null", "none", "?", "-"})


@dataclass(frozen=True)
class _Table:
    """A table of text: the header, and the cells of every row with the row's line in the file."""

    path: Path
    header: tuple[str, ...]
    rows: list[list[str]]
    lines: list[int]


def load(
    path: Path,
    test_path: Path | None,
    target: str | Sequence[str],
    task: Task,
    delimiter: str = ",",
) -> Source:
    """Loads a table, and a test part from another table with the same columns if there is one.

    Every column that is no target is a feature and must be numeric. Files are UTF-8; blank lines
    are skipped, spaces around a cell are dropped.

    Args:
      path: the table with the training examples; its first line names the columns.
      test_path: a table with the same columns in any order, or None (a share is then held out).
      target: the column, or for regression the columns, to predict.
      task: "classification" (integers or text; classes are the sorted labels of both tables) or
        "regression".
      delimiter: what separates cells.

    Returns:
      Inputs float32 `(N, features)` in the order of the columns of `path`.

    Raises:
      DataError: faults of the file, named by `file:line` and column; the first few at once.
    """
    targets = [target] if isinstance(target, str) else list(target)
    if task == "classification" and len(targets) != 1:
        raise DataError(f"data.target names {len(targets)} columns; a classification has one")
    train = _read(path, delimiter)
    for name in targets:
        _require(train, name, "data.target")
    features = [name for name in train.header if name not in targets]
    if not features:
        raise DataError(f"{path} has no column besides {', '.join(targets)} to learn from")
    tables = [train]
    if test_path is not None:
        test = _read(test_path, delimiter)
        for name in (*features, *targets):
            _require(test, name, str(path))
        tables.append(test)

    inputs = [_numbers(table, features) for table in tables]
    names: tuple[str, ...] = ()
    if task == "regression":
        outputs = [_numbers(table, targets) for table in tables]
    else:
        columns = _labels(tables, targets[0])
        labels, names = class_names(*columns)
        outputs = [class_numbers(column, labels) for column in columns]
    parts, first_id = [], 0
    for x, y in zip(inputs, outputs, strict=True):
        parts.append(Part(x, y, np.arange(first_id, first_id + len(x), dtype=np.int64)))
        first_id += len(x)
    held = parts[1] if test_path is not None else None
    return Source(name="csv", task=task, train=parts[0], test=held, classes=names)


def _read(path: Path, delimiter: str) -> _Table:
    """All cells of a file, with checks that the header is one and that all rows are complete."""
    found = read_cells(path, delimiter)
    rows, lines = [cells for _, cells in found], [line for line, _ in found]
    header = tuple(rows.pop(0))
    header_line = lines.pop(0)
    _check_header(header, f"{path}:{header_line}", delimiter)
    if not rows:
        raise DataError(f"{path} has a header but no rows")
    faults = [
        f"{path}:{line}: {len(cells)} cells, but the header has {len(header)}"
        for cells, line in zip(rows, lines, strict=True)
        if len(cells) != len(header)
    ]
    _raise(faults)
    return _Table(path, header, rows, lines)


def _check_header(header: tuple[str, ...], where: str, delimiter: str) -> None:
    if all(_number(name) is not None for name in header):
        raise DataError(
            f"{where}: the first line must name the columns, but all its cells are numbers",
            hint="put a line such as x1,x2,label first",
        )
    for position, name in enumerate(header):
        if not name:
            raise DataError(f"{where}: column {position + 1} has no name")
        if name in header[:position]:
            raise DataError(f"{where}: two columns are called {name!r}")
    if len(header) == 1 and any(mark in header[0] for mark in ";\t|,"):
        raise DataError(
            f"{where}: only one column, {header[0]!r}, is found with the delimiter {delimiter!r}",
            hint="set data.delimiter",
        )


def _require(table: _Table, name: str, asked_by: str) -> None:
    if name in table.header:
        return
    close = get_close_matches(name, table.header, n=1)
    raise DataError(
        f"{table.path} has no column {name!r}, which {asked_by} names; "
        f"its columns are {', '.join(table.header)}",
        hint=f"did you mean {close[0]!r}?" if close else None,
    )


def _number(cell: str) -> float | None:
    """The number in a cell; NaN and infinity are numbers here, `1_000` is none."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _numbers(table: _Table, names: Sequence[str]) -> Array:
    """Numeric columns as float32 `(N, len(names))`."""
    positions = [table.header.index(name) for name in names]
    values = np.empty((len(table.rows), len(names)), np.float64)
    faults = []
    for row, (cells, line) in enumerate(zip(table.rows, table.lines, strict=True)):
        for column, position in enumerate(positions):
            value = _number(cells[position])
            if value is not None and abs(value) <= _LARGEST:  # False for NaN
                values[row, column] = value
                continue
            where = f"{table.path}:{line}: column {names[column]!r}"
            faults.append(f"{where} {_fault(cells[position], value)}")
    _raise(faults)
    return values.astype(np.float32)


def _fault(cell: str, value: float | None) -> str:
    if not cell:
        return "is empty"
    if value is None:
        return f"is not a number: {cell!r}"
    if math.isfinite(value):
        return f"is too large for float32: {cell!r}"
    return f"is not finite: {cell!r}"


def _labels(tables: Sequence[_Table], name: str) -> list[Array]:
    """The target column of every table: integers where all cells of all tables are, else text."""
    columns = [[row[table.header.index(name)] for row in table.rows] for table in tables]
    odd = {cell.lower() for cells in columns for cell in cells if not _is_finite_number(cell)}
    numeric = odd <= _MISSING | {""} and any(
        _is_finite_number(c) for cells in columns for c in cells
    )
    _raise(
        [
            f"{table.path}:{line}: column {name!r} "
            + (f"is missing: {cell!r}" if cell else "is empty")
            for cells, table in zip(columns, tables, strict=True)
            for cell, line in zip(cells, table.lines, strict=True)
            if not cell or (numeric and not _is_finite_number(cell))
        ]
    )
    if odd:
        return [np.array(cells, dtype=np.str_) for cells in columns]
    return [
        as_labels(np.array([_whole(cell) for cell in cells]), f"{table.path}, column {name!r}")
        for cells, table in zip(columns, tables, strict=True)
    ]


def _whole(cell: str) -> int | float:
    """A number, exact where it is written as an integer (a float has 53 bits only)."""
    try:
        return int(cell)
    except ValueError:
        return float(cell)


def _is_finite_number(cell: str) -> bool:
    number = _number(cell)
    return number is not None and math.isfinite(number)


def _raise(faults: Sequence[str]) -> None:
    if not faults:
        return
    lines = list(faults[:_SHOWN_FAULTS])
    if len(faults) > _SHOWN_FAULTS:
        lines.append(f"and {len(faults) - _SHOWN_FAULTS} more")
    raise DataError("\n".join(lines))
