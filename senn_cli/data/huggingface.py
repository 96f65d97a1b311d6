"""`source: huggingface`: tables, images and arrays of Hugging Face's library `datasets`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from senn_cli.data import tabular
from senn_cli.data.arrays import Arrays, source_of
from senn_cli.data.chosen import targets_of, weights_of
from senn_cli.data.dataset import Array, Source
from senn_cli.data.encoding import Encoding
from senn_cli.data.images import upright
from senn_cli.data.saved_splits import PIXELS, Split, splits, table_of
from senn_cli.data.table import Table, texts
from senn_cli.errors import DataError
from senn_cli.spec.tables import HuggingfaceSpec


def load(spec: HuggingfaceSpec, known: Encoding | None = None) -> Source:
    """Loads a data set: one column of images or arrays, or else a table of all its columns.

    Args:
      spec: the `data` section.
      known: the encoding of a run whose columns are read from a table.

    Returns:
      Images uint8 `(N, H, W)` in gray or `(N, H, W, 3)` in color, arrays of the type they are
      stored in, or what `tabular.load` returns.

    Raises:
      DataError: pictures of several sizes, or images beside other columns that would be inputs.
    """
    parts = splits(spec)
    column = _pixels(parts["train"], spec)
    if column is None:
        return tabular.load(spec, known)
    made: dict[str, Arrays] = {}
    names: tuple[str, ...] = ()
    for part, split in parts.items():
        table = table_of(split)
        names = targets_of(table, spec, None)
        weights = weights_of(table, spec, names)
        x = _images(split, column) if split.kind(column) == "Image" else _arrays(split, column)
        counts = None if not weights else np.asarray(table.values(weights[0]))
        made[part] = Arrays(split.name, x, _targets(table, names, spec.task), counts)
    found = source_of(spec.source, spec.task, made, names)
    return replace(found, notes=(f"{parts['train'].name}: inputs are the column {column!r}",))


def _pixels(split: Split, spec: HuggingfaceSpec) -> str | None:
    """The column of images or arrays that is learnt from; None where the inputs are a table."""
    features = tuple(map(str, split.rows.features))
    chosen = [name for name in features if spec.columns is None or name in spec.columns]
    found = [name for name in chosen if split.kind(name) in PIXELS and name not in spec.drop]
    if not found:
        return None
    table = table_of(split)
    taken = targets_of(table, spec, None)
    taken += weights_of(table, spec, taken)
    rest = [name for name in chosen if name not in (*taken, *spec.drop, found[0])]
    if rest:
        raise DataError(
            f"{split.name}: {found[0]!r} holds images or arrays, which are learnt from alone, but "
            f"there are other columns: {', '.join(rest)}",
            hint=f"data.columns: [{found[0]}], or data.drop: [{found[0]}] for the others",
        )
    return found[0]


def _images(split: Split, column: str) -> Array:
    """All pictures, gray `(N, H, W)` if all are, else in color `(N, H, W, 3)`."""
    found: list[Array] = []
    for row, example in enumerate(split.rows.select_columns([column])):
        image = example[column]
        if image is None:
            raise DataError(f"{split.name}, column {column!r}: the image of row {row} is missing")
        found.append(upright(image))
        if found[-1].shape[:2] != found[0].shape[:2]:
            sizes = [f"{a.shape[1]}x{a.shape[0]}" for a in (found[0], found[-1])]
            raise DataError(
                f"{split.name}, column {column!r}: the image of row {row} has {sizes[1]} pixels, "
                f"the first has {sizes[0]}",
                hint="bring them to one size before: dataset.map(lambda row: {"
                f"'{column}': row['{column}'].resize((64, 64))}})",
            )
    if all(image.ndim == 2 for image in found):
        return np.stack(found)
    return np.stack([i if i.ndim == 3 else np.repeat(i[..., None], 3, axis=2) for i in found])


def _arrays(split: Split, column: str) -> Array:
    values = split.rows.select_columns([column]).with_format("numpy")[:][column]
    array = np.asarray(values)
    if array.dtype == object:
        raise DataError(f"{split.name}, column {column!r}: its arrays differ in shape")
    return array.astype(split.rows.features[column].dtype)


def _targets(table: Table, names: tuple[str, ...], task: str) -> Array:
    columns = [table.values(name) for name in names]
    if task == "classification":
        if "" in (labels := texts(columns[0])):
            raise DataError(
                f"{table.where(labels.index(''))}: the label of column {names[0]!r} is missing",
                hint="leave such rows out: dataset.filter(...)",
            )
        numeric = isinstance(columns[0], np.ndarray)
        return np.asarray(columns[0]) if numeric else np.array(labels, np.str_)
    faulty = [n for n, column in zip(names, columns, strict=True) if isinstance(column, list)]
    if faulty:
        raise DataError(
            f"{table.name}: the column {faulty[0]!r} is predicted, but holds no numbers"
        )
    return np.stack([np.asarray(column) for column in columns], axis=1)
