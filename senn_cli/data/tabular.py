"""Tables of numbers and categories as examples, whatever they are read from."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from senn_cli.data.again import placed
from senn_cli.data.chosen import categories_of, features_of, require, targets_of, weights_of
from senn_cli.data.dataset import Array, Part, Source
from senn_cli.data.encoding import Encoding
from senn_cli.data.features import choose, missing, read, row_numbers, truths_as_numbers
from senn_cli.data.numerals import is_missing, number
from senn_cli.data.readers import first, others
from senn_cli.data.table import Table
from senn_cli.data.targets import as_flags, as_labels, as_weights, class_names, class_numbers
from senn_cli.errors import DataError
from senn_cli.spec.tables import TableSpec

_INT64 = 2**63
_MANY_CLASSES = 20


def load(spec: TableSpec, known: Encoding | None = None) -> Source:
    """Loads a table, and the other parts from tables with the same columns where there are such.

    Every column that is no target is a feature, unless `data.columns` or `data.drop` says so.
    Rows with missing values are refused, left out, or kept for `Encoding.filled`.

    Args:
      spec: the `data` section.
      known: the encoding of a run whose columns are read, and no others.

    Returns:
      Inputs float64 `(N, columns)`, numbers or the numbers of categories as the source's encoding
      names them, and NaN where a value is missing that will be filled. Classes are the sorted
      labels of all tables; of several labels the names of their columns.

    Raises:
      DataError: faults of the tables, named by row and column; the first few at once.
    """
    parts, features, targets, weights, notes = _tables(spec, known)
    tables = list(parts.values())
    if known is not None:
        categorical = [column.categories is not None for column in known.features]
        inputs, columns, found = read(tables, features, categorical, known.features)
    else:
        auto = spec.categories == "auto"
        listed = "auto" if auto else categories_of(tables[0], spec.categories, features)
        inputs, columns, found = read(tables, features, choose(tables, features, listed))
        found += row_numbers(tables[0], features, inputs[0])
    outputs, labels = _outputs(tables, targets, spec.task)
    counts = read(tables, weights, [False] * len(weights))[0]
    needed = [np.concatenate(pair, axis=1) for pair in zip(outputs, counts, strict=True)]
    fills = known.fill is not None if known is not None else spec.fill is not None
    must = (*targets, *weights)
    keep, dropped = _complete(tables, features, must, inputs, needed, spec.missing, fills)
    names_of: tuple[str, ...] = ()
    outputs = [y[rows] for y, rows in zip(outputs, keep, strict=True)]
    if spec.task == "classification":
        outputs, names_of, more = _classes(tables, labels, targets[0], keep)
        found += more
    elif spec.task == "multilabel":
        names_of = targets
        outputs = [as_flags(y, t.name) for y, t in zip(outputs, tables, strict=True)]
    made, first_id = {}, 0
    for name, x, y, w, rows in zip(parts, inputs, outputs, counts, keep, strict=True):
        ids = np.flatnonzero(rows).astype(np.int64) + first_id
        told = f"{parts[name].name}, column {weights[0]!r}" if weights else ""
        made[name] = Part(x[rows], y, ids, as_weights(w[rows, 0], told) if weights else None)
        first_id += len(rows)
    return Source(
        name=spec.source,
        task=spec.task,
        train=made["train"],
        test=made.get("test"),
        classes=names_of,
        validation=made.get("validation"),
        notes=(*notes, *found, *dropped),
        encoding=Encoding(columns, targets, tables[0].named),
    )


def _tables(
    spec: TableSpec, known: Encoding | None
) -> tuple[dict[str, Table], tuple[str, ...], tuple[str, ...], tuple[str, ...], list[str]]:
    """The tables by their part; their features, targets and weights; notes."""
    names = known.names if known is not None and known.named else None
    train = first(spec, names)
    targets = targets_of(train, spec, known)
    weights = weights_of(train, spec, targets)
    taken = (*targets, *weights)
    features = known.names if known is not None else features_of(train, spec, taken)
    same = (*features, *taken) if train.named else None
    tables = {"train": train, **others(spec, same)}
    notes = [note for table in tables.values() for note in table.notes]
    if known is not None:
        for part, table in tables.items():
            tables[part], other = placed(table, known)
            notes += [] if other is None else [other]
    elif spec.target is None and not train.targets:
        notes.append(f"no column is named as data.target: the last, {targets[0]}, is predicted")
    for table in tables.values():
        for name in (*features, *taken):
            require(table, name, "data.target" if name in targets else train.name)
    return tables, features, targets, weights, notes


def _outputs(
    tables: Sequence[Table], targets: Sequence[str], task: str
) -> tuple[list[Array], list[list[str]]]:
    """Numbers `(N, targets)` with NaN where one is missing; for classes their texts beside them."""
    if task == "multilabel":
        tables = [truths_as_numbers(table, targets) for table in tables]
    if task != "classification":
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
