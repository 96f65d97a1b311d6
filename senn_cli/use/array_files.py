"""Arrays in `.npz` and `.npy` files, as predictions take them."""

from __future__ import annotations

from pathlib import Path

from senn_cli.data.dataset import Array
from senn_cli.data.numpy_files import Archive, opened
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
    with opened(path) as found:
        if not isinstance(found, Archive):
            return found, str(path)
        if name is None:
            if len(found.names) != 1:
                listed = ", ".join(map(repr, found.names)) or "none"
                raise DataError(
                    f"{path} has {len(found.names)} arrays: {listed}",
                    hint="Name one of them with --array.",
                )
            name = found.names[0]
        array = found.take(name, "Did you mean --array {}?", "Name another with --array.")
        return array, f"{path}, array {name!r}"
