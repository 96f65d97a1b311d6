"""`source: mnist` and `source: fashion_mnist`: the official idx files, found or downloaded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from senn_cli.data.dataset import Part, Source
from senn_cli.data.download import Say, cache_directory, download, say_on_stderr
from senn_cli.data.idx import read_idx
from senn_cli.data.published import (
    FILES,
    PUBLISHED,
    TEST_IMAGES,
    TEST_LABELS,
    TRAIN_IMAGES,
    TRAIN_LABELS,
    Published,
)
from senn_cli.errors import DataError

Files = Mapping[str, Path]


def load(name: str, root: Path | None, *, say: Say = say_on_stderr) -> Source:
    """Loads one of the published data sets.

    With `root`, the files must be there. Otherwise `$SENN_DATA` is searched, then the user's cache,
    into which they are downloaded if need be.

    Args:
      name: "mnist" or "fashion_mnist".
      root: `data.root` of the spec.
      say: is told of downloads.

    Returns:
      uint8 images `(60000, 28, 28)` and 10,000 test images, ten classes.

    Raises:
      DataError: files missing, damaged, of other shapes, or those of the other data set.
    """
    published = PUBLISHED[name]
    files = find(published, root)
    if files is None:
        files = fetch(published, cache_directory(name), say=say)
    train = _part(files[TRAIN_IMAGES], files[TRAIN_LABELS], published, first_id=0)
    test = _part(files[TEST_IMAGES], files[TEST_LABELS], published, first_id=len(train))
    if train.x.shape[1:] != test.x.shape[1:]:
        raise DataError(
            f"{files[TRAIN_IMAGES]} has images of {train.x.shape[1:]} pixels, "
            f"but {files[TEST_IMAGES]} of {test.x.shape[1:]}"
        )
    _refuse_the_other(train, published, files[TRAIN_LABELS])
    return Source(
        name=name, task="classification", train=train, test=test, classes=published.classes
    )


def find(published: Published, root: Path | None) -> Files | None:
    """The four files below `root`, or else below `$SENN_DATA`.

    The data set's own folders come first (`mnist`, `MNIST/raw`), then the directory itself. Files
    may be gzipped or not and named with a dash or a dot (`train-images.idx3-ubyte`).

    Returns:
      The path of every file, or None where `root` is None and `$SENN_DATA` is unset or has none.

    Raises:
      DataError: `root` has none of the files, or some are there and others are missing.
    """
    directory = root
    if directory is None:
        set_by_user = os.environ.get("SENN_DATA")
        if not set_by_user:
            return None
        directory = Path(set_by_user).expanduser()
    places = [*(directory / folder for folder in published.folders), directory]
    for place in places:
        files = {name: _existing(place, name) for name in FILES}
        missing = [name for name, path in files.items() if path is None]
        if len(missing) == len(FILES):
            continue
        if missing:
            raise DataError(f"{place} lacks {', '.join(missing)} (with or without .gz)")
        return {name: path for name, path in files.items() if path is not None}
    if root is None:
        return None
    looked = ", ".join(str(place) for place in places)
    raise DataError(
        f"data.root has no {published.name} files; "
        f"looked for {TRAIN_IMAGES}.gz and so on in {looked}",
        hint=f"download them with: senn data fetch {published.name}",
    )


def fetch(
    published: Published, directory: Path, *, replace: bool = True, say: Say = say_on_stderr
) -> Files:
    """Downloads what is missing of the four gzipped files into `directory`, checksums checked.

    Args:
      published: which data set, with its mirrors and checksums.
      directory: where to put the files.
      replace: whether damaged files there may be replaced.
      say: is told of downloads.

    Raises:
      DataError: see `senn_cli.data.download.download`.
    """
    try:
        return {
            name: download(
                f"{name}.gz",
                published.sha256[name],
                published.mirrors,
                directory,
                replace=replace,
                say=say,
            )
            for name in FILES
        }
    except DataError as error:
        hint = error.hint or (
            "without a connection, put the four files into a directory and name it by "
            "data.root or the environment variable SENN_DATA"
        )
        raise DataError(error.message, title="Download", hint=hint) from error


def cached(published: Published) -> bool:
    """Whether all four files have been downloaded before (their hashes are checked on loading)."""
    directory = cache_directory(published.name)
    return all((directory / f"{name}.gz").is_file() for name in FILES)


def _existing(place: Path, name: str) -> Path | None:
    """The file under one of its usual names."""
    dotted = name.replace("-idx", ".idx")
    for candidate in (f"{name}.gz", name, f"{dotted}.gz", dotted):
        path = place / candidate
        if path.is_file():
            return path
    return None


def _part(images: Path, labels: Path, published: Published, first_id: int) -> Part:
    x, y = read_idx(images), read_idx(labels)
    if x.ndim != 3:
        raise DataError(
            f"{images} holds an array of shape {x.shape}, not images (N, height, width)"
        )
    if y.ndim != 1 or len(y) != len(x):
        raise DataError(
            f"{labels} holds labels of shape {y.shape} for the {len(x)} images of {images}"
        )
    if len(y) == 0:
        raise DataError(f"{images} holds no images")
    if int(y.max()) >= len(published.classes):
        row = int(np.argmax(y >= len(published.classes)))
        raise DataError(
            f"{labels}: row {row} has the label {y[row]}, but there are "
            f"{len(published.classes)} classes, counted from 0"
        )
    return Part(x, y.astype(np.int32), np.arange(first_id, first_id + len(x), dtype=np.int64))


def _refuse_the_other(train: Part, published: Published, path: Path) -> None:
    """MNIST and Fashion-MNIST have the same file names; training on the wrong one looks normal."""
    counts = tuple(np.bincount(train.y, minlength=len(published.classes)).tolist())
    for other in PUBLISHED.values():
        if other.name != published.name and counts == other.train_counts:
            raise DataError(
                f"{path} belongs to {other.name}, not to {published.name}",
                hint=f"keep them apart in folders {other.folders[0]} and {published.folders[0]}",
            )
