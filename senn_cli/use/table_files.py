"""Tables as text, for predictions: the columns that a run learnt from, no targets needed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from senn_cli.data.again import rows_of
from senn_cli.data.asked import columns_alone
from senn_cli.data.dataset import Array
from senn_cli.data.encoding import Column, Encoding
from senn_cli.data.parquet import SUFFIXES as PARQUET
from senn_cli.data.parquet import read_parquet
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.data.text_table import read_table
from senn_cli.errors import DataError
from senn_cli.spec import DataSpec
from senn_cli.spec.tables import CsvSpec, TableSpec
from senn_cli.words import plural


def target_names(data: DataSpec, how: Preprocessing | None = None) -> tuple[str, ...] | None:
    """The names of the targets of a run, or in a `data` section; None where they have none."""
    if how is not None and how.encoding is not None:
        return how.encoding.targets
    if not isinstance(data, TableSpec) or data.target is None:
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
    """The rows of a file as the run's examples are, see `senn_cli.data.again.rows_of`.

    Args:
      path: the table, a text or a Parquet file.
      known: the run's encoding.
      delimiter, header: see `senn_cli.data.text_table.read_table`.
    """
    if path.suffix.lower() in PARQUET:
        return rows_of(read_parquet(path), known)
    table = read_table(path, delimiter, header, known.names if known.named else None)
    return rows_of(table, known)
