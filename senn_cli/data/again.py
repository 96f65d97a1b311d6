"""Tables that a run reads again: the columns that it learnt from, found by their names."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.data.encoding import Encoding
from senn_cli.data.features import SHOWN_COLUMNS, missing, read
from senn_cli.data.table import Table
from senn_cli.errors import DataError
from senn_cli.words import plural


def placed(table: Table, known: Encoding) -> tuple[Table, str | None]:
    """The table with the columns of `known`, found by their names, and a note on other columns.

    Columns that have no names of their own are found by their number: all of those that the run's
    table had, or its features alone.

    Raises:
      DataError: columns that are missing.
    """
    missing_names = [name for name in known.names if name not in table.header]
    if missing_names and not known.named and len(table.header) == len(known.names):
        return table.renamed(known.names), None
    if missing_names:
        _raise_missing(table, known, missing_names)
    other = [name for name in table.header if name not in (*known.names, *known.targets)]
    if not other or not (known.named or table.named):
        return table, None
    shown = ", ".join(map(repr, other[:SHOWN_COLUMNS]))
    more = f" and {len(other) - SHOWN_COLUMNS} more" if len(other) > SHOWN_COLUMNS else ""
    return table, f"{table.short}: columns that the run does not use: {shown}{more}"


def rows_of(table: Table, known: Encoding) -> tuple[Array, list[str]]:
    """The rows of another table as the run's examples are, and notes on what was found.

    Columns are found by their names, where these are the run's own. Targets are passed over.

    Args:
      table: with the columns of `known`.
      known: the run's encoding.

    Returns:
      (examples, notes): float64 `(N, inputs)`, with NaN where a value is missing that the run has
      something for.

    Raises:
      DataError: columns that are missing, cells that are no finite numbers, and values that are
        missing although the run has nothing that stands for them.
    """
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
    notes += [f"{table.short}: {note}" for note in known.unknown(columns, values)]
    if gaps:
        notes.append(f"missing values are filled: {gaps}")
    return np.asarray(known.encode(columns, values)), notes


def _raise_missing(table: Table, known: Encoding, names: Sequence[str]) -> None:
    wanted = ", ".join(map(repr, known.names))
    if not table.named and known.named:
        raise DataError(
            f"{table.where(0)}: the first line must name the columns, which the run "
            f"knows by name: {wanted}"
        )
    if not known.named:
        raise DataError(
            f"{table.name} has {plural(len(table.header), 'column')}, but the run has "
            f"{plural(len(known.names), 'feature')} without names and "
            f"{plural(len(known.targets), 'target')}"
        )
    own = [name for name in table.header if name not in known.targets]
    near = get_close_matches(names[0], own, n=1)
    raise DataError(
        f"{table.name} has no column {', '.join(map(repr, names))}, which the run learnt from; "
        f"its columns are {', '.join(map(repr, table.header))}",
        hint=f"Is {near[0]!r} the column {names[0]!r}?" if near else None,
    )
