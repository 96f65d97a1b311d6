"""Tables of features as text, for predictions: a header, numbers, no targets needed."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.data.table import read_cells
from senn_cli.errors import DataError
from senn_cli.given import require_file

_LARGEST = float(np.finfo(np.float32).max)
_SHOWN = 5


@dataclass(frozen=True)
class Columns:
    """What a run's table looks like.

    Attributes:
      count: how many features there are.
      features: their names in the order of the network's inputs; None where nobody knows them:
        then all columns but the targets are features, in the order of the file.
      targets: names of the targets, which a table may have or not.
      delimiter: what separates cells.
    """

    count: int
    features: tuple[str, ...] | None = None
    targets: tuple[str, ...] = ()
    delimiter: str = ","


def header(path: Path, delimiter: str) -> tuple[str, ...] | None:
    """The names of the columns of a table, or None where it cannot be read."""
    try:
        require_file(path)
        with path.open(encoding="utf-8-sig", newline="") as file:
            for cells in csv.reader(file, delimiter=delimiter, strict=True):
                if any(cell.strip() for cell in cells):
                    return tuple(cell.strip() for cell in cells)
    except (OSError, ValueError, csv.Error, DataError):
        pass
    return None


def read_table(path: Path, columns: Columns) -> Array:
    """The features of every row, float64 `(N, columns.count)`.

    Columns are found by their names wherever these are known. Targets are passed over. Blank lines
    are skipped, spaces around a cell are dropped.

    Raises:
      DataError: a file that cannot be read, a column that is missing, given twice or superfluous,
        and the first few cells that are no finite numbers, by `file:line` and column.
    """
    names, rows = _cells(path, columns.delimiter)
    places = _places(path, names, columns)
    values = np.empty((len(rows), columns.count), np.float64)
    faults = []
    for row, (line, cells) in enumerate(rows):
        if len(cells) != len(names):
            faults.append(f"{path}:{line}: {len(cells)} cells, but the header has {len(names)}")
            continue
        for column, place in enumerate(places):
            number = _number(cells[place])
            if number is None:
                found = repr(cells[place]) if cells[place] else "an empty cell"
                faults.append(
                    f"{path}:{line}: column {names[place]!r} should be a finite number, found "
                    f"{found}"
                )
            else:
                values[row, column] = number
    if faults:
        more = [f"and {len(faults) - _SHOWN} more"] if len(faults) > _SHOWN else []
        raise DataError("\n".join([*faults[:_SHOWN], *more]))
    return values


def _cells(path: Path, delimiter: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header, and the line and cells of every row."""
    rows = read_cells(path, delimiter)
    line, names = rows.pop(0)
    if all(_number(name) is not None for name in names):
        raise DataError(
            f"{path}:{line}: the first line must name the columns, but all its cells are numbers"
        )
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise DataError(f"{path}:{line}: two columns are called {twice[0]!r}")
    return names, rows


def _places(path: Path, names: Sequence[str], columns: Columns) -> list[int]:
    """Where in a row each feature stands."""
    own = [name for name in names if name not in columns.targets]
    if columns.features is None:
        if len(own) != columns.count:
            raise DataError(
                f"{path} has {len(own)} columns of features, but the run has {columns.count}"
            )
        return [names.index(name) for name in own]
    missing = [name for name in columns.features if name not in names]
    if missing:
        near = get_close_matches(missing[0], own, n=1)
        raise DataError(
            f"{path} has no column {', '.join(map(repr, missing))}, which the run learnt from; "
            f"its columns are {', '.join(map(repr, names))}",
            hint=f"Is {near[0]!r} the column {missing[0]!r}?" if near else None,
        )
    other = [name for name in own if name not in columns.features]
    if other:
        raise DataError(
            f"{path}: column {', '.join(map(repr, other))} is neither a feature of the run nor "
            "its target",
            hint="Take it out.",
        )
    return [names.index(name) for name in columns.features]


def _number(cell: str) -> float | None:
    """The finite number in a cell, in float32's range; `1_000` is none."""
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if "_" not in cell and math.isfinite(value) and abs(value) <= _LARGEST else None
