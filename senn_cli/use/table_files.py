"""Tables as text, for predictions: the columns that a run learnt from, no targets needed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.data.encoding import Column, Encoding
from senn_cli.data.features import missing, placed, read
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.data.table import read_table
from senn_cli.errors import DataError
from senn_cli.spec import DataSpec
from senn_cli.spec.data import CsvSpec
from senn_cli.words import plural


def columns_alone(count: int) -> Encoding:
    """The encoding of a run whose examples are no rows of a table: numbers in their order."""
    return Encoding(tuple(Column(f"x{number}") for number in range(1, count + 1)), named=False)


def target_names(data: DataSpec, how: Preprocessing | None = None) -> tuple[str, ...] | None:
    """The names of the targets of a run, or in a `data` section; None where they have none."""
    if how is not None and how.encoding is not None:
        return how.encoding.targets
    if not isinstance(data, CsvSpec) or data.target is None:
        return None
    return tuple(map(str, data.target if isinstance(data.target, tuple) else (data.target,)))


def encoding_of(how: Preprocessing, data: DataSpec) -> Encoding:
    """How the rows of a table become examples of a run.

    Args:
      how: the run's preprocessing.
      data: its `data` section.

    Raises:
      DataError: an older senn trained the run on a table, without keeping the names of its columns,
        and the table is no longer there.
    """
    if how.encoding is not None:
        return how.encoding
    count = int(np.prod(how.shape, dtype=np.int64))
    if not isinstance(data, CsvSpec):
        return columns_alone(count)
    targets = target_names(data) or ()
    try:
        table = read_table(data.path, data.delimiter, data.header)
    except DataError as error:
        raise DataError(
            f"an older senn trained the run, which kept no names of columns, and its table cannot "
            f"be read any more: {error.message}",
            hint=f"put it back to {data.path}, or train anew",
        ) from error
    features = tuple(Column(name) for name in table.header if name not in targets)
    if len(features) != count:
        raise DataError(
            f"{data.path} has {plural(len(features), 'column')} of features, but the run has "
            f"{count}: it is not the table that the run learnt from"
        )
    return Encoding(features, targets)


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
