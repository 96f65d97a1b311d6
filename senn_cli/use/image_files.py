"""Image files and folders of them, as the run's examples: see `senn_cli.data.images`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.data.images import decode, decode_all
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.errors import DataError

SUFFIXES = (".png", ".jpg", ".jpeg")
# What operating systems leave behind; anything else in a folder must be an image.
_IGNORED = frozenset({"thumbs.db", "desktop.ini"})


def files_below(folder: Path) -> list[Path]:
    """All files in a folder and the folders below it, sorted; hidden ones are passed over.

    Raises:
      DataError: the folder cannot be read, or holds no files.
    """

    def refuse(error: OSError) -> None:
        raise error

    try:
        found = sorted(
            Path(place) / name
            for place, _, names in os.walk(folder, onerror=refuse)
            for name in names
            if not name.startswith(".") and name.lower() not in _IGNORED
        )
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror or error}") from error
    if not found:
        raise DataError(f"{folder} holds no images")
    return found


def require_images(how: Preprocessing) -> None:
    """Raises DataError where a run's examples are no 8-bit images, gray or RGB."""
    if how.dtype != "uint8" or not (
        len(how.shape) == 2 or (len(how.shape) == 3 and how.shape[2] in (1, 3))
    ):
        raise DataError(
            "the run's examples are no 8-bit images, gray or RGB, but "
            f"{how.dtype} of the shape {how.shape}",
            hint="Give it arrays (.npz, .npy) or a table (.csv).",
        )


def read_images(paths: Sequence[Path], how: Preprocessing) -> Array:
    """Image files as uint8 `(N, *how.shape)`.

    For square examples the shorter side of every image is resized and the middle cut out, as
    `data.size` does; for others every image must have their size.

    Raises:
      DataError: files that are no images or damaged, or of another size; all are named.
    """
    height, width = how.shape[:2]
    channels = how.shape[2] if len(how.shape) == 3 else 1
    if height == width:
        images = decode_all(paths, height, channels)
    else:
        images = np.stack([_exactly(path, height, width, channels) for path in paths])
    return images.reshape(len(paths), *how.shape)


def _exactly(path: Path, height: int, width: int, channels: int) -> Array:
    image = decode(path, None, channels)
    if image.shape[:2] != (height, width):
        raise DataError(
            f"{path} has {image.shape[1]}x{image.shape[0]} pixels, but the run's examples have "
            f"{width}x{height}"
        )
    return image
