"""From cells to numbers: which columns of a table hold numbers, and which categories."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.data.encoding import Column
from senn_cli.data.numerals import (
    BOOLEANS,
    LARGEST,
    TRUE,
    has_one_comma,
    is_grouped,
    is_missing,
    number,
)
from senn_cli.data.table import Cells, Table, raise_faults, texts
from senn_cli.errors import DataError
from senn_cli.words import plural

_FEW = 20  # different texts that are never too many
_MOST = 1000
SHOWN_COLUMNS = 8


def choose(
    tables: Sequence[Table], names: Sequence[str], wanted: str | Sequence[str]
) -> list[bool]:
    """Which of the columns `names` are categories.

    Args:
      tables: with all of these columns.
      names: the columns.
      wanted: the columns that are categories, or "auto": those where fewer than half of the values
        are numbers. A number is then expected in all cells of the others.

    Raises:
      DataError: text whose values are nearly all different, such as names, chosen by "auto".
    """
    if wanted != "auto":
        return [name in wanted for name in names]
    chosen = []
    for name in names:
        if any(name in table.declared for table in tables):
            chosen.append(True)
            continue
        # Numbers by their type need no look at each.
        cells = [cell for table in tables for cell in _only_texts(table.values(name))]
        present = [cell for cell in cells if not is_missing(cell)]
        numbers = sum(number(cell) is not None for cell in present)
        chosen.append(2 * numbers < len(present))
        if chosen[-1]:
            _require_few(tables[0], name, [c for c in cells if not is_missing(c, text=True)])
    return chosen


def read(
    tables: Sequence[Table],
    names: Sequence[str],
    categorical: Sequence[bool],
    known: Sequence[Column] | None = None,
) -> tuple[list[Array], tuple[Column, ...], list[str]]:
    """The columns `names` of all tables as numbers.

    Args:
      tables: with all of these columns.
      names: the columns.
      categorical: which of them are categories.
      known: the columns of a run that knows them.

    Returns:
      (values, columns, notes): float64 `(N, len(names))` of every table, with NaN where a value is
      missing and the number of its category in a column of categories; the columns, whose
      categories are sorted; sentences about what was found.

    Raises:
      DataError: cells of a column of numbers that are none, by file, line and column.
    """
    values = [np.full((len(table), len(names)), np.nan) for table in tables]
    columns, notes, faults = [], [], []
    for place, (name, category) in enumerate(zip(names, categorical, strict=True)):
        found = [table.values(name) for table in tables]
        if category:
            cells = [texts(column) for column in found]
            categories, codes = _categories(cells, None if known is None else known[place])
            columns.append(Column(name, categories))
            for words, array in zip(cells, values, strict=True):
                array[:, place] = [codes.get(cell, np.nan) for cell in words]
            continue
        columns.append(Column(name))
        grouped = [c for column in found for c in _only_texts(column) if is_grouped(c)]
        for table, column, array in zip(tables, found, values, strict=True):
            array[:, place], wrong = _numbers(column, table.delimiter)
            faults += [(name, f"{table.where(row)}: column {name!r} {told}") for row, told in wrong]
        if grouped:
            notes.append(
                f"column {name!r}: {plural(len(grouped), 'number has', 'numbers have')} separators "
                f"between thousands, such as {grouped[0]!r}"
            )
    first = faults[0][0] if faults else ""
    hint = f"for text: data.categories: [{first}]; to leave the column out: data.drop: [{first}]"
    raise_faults([text for _, text in faults], hint)
    return values, tuple(columns), notes


def missing(tables: Sequence[Table], values: Sequence[Array], names: Sequence[str]) -> str:
    """How many values are missing in which columns, and the first of each; empty where none is."""
    found = []
    for place, name in enumerate(names):
        gaps = [np.flatnonzero(np.isnan(array[:, place])) for array in values]
        count = sum(map(len, gaps))
        if count:
            table, rows = next((t, r) for t, r in zip(tables, gaps, strict=True) if len(r))
            found.append(f"{count} in {name!r} (the first at {table.where(int(rows[0]))})")
    more = len(found) - SHOWN_COLUMNS
    if more > 0:
        found = [*found[:SHOWN_COLUMNS], f"and some in {more} more columns"]
    return ", ".join(found)


def truths_as_numbers(table: Table, names: Sequence[str]) -> Table:
    """The table with 1 and 0 in place of the words `true`, `yes`, `false`, `no` in some columns."""
    columns = list(table.columns)
    for name in names:
        place = table.header.index(name)
        cells = columns[place]
        if isinstance(cells, list):
            columns[place] = [
                str(int(low in TRUE)) if (low := cell.lower()) in BOOLEANS else cell
                for cell in cells
            ]
    return replace(table, columns=tuple(columns))


def row_numbers(table: Table, names: Sequence[str], values: Array) -> list[str]:
    """Notes on columns that number the rows."""
    return [
        f"column {name!r} numbers the rows and may tell nothing of them; to leave it out: "
        f"data.drop: [{name}]"
        for place, name in enumerate(names)
        if len(values) > _FEW and bool((np.diff(values[:, place]) == 1).all())
    ]


def _only_texts(values: Cells) -> list[str]:
    return values if isinstance(values, list) else []


def _numbers(values: Cells, delimiter: str) -> tuple[Array, list[tuple[int, str]]]:
    """Numbers `(N,)` float64, NaN where none is; and the rows of faulty cells, with the fault."""
    if not isinstance(values, list):
        numbers = values.astype(np.float64)
        # False for NaN, which is missing.
        rows = np.flatnonzero(np.abs(numbers) > LARGEST).tolist()
        return numbers, [(row, _fault(repr(values[row].item()), numbers[row])) for row in rows]
    numbers, faults = np.full(len(values), np.nan), []
    for row, cell in enumerate(values):
        if is_missing(cell):
            continue
        value = number(cell, delimiter)
        if value is not None and abs(value) <= LARGEST:  # False for NaN
            numbers[row] = value
        else:
            faults.append((row, _fault(cell, value)))
    return numbers, faults


def _categories(
    cells: Sequence[Sequence[str]], known: Column | None
) -> tuple[tuple[str, ...], dict[str, int]]:
    """The sorted categories of a column, and the number of every text."""
    texts = {cell for column in cells for cell in column if not is_missing(cell, text=True)}
    own = {text.lower() for text in texts} if known is None else set(known.categories or ())
    # `True` and `true` are one value in a column of such words.
    fold = own <= BOOLEANS
    names = {text: text.lower() if fold else text for text in texts}
    numbers = {name: number for number, name in enumerate(sorted(set(names.values())))}
    return tuple(numbers), {text: numbers[name] for text, name in names.items()}


def _require_few(table: Table, name: str, cells: Sequence[str]) -> None:
    different = len(set(cells))
    if different > _MOST or (different > _FEW and 2 * different > len(cells)):
        raise DataError(
            f"{table.name}: column {name!r} is text with {different} different values in "
            f"{len(cells)} rows, such as {cells[0]!r}: as categories they tell nothing",
            hint=f"leave it out: data.drop: [{name}]; data.categories names columns that are "
            "categories all the same",
        )


def _fault(cell: str, value: float | None) -> str:
    if value is None and has_one_comma(cell):
        return f"has a comma: is {cell!r} a fraction, or thousands? write a point, or none"
    if value is None:
        return f"is not a number: {cell!r}"
    if math.isfinite(value):
        return f"is too large: {cell!r}"
    return f"is not finite: {cell!r}"
