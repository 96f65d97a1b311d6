"""`source: npz`: the user's own arrays in a NumPy archive. Pickled objects are never loaded."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np

from senn_cli.data.dataset import Array, Part, Source, Task
from senn_cli.data.numpy_files import Archive, opened
from senn_cli.data.targets import as_labels, as_numbers, class_names, class_numbers
from senn_cli.errors import DataError


def load(path: Path, test_path: Path | None, inputs: str, targets: str, task: Task) -> Source:
    """Loads inputs and targets from one archive, and a test part from another if there is one.

    Args:
      path: the archive with the training examples.
      test_path: an archive with arrays of the same names, or None (a share is then held out).
      inputs: name of the array of inputs, `(N, *shape)` or `(N,)` for a single feature.
      targets: name of the array of targets: labels `(N,)`, or values `(N,)` or `(N, k)`.
      task: "classification" or "regression".

    Returns:
      Inputs uint8 as they are, all other real numbers as `as_numbers` keeps them. Classes are the
      sorted labels of both archives.

    Raises:
      DataError: unreadable archives, missing arrays, pickled objects, lengths or shapes that do not
        agree, values that are not finite.
    """
    train_x, train_y = _read(path, inputs, targets, task)
    if test_path is None:
        return _source(task, train_x, train_y, None, None)
    test_x, test_y = _read(test_path, inputs, targets, task)
    for what, ours, theirs in (("inputs", train_x, test_x), ("targets", train_y, test_y)):
        if ours.shape[1:] != theirs.shape[1:]:
            raise DataError(
                f"{what} of one example have shape {ours.shape[1:]} in {path}, "
                f"but {theirs.shape[1:]} in {test_path}"
            )
    if (train_x.dtype == np.uint8) != (test_x.dtype == np.uint8):
        raise DataError(
            f"inputs are {train_x.dtype} in {path}, but {test_x.dtype} in {test_path}",
            hint="store both alike, so that both have the same range of values",
        )
    if train_x.dtype != np.uint8:
        wide = np.result_type(train_x, test_x)
        train_x, test_x = train_x.astype(wide), test_x.astype(wide)
    if task == "regression":
        wide = np.result_type(train_y, test_y)
        train_y, test_y = train_y.astype(wide), test_y.astype(wide)
    if task == "classification" and (train_y.dtype.kind == "U") != (test_y.dtype.kind == "U"):
        raise DataError(f"labels are text in one of {path} and {test_path}, numbers in the other")
    return _source(task, train_x, train_y, test_x, test_y)


def _source(
    task: Task, train_x: Array, train_y: Array, test_x: Array | None, test_y: Array | None
) -> Source:
    names: tuple[str, ...] = ()
    if task == "classification":
        labels, names = class_names(*(y for y in (train_y, test_y) if y is not None))
        train_y = class_numbers(train_y, labels)
        test_y = None if test_y is None else class_numbers(test_y, labels)
    train = Part(train_x, train_y, np.arange(len(train_x), dtype=np.int64))
    test = None
    if test_x is not None and test_y is not None:
        test = Part(test_x, test_y, np.arange(len(test_x), dtype=np.int64) + len(train_x))
    return Source(name="npz", task=task, train=train, test=test, classes=names)


def _read(path: Path, inputs: str, targets: str, task: Task) -> tuple[Array, Array]:
    """Inputs, and labels or values, of one archive, checked."""
    arrays = _arrays(path, (inputs, targets))
    x_name, y_name = f"{path}, array {inputs!r}", f"{path}, array {targets!r}"
    x, y = arrays[inputs], arrays[targets]
    for what, array in ((x_name, x), (y_name, y)):
        if array.ndim == 0:
            raise DataError(f"{what}: a single value instead of one entry an example")
    if len(x) != len(y):
        raise DataError(f"{x_name} has {len(x)} examples, but {y_name} has {len(y)}")
    if x.size == 0:
        raise DataError(f"{x_name} is empty: its shape is {x.shape}")
    x = x if x.dtype == np.uint8 else as_numbers(x, x_name)
    x = x[:, None] if x.ndim == 1 else x
    if task == "classification":
        return x, as_labels(y, y_name)
    if y.ndim > 2 or y.size == 0:
        raise DataError(f"{y_name}: values must have shape (N,) or (N, k), not {y.shape}")
    y = as_numbers(y, y_name)
    return x, y[:, None] if y.ndim == 1 else y


def _arrays(path: Path, names: tuple[str, ...]) -> dict[str, Array]:
    """The named arrays of an archive."""
    with opened(path) as found:
        if not isinstance(found, Archive):
            raise DataError(
                f"{path} holds a single array, not an archive of named ones",
                hint="write it with numpy.savez(path, x=..., y=...)",
            )
        other = "set data.inputs and data.targets"
        return {name: found.take(name, other=other) for name in names}


def shape_of(path: Path, name: str) -> tuple[int, ...] | None:
    """The shape of an array, from its header alone; None where none can be read."""
    try:
        if not path.is_file():
            return None
        with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as file:
            version = np.lib.format.read_magic(file)
            read = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape: tuple[int, ...] = read(file)[0]
            return shape
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None  # loading says what is wrong
