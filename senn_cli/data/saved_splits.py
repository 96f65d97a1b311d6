"""The splits of a data set of Hugging Face's library `datasets`, and their columns as tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from senn_cli.data.arrow import values_of
from senn_cli.data.dataset import Array
from senn_cli.data.frames import joined
from senn_cli.data.table import Cells, Table
from senn_cli.errors import DataError
from senn_cli.extras import require
from senn_cli.spec.tables import HuggingfaceSpec

PIXELS = ("Image", "Array2D", "Array3D")
"""Features that are images or arrays."""


@dataclass(frozen=True)
class Split:
    """A part of a data set.

    Attributes:
      name: how to call it in a sentence.
      rows: a `datasets.Dataset`.
    """

    name: str
    rows: Any

    def kind(self, column: str) -> str:
        """What a column is: `ClassLabel`, `Value`, `Image`, ..."""
        return type(self.rows.features[column]).__name__


def splits(spec: HuggingfaceSpec) -> dict[str, Split]:
    """The splits that the spec names, as parts `train`, and perhaps `validation` and `test`.

    Raises:
      DataError: no such data set or split, or one that cannot be downloaded.
      UsageError: the library is not installed.
    """
    library = require("datasets", "A data set of Hugging Face", extra="huggingface")
    found = _opened(library, spec)
    origin = str(spec.path or spec.name)
    if not isinstance(found, dict):
        for key in ("test_split", "validation_split"):
            asked = getattr(spec, key)
            if asked not in ("auto", None):
                raise DataError(f"data.{key} is {asked}, but {origin} has no splits")
        return {"train": Split(origin, found)}
    wanted = {"train": spec.split}
    for part, asked in (("validation", spec.validation_split), ("test", spec.test_split)):
        if asked == "auto" and part in found and part != spec.split:
            wanted[part] = part
        elif asked not in ("auto", None):
            wanted[part] = asked
    for part, name in wanted.items():
        if name not in found:
            key = "split" if part == "train" else f"{part}_split"
            raise DataError(
                f"{origin} has no split {name!r}, which data.{key} names; it has {', '.join(found)}"
            )
    return {part: Split(f"{origin}, split {name}", found[name]) for part, name in wanted.items()}


def table_of(split: Split) -> Table:
    """The columns of a split; the names of classes in place of their numbers.

    A single column of classes is what is predicted, unless the spec says otherwise.
    """
    labels = [name for name in split.rows.features if split.kind(name) == "ClassLabel"]
    table = joined(_columns(split), split.name)
    # Columns of images have names to be left out by, but stand for no numbers.
    images = {name: () for name in split.rows.features if split.kind(name) in PIXELS}
    targets = tuple(labels) if len(labels) == 1 else ()
    return replace(table, targets=targets, vectors={**table.vectors, **images})


def _columns(split: Split) -> Iterator[tuple[str, Cells | Array, bool]]:
    whole = split.rows.with_format("arrow")[:]
    for name, feature in split.rows.features.items():
        if split.kind(name) in PIXELS:
            continue
        column = whole.column(name)
        if split.kind(name) == "ClassLabel":
            # Of hidden labels the number is -1.
            known = [None if n is None or n < 0 else n for n in column.to_pylist()]
            yield name, ["" if n is None else feature.int2str(n) for n in known], True
            continue
        yield (name, *values_of(column, f"{split.name}, column {name!r}"))


def _opened(library: Any, spec: HuggingfaceSpec) -> Any:
    library.disable_progress_bars()
    if spec.path is not None:
        if not spec.path.is_dir():
            what = "is a file, not a directory" if spec.path.exists() else "does not exist"
            raise DataError(f"data.path: {spec.path} {what}")
        try:
            return library.load_from_disk(str(spec.path))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{spec.path} holds no data set that can be read: {error}",
                hint="it is written by `dataset.save_to_disk(path)`",
            ) from error
    try:
        return library.load_dataset(spec.name, spec.config)
    except (OSError, ValueError) as error:  # being offline is a ConnectionError
        raise DataError(
            f"the data set {spec.name} is not in the cache of `datasets`, or cannot be downloaded: "
            f"{error}",
            hint="without a network: write it to disk where there is one, with "
            "`datasets.load_dataset(name).save_to_disk(path)`, and name that as data.path",
        ) from error
