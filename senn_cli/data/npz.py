"""`source: npz`: the user's own arrays in a NumPy archive. Pickled objects are never loaded."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np

from senn_cli.data.arrays import Arrays, source_of
from senn_cli.data.dataset import Array, Source, Task
from senn_cli.data.numpy_files import Archive, opened
from senn_cli.errors import DataError


def load(
    path: Path,
    test_path: Path | None,
    inputs: str,
    targets: str,
    task: Task,
    weights: str | None = None,
) -> Source:
    """Loads inputs and targets from one archive, and a test part from another if there is one.

    Args:
      path: the archive with the training examples.
      test_path: an archive with arrays of the same names, or None (a share is then held out).
      inputs: name of the array of inputs, `(N, *shape)` or `(N,)` for a single feature.
      targets: name of the array of targets: labels `(N,)`, values `(N,)` or `(N, k)`, or 0 and 1
        `(N, k)` for several labels.
      task: what the targets are.
      weights: name of the array that says how much every example counts, `(N,)`.

    Raises:
      DataError: unreadable archives, missing arrays, pickled objects, and as `source_of`.
    """
    files = {"train": path} if test_path is None else {"train": path, "test": test_path}
    parts = {part: _read(file, inputs, targets, weights) for part, file in files.items()}
    return source_of("npz", task, parts)


def _read(path: Path, inputs: str, targets: str, weights: str | None) -> Arrays:
    """The arrays of one archive as they are."""
    found = _arrays(path, (inputs, targets, *(() if weights is None else (weights,))))
    return Arrays(
        str(path),
        found[inputs],
        found[targets],
        None if weights is None else found[weights],
        *(f"array {name!r}" for name in (inputs, targets, weights)),
    )


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
