"""Arrays in `.npz` and `.npy` files. Pickled objects are never loaded."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.errors import DataError


def read_array(path: Path, name: str | None) -> tuple[Array, str]:
    """One array of a file, and how to call it in an error.

    Args:
      path: an archive of named arrays, or a file with a single one.
      name: of the array in an archive; without it the archive must have just one.

    Raises:
      DataError: the file or the array cannot be read, is damaged, holds Python objects, or is not
        there.
    """
    try:
        # Opened here, as np.load leaves a file open when it turns out to be damaged.
        with path.open("rb") as file:
            return _read(file, path, name)
    except (DataError, MemoryError):
        raise
    except Exception as error:  # a damaged archive can raise almost anything
        text = getattr(error, "strerror", None) or str(error) or type(error).__name__
        if "allow_pickle" in text or "pickled" in text:
            raise DataError(
                f"{path} holds Python objects, or is no file of NumPy's",
                hint="Objects are never loaded: a pickle can run any code. Store an array of "
                "numbers by numpy.save or numpy.savez.",
            ) from error
        raise DataError(f"{path} cannot be read: {text}") from error


def _read(file: BinaryIO, path: Path, name: str | None) -> tuple[Array, str]:
    found = np.load(file, allow_pickle=False)
    if not isinstance(found, np.lib.npyio.NpzFile):
        return np.asarray(found), str(path)
    with found as archive:
        if name is None:
            if len(archive.files) != 1:
                raise DataError(
                    f"{path} has {len(archive.files)} arrays: {_named(archive.files)}",
                    hint="Name one of them with --array.",
                )
            name = archive.files[0]
        if name not in archive.files:
            near = get_close_matches(name, archive.files, n=1)
            raise DataError(
                f"{path} has no array {name!r}; it has {_named(archive.files)}",
                hint=f"Did you mean --array {near[0]}?" if near else "Name another with --array.",
            )
        return np.asarray(archive[name]), f"{path}, array {name!r}"


def _named(names: list[str]) -> str:
    return ", ".join(map(repr, names)) or "none"
