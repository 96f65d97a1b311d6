"""What `senn predict` is given: files and folders, told apart by their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from senn_cli.data.asked import examples_of
from senn_cli.data.dataset import Array
from senn_cli.data.parquet import SUFFIXES as PARQUET
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.errors import DataError, UsageError
from senn_cli.spec import DataSpec
from senn_cli.spec.data import NpzSpec
from senn_cli.spec.tables import CsvSpec
from senn_cli.use.array_files import read_array
from senn_cli.use.examples import as_examples
from senn_cli.use.image_files import SUFFIXES, files_below, read_images, require_images
from senn_cli.use.table_files import encoding_of, read_rows

IMAGES = 256
"""Images decoded at a time."""


@dataclass(frozen=True)
class Given:
    """Some examples of one input.

    Attributes:
      names: the input of every example, `(N,)`: the file that it is in.
      rows: its number within the file, from 0.
      x: the examples, `(N, *shape)`.
      notes: what to know about them, as sentences.
    """

    names: tuple[str, ...]
    rows: tuple[int, ...]
    x: Array
    notes: tuple[str, ...] = ()


def read_inputs(
    paths: Sequence[Path], how: Preprocessing, data: DataSpec, array: str | None = None
) -> Iterator[Given]:
    """The examples in files and folders, in the order of `paths`.

    Args:
      paths: `.npz`, `.npy`, tables (`.csv`, `.tsv`, `.txt`, `.data`, or one of these compressed,
        `.gz`; `.parquet`), image files, or folders of images.
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
        known_suffix = path.suffix.lower() in (*_ARRAYS, *_TABLES, *SUFFIXES)
        if not path.is_dir() and not known_suffix:
            known = ", ".join([*_ARRAYS, *_TABLES, *SUFFIXES])
            raise UsageError(f"{path}: an input is a folder of images or ends with one of {known}")
    for path in paths:
        if path.is_dir() or _is_image(path):
            yield from _images(path, how, data)
            continue
        if path.suffix.lower() in _ARRAYS:
            yield _given(path, _arrays(path, how, data, array))
        else:
            yield _table(path, how, data)


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES


def _arrays(path: Path, how: Preprocessing, data: DataSpec, array: str | None) -> Array:
    name = array
    if name is None and isinstance(data, NpzSpec):
        name = data.inputs
    values, what = read_array(path, name)
    if values.dtype.kind in "SU":  # columns of a table, with texts
        values, _ = examples_of(values, how, what)
    return as_examples(values, how, what)


def _table(path: Path, how: Preprocessing, data: DataSpec) -> Given:
    form = (data.delimiter, data.header) if isinstance(data, CsvSpec) else ()
    values, notes = read_rows(path, encoding_of(how, data), *form)
    return _given(path, as_examples(values, how, str(path)), notes)


def _given(path: Path, x: Array, notes: Sequence[str] = ()) -> Given:
    return Given((str(path),) * len(x), tuple(range(len(x))), x, tuple(notes))


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


_ARRAYS = (".npz", ".npy")
_TABLES = (".csv", ".tsv", ".txt", ".data", ".gz", *PARQUET)
