"""`source: cifar10` and `source: cifar100`: the official binary files, found or downloaded.

A record is one label byte (CIFAR-100: a coarse and a fine one) and 3072 pixel bytes: the red, the
green and the blue plane of 32x32 pixels, row by row. There is no pickle in them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from senn_cli.data.archived import locate
from senn_cli.data.dataset import Array, Part, Source
from senn_cli.data.download import Say, say_on_stderr
from senn_cli.data.images import convert_all
from senn_cli.data.published import CIFAR10, CIFAR100
from senn_cli.errors import DataError
from senn_cli.given import require_file

_SIDE = 32
_PIXELS = 3 * _SIDE * _SIDE


def load_cifar10(
    root: Path | None, size: int | None = None, channels: int = 3, *, say: Say = say_on_stderr
) -> Source:
    """Loads CIFAR-10.

    Args:
      root: `data.root` of the spec; None for `$SENN_DATA`, then the user's cache or a download.
      size, channels: see `senn_cli.data.images.convert_all`.
      say: is told of downloads.

    Returns:
      uint8 images `(50000, 32, 32, 3)` and 10,000 test images, ten classes.

    Raises:
      DataError: files missing or damaged, or labels that are no class.
    """
    folder = locate(CIFAR10, root, say=say)
    classes = _names(folder / "batches.meta.txt", 10)
    train = [folder / f"data_batch_{number}.bin" for number in range(1, 6)]
    test = [folder / "test_batch.bin"]
    return _source("cifar10", train, test, 1, 0, classes, size, channels)


def load_cifar100(
    root: Path | None,
    size: int | None = None,
    channels: int = 3,
    labels: str = "fine",
    *,
    say: Say = say_on_stderr,
) -> Source:
    """Loads CIFAR-100, with 100 fine or 20 coarse classes; see `load_cifar10`.

    Args:
      root, size, channels, say: as for CIFAR-10.
      labels: "fine" or "coarse".
    """
    folder = locate(CIFAR100, root, say=say)
    fine = labels == "fine"
    classes = _names(folder / f"{labels}_label_names.txt", 100 if fine else 20)
    train, test = [folder / "train.bin"], [folder / "test.bin"]
    return _source("cifar100", train, test, 2, 1 if fine else 0, classes, size, channels)


def _source(
    name: str,
    train_files: list[Path],
    test_files: list[Path],
    label_bytes: int,
    label: int,
    classes: tuple[str, ...],
    size: int | None,
    channels: int,
) -> Source:
    parts, notes, first_id = [], [], 0
    for what, files, published in (("train", train_files, 50_000), ("test", test_files, 10_000)):
        read = [_read(file, label_bytes, label, classes) for file in files]
        x = convert_all(np.concatenate([images for images, _ in read]), size, channels)
        y = np.concatenate([numbers for _, numbers in read])
        parts.append(Part(x, y, np.arange(first_id, first_id + len(x), dtype=np.int64)))
        first_id += len(x)
        expected = published // len(classes)
        counts = np.bincount(y, minlength=len(classes))
        if (counts != expected).any():
            notes.append(
                f"{what}: classes have {counts.min()} to {counts.max()} examples; in the published "
                f"{name} each has {expected}"
            )
    return Source(name, "classification", parts[0], parts[1], classes, notes=tuple(notes))


def _read(
    file: Path, label_bytes: int, label: int, classes: tuple[str, ...]
) -> tuple[Array, Array]:
    """The images `(N, 32, 32, 3)` and class numbers of one file."""
    try:
        require_file(file)
        content = np.fromfile(file, np.uint8)
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror or error}") from error
    record = label_bytes + _PIXELS
    if len(content) == 0 or len(content) % record:
        raise DataError(
            f"{file} has {len(content)} bytes, which is no number of records of {record} bytes: it "
            "is cut off, or not of the binary version"
        )
    records = content.reshape(-1, record)
    numbers = records[:, label].astype(np.int32)
    if int(numbers.max()) >= len(classes):
        row = int(np.argmax(numbers >= len(classes)))
        raise DataError(
            f"{file}: record {row} has the label {numbers[row]}, but there are {len(classes)} "
            "classes, counted from 0"
        )
    planes = records[:, label_bytes:].reshape(-1, 3, _SIDE, _SIDE)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), numbers


def _names(file: Path, count: int) -> tuple[str, ...]:
    try:
        require_file(file)
        names = tuple(file.read_text("ascii").split())
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read: {error}") from error
    if len(set(names)) != count or len(names) != count:
        raise DataError(f"{file} should name {count} classes, one a line, found {len(set(names))}")
    return names
