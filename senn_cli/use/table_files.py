"""Tables as text, for predictions: the columns that a run learnt from, no targets needed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.data.encoding import Column, Encoding
from senn_cli.data.features import missing, placed, read
from senn_cli.data.table import read_table
from senn_cli.errors import DataError


def columns_alone(count: int) -> Encoding:
    """The encoding of a run whose examples are no rows of a table: numbers in their order."""
    return Encoding(tuple(Column(f"x{number}") for number in range(1, count + 1)), named=False)


def read_rows(
    path: Path, known: Encoding, delimiter: str = "auto", header: str | int = "auto"
) -> tuple[Array, list[str]]:
    """The features of every row as the run's examples are, and notes on what was found.

    Columns are found by their names, where these are the run's own. Targets are passed over.

    Args:
      path: the table.
      known: the run's encoding.
      delimiter, header: see `senn_cli.data.table.read_table`.

    Returns:
      (examples, notes): float64 `(N, inputs)`, with NaN where a value is missing that the run has
      something for.

    Raises:
      DataError: a file that cannot be read, columns that are missing, cells that are no finite
        numbers, and values that are missing although the run has nothing that stands for them.
    """
    table = read_table(path, delimiter, header, known.names if known.named else None)
    table, other = placed(table, known)
    categorical = [column.categories is not None for column in known.features]
    (values,), columns, _ = read([table], known.names, categorical, known.features)
    gaps = missing([table], [values], known.names)
    if gaps and known.fill is None:
        raise DataError(
            f"values are missing: {gaps}",
            hint="the run has nothing that stands for them: fill them in, or train with "
            "data.missing: median (or mean, most_frequent)",
        )
    notes = [] if other is None else [other]
    notes += [f"{path.name}: {note}" for note in known.unknown(columns, values)]
    if gaps:
        notes.append(f"missing values are filled: {gaps}")
    return np.asarray(known.encode(columns, values)), notes
