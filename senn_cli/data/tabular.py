"""Tables of numbers and categories as examples, whatever they are read from: `source: csv`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from senn_cli.data.again import placed
from senn_cli.data.chosen import categories_of, features_of, require, targets_of
from senn_cli.data.dataset import Array, Part, Source
from senn_cli.data.encoding import Encoding
from senn_cli.data.features import choose, missing, read, row_numbers
from senn_cli.data.numerals import is_missing, number
from senn_cli.data.table import Table
from senn_cli.data.targets import as_labels, class_names, class_numbers
from senn_cli.data.text_table import read_table
from senn_cli.errors import DataError
from senn_cli.spec.data import CsvSpec

_INT64 = 2**63
_MANY_CLASSES = 20


def load(spec: CsvSpec, known: Encoding | None = None) -> Source:
    """Loads a table, and a test part from another table with the same columns if there is one.

    Every column that is no target is a feature, unless `data.columns` or `data.drop` says so.
    Rows with missing values are refused, left out, or kept for `Encoding.filled`.

    Args:
      spec: the `data` section.
      known: the encoding of a run whose columns are read, and no others.

    Returns:
      Inputs float64 `(N, columns)`, numbers or the numbers of categories as the source's encoding
      names them, and NaN where a value is missing that will be filled. Classes are the sorted
      labels of both tables.

    Raises:
      DataError: faults of the file, named by `file:line` and column; the first few at once.
    """
    tables, features, targets, notes = _tables(spec, known)
    if known is not None:
        categorical = [column.categories is not None for column in known.features]
        inputs, columns, found = read(tables, features, categorical, known.features)
    else:
        auto = spec.categories == "auto"
        listed = "auto" if auto else categories_of(tables[0], spec.categories, features)
        inputs, columns, found = read(tables, features, choose(tables, features, listed))
        found += row_numbers(tables[0], features, inputs[0])
    outputs, labels = _outputs(tables, targets, spec.task)
    fills = known.fill is not None if known is not None else spec.fill is not None
    keep, dropped = _complete(tables, features, targets, inputs, outputs, spec.missing, fills)
    names_of: tuple[str, ...] = ()
    if spec.task == "classification":
        outputs, names_of, more = _classes(tables, labels, targets[0], keep)
        found += more
    parts, first_id = [], 0
    for x, y, rows in zip(inputs, outputs, keep, strict=True):
        ids = np.flatnonzero(rows).astype(np.int64) + first_id
        parts.append(Part(x[rows], y if spec.task == "classification" else y[rows], ids))
        first_id += len(rows)
    return Source(
        name="csv",
        task=spec.task,
        train=parts[0],
        test=parts[1] if len(parts) > 1 else None,
        classes=names_of,
        notes=(*notes, *found, *dropped),
        encoding=Encoding(columns, targets, tables[0].named),
    )


def _tables(
    spec: CsvSpec, known: Encoding | None
) -> tuple[list[Table], tuple[str, ...], tuple[str, ...], list[str]]:
    """The table, and the one with the test part; their features and targets; notes."""
    names = known.names if known is not None and known.named else None
    train = read_table(spec.path, spec.delimiter, spec.header, names)
    targets = targets_of(train, spec, known)
    features = known.names if known is not None else features_of(train, spec, targets)
    tables, notes = [train], list(train.notes)
    if spec.test_path is not None:
        same = (*features, *targets) if train.named else None
        tables.append(read_table(spec.test_path, spec.delimiter, spec.header, same))
        notes += tables[1].notes
    if known is not None:
        for place, table in enumerate(tables):
            tables[place], other = placed(table, known)
            notes += [] if other is None else [other]
    elif spec.target is None:
        notes.append(f"no column is named as data.target: the last, {targets[0]}, is predicted")
    for table in tables:
        for name in (*features, *targets):
            require(table, name, "data.target" if name in targets else train.name)
    return tables, features, targets, notes


def _outputs(
    tables: Sequence[Table], targets: Sequence[str], task: str
) -> tuple[list[Array], list[list[str]]]:
    """Numbers `(N, targets)` with NaN where one is missing; for classes their texts beside them."""
    if task == "regression":
        return read(tables, targets, [False] * len(targets))[0], []
    labels = [table.column(targets[0]) for table in tables]
    present = [cell for column in labels for cell in column if not is_missing(cell)]
    # Among words, `none` or `?` may be a class.
    numeric = bool(present) and all(_is_finite(cell) for cell in present)
    gaps = [
        np.array([np.nan if not c or (numeric and is_missing(c)) else 0.0 for c in column])
        for column in labels
    ]
    return [array[:, None] for array in gaps], labels


def _complete(
    tables: Sequence[Table],
    features: Sequence[str],
    targets: Sequence[str],
    inputs: Sequence[Array],
    outputs: Sequence[Array],
    how: str,
    fills: bool,
) -> tuple[list[Array], list[str]]:
    """The rows that are kept of every table, and notes on the others."""
    gaps = missing(tables, outputs, targets)
    if not fills:
        gaps = ", ".join(filter(None, [missing(tables, inputs, features), gaps]))
    if gaps and how == "refuse":
        raise DataError(
            f"values are missing: {gaps}",
            hint="say what is done about them: data.missing: median (or mean, most_frequent, "
            "drop); rows without a target are left out then, and data.drop leaves columns out",
        )
    keep: list[Array] = []
    for x, y in zip(inputs, outputs, strict=True):
        gap = np.asarray(np.isnan(y).any(axis=1))
        keep.append(~gap if fills else ~(gap | np.isnan(x).any(axis=1)))
    notes = []
    for table, rows in zip(tables, keep, strict=True):
        out = int((~rows).sum())
        if out == len(rows):
            raise DataError(f"{table.name} has no row without a missing value: {gaps}")
        if out:
            notes.append(f"{table.short}: {out} of {len(rows)} rows are left out: {gaps}")
    if fills and (filled := missing(tables, inputs, features)):
        notes.append(f"missing values are filled: {filled}")
    return keep, notes


def _classes(
    tables: Sequence[Table], labels: Sequence[Sequence[str]], name: str, keep: Sequence[Array]
) -> tuple[list[Array], tuple[str, ...], list[str]]:
    """The class numbers of the rows that are kept, the names of the classes, and notes."""
    kept = [
        [c for c, k in zip(cells, rows, strict=True) if k]
        for cells, rows in zip(labels, keep, strict=True)
    ]
    columns = [np.array(cells, dtype=np.str_) for cells in kept]
    numeric = all(_is_finite(cell) for cells in kept for cell in cells)
    values = [[_whole(cell) for cell in cells] for cells in kept] if numeric else []
    # Longer numbers are labels all the same, but as text.
    numeric = numeric and all(abs(value) < _INT64 for cells in values for value in cells)
    if numeric:
        columns = [
            as_labels(np.array(cells), f"{table.name}, column {name!r}")
            for cells, table in zip(values, tables, strict=True)
        ]
    known, names = class_names(*columns)
    numbers = [class_numbers(column, known) for column in columns]
    notes = []
    if len(known) > max(_MANY_CLASSES, len(kept[0]) // 10) and numeric:
        notes.append(
            f"column {name!r} has {len(known)} different numbers, which are taken for classes; "
            "for values to predict: data.task: regression"
        )
    given = tables[0].classes
    if given and numeric and known[0] >= 0 and known[-1] < len(given):
        names = tuple(given[int(number)] for number in known)
    return numbers, names, notes


def _whole(cell: str) -> int | float:
    """A number, exact where it is written as an integer (a float has 53 bits only)."""
    try:
        return int(cell)
    except ValueError:
        return float(cell)


def _is_finite(cell: str) -> bool:
    value = number(cell) if "," not in cell and " " not in cell else None
    return value is not None and math.isfinite(value)
