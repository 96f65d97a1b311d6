"""What `senn predict` is given: files and folders, told apart by their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.errors import DataError, UsageError
from senn_cli.spec import DataSpec
from senn_cli.spec.data import CsvSpec, NpzSpec
from senn_cli.use.array_files import read_array
from senn_cli.use.evaluation import target_names
from senn_cli.use.examples import as_examples
from senn_cli.use.image_files import SUFFIXES, files_below, read_images, require_images
from senn_cli.use.table_files import Columns, header, read_table

IMAGES = 256
"""Images decoded at a time."""


@dataclass(frozen=True)
class Given:
    """Some examples of one input.

    Attributes:
      names: the input of every example, `(N,)`: the file that it is in.
      rows: its number within the file, from 0.
      x: the examples, `(N, *shape)`.
    """

    names: tuple[str, ...]
    rows: tuple[int, ...]
    x: Array


def read_inputs(
    paths: Sequence[Path], how: Preprocessing, data: DataSpec, array: str | None = None
) -> Iterator[Given]:
    """The examples in files and folders, in the order of `paths`.

    Args:
      paths: `.npz`, `.npy`, `.csv`, image files, or folders of images.
      how: the run's preprocessing.
      data: the run's `data` section.
      array: the name of the array in archives; None for that of the run, or the only one.

    Raises:
      UsageError: a path that does not exist or whose ending says nothing.
      DataError: faulty files, or numbers that do not fit the run.
    """
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist")
        if not path.is_dir() and path.suffix.lower() not in _READERS and not _is_image(path):
            known = ", ".join([*_READERS, *SUFFIXES])
            raise UsageError(f"{path}: an input is a folder of images or ends with one of {known}")
    for path in paths:
        if path.is_dir() or _is_image(path):
            yield from _images(path, how, data)
            continue
        x = _READERS[path.suffix.lower()](path, how, data, array)
        yield Given((str(path),) * len(x), tuple(range(len(x))), x)


def columns_of(how: Preprocessing, data: DataSpec) -> Columns:
    """The columns of a run's table; their names come from the run's own file while it is there."""
    count = int(np.prod(how.shape, dtype=np.int64))
    if not isinstance(data, CsvSpec):
        return Columns(count)
    targets = target_names(data) or ()
    names = header(data.path, data.delimiter)
    features = None if names is None else tuple(name for name in names if name not in targets)
    if features is not None and len(features) != count:
        features = None  # the file is another one by now
    return Columns(count, features, targets, data.delimiter)


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES


def _arrays(path: Path, how: Preprocessing, data: DataSpec, array: str | None) -> Array:
    name = array
    if name is None and isinstance(data, NpzSpec):
        name = data.inputs
    values, what = read_array(path, name)
    return as_examples(values, how, what)


def _table(path: Path, how: Preprocessing, data: DataSpec, array: str | None) -> Array:
    values = read_table(path, columns_of(how, data))
    # In 8-bit tables every number is an integer, written as one.
    whole = how.dtype == "uint8" and bool((values == np.floor(values)).all())
    return as_examples(values.astype(np.int64) if whole else values, how, str(path))


def _images(path: Path, how: Preprocessing, data: DataSpec) -> Iterator[Given]:
    require_images(how)
    if data.source == "digits":
        raise DataError(
            "the run's examples are scikit-learn's digits, with values from 0 to 16; images have "
            "values from 0 to 255",
            hint="Give it arrays (.npz, .npy) or a table (.csv) with such values.",
        )
    files = files_below(path) if path.is_dir() else [path]
    for start in range(0, len(files), IMAGES):
        some = files[start : start + IMAGES]
        yield Given(tuple(map(str, some)), (0,) * len(some), read_images(some, how))


_READERS = {".npz": _arrays, ".npy": _arrays, ".csv": _table}
