"""`source: tiny_imagenet`: the official folders, found or downloaded.

The official test images have no labels, so `val` with its `val_annotations.txt` is the test part;
the validation part is held out of `train` as for any other source. About 2 of 100 files are gray.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from senn_cli.data.archived import locate
from senn_cli.data.dataset import Part, Source
from senn_cli.data.download import Say, say_on_stderr
from senn_cli.data.images import decode_all
from senn_cli.data.published import TINY_IMAGENET
from senn_cli.errors import DataError
from senn_cli.given import require_file

_PUBLISHED_PER_CLASS = 500


def load(
    root: Path | None,
    classes: int | tuple[str, ...] | None = None,
    per_class: int | None = None,
    size: int | None = None,
    channels: int = 3,
    *,
    say: Say = say_on_stderr,
) -> Source:
    """Loads Tiny-ImageNet or some of its classes.

    Args:
      root: `data.root` of the spec; None for `$SENN_DATA`, then the user's cache or a download.
      classes: how many, the first of `wnids.txt` (a mixed order); or which, by identifier
        (`n01443537`) or name (`goldfish`); None for all.
      per_class: how many training images of each to read, the lowest numbers first; None for all.
      size, channels: see `senn_cli.data.images`.
      say: is told of downloads.

    Returns:
      uint8 images `(N, 64, 64, 3)`; classes in the order of their identifiers, named by the first
      word of `words.txt`.

    Raises:
      DataError: files missing or damaged (all of them are named), or unknown classes.
    """
    folder = locate(TINY_IMAGENET, root, say=say)
    names = _names(folder)
    chosen = _chosen(folder, names, classes)
    number = {identifier: index for index, identifier in enumerate(chosen)}

    train_files: list[Path] = []
    train_labels: list[int] = []
    for identifier in chosen:
        files = _listed(folder / "train" / identifier / "images")[:per_class]
        train_files += files
        train_labels += [number[identifier]] * len(files)
    annotated = [
        (folder / "val" / "images" / file, number[identifier])
        for file, identifier in _annotations(folder / "val" / "val_annotations.txt", names)
        if identifier in number
    ]
    if not annotated:
        raise DataError(f"{folder / 'val'} has no image of the classes that were asked for")
    # In one go, so that all faulty files are named at once.
    x = decode_all([*train_files, *(file for file, _ in annotated)], size, channels)
    y = np.array([*train_labels, *(label for _, label in annotated)], np.int32)
    ids = np.arange(len(x), dtype=np.int64)
    count = len(train_files)
    notes = []
    counts = np.bincount(y[:count], minlength=len(chosen))
    if per_class is None and (counts != _PUBLISHED_PER_CLASS).any():
        notes.append(
            f"train: classes have {counts.min()} to {counts.max()} examples; in the published "
            f"tiny_imagenet each has {_PUBLISHED_PER_CLASS}"
        )
    return Source(
        name="tiny_imagenet",
        task="classification",
        train=Part(x[:count], y[:count], ids[:count]),
        test=Part(x[count:], y[count:], ids[count:]),
        classes=tuple(names[identifier] for identifier in chosen),
        notes=tuple(notes),
    )


def _names(folder: Path) -> dict[str, str]:
    """The name of every class by identifier, in the order of `wnids.txt`."""
    words = dict(line.split("\t", 1) for line in _lines(folder / "words.txt") if "\t" in line)
    names: dict[str, str] = {}
    for identifier in _lines(folder / "wnids.txt"):
        first = words.get(identifier, identifier).split(",")[0].strip()
        # Two classes can share their first word (crane, the bird and the machine).
        names[identifier] = f"{first} ({identifier})" if first in names.values() else first
    return names


def _chosen(
    folder: Path, names: dict[str, str], classes: int | tuple[str, ...] | None
) -> list[str]:
    """The identifiers of the classes asked for, sorted."""
    if classes is None:
        return sorted(names)
    if isinstance(classes, int):
        if classes > len(names):
            raise DataError(
                f"data.classes asks for {classes} classes, but {folder / 'wnids.txt'} has "
                f"{len(names)}"
            )
        return sorted(list(names)[:classes])
    by_name = {name: identifier for identifier, name in names.items()}
    found: dict[str, str] = {}
    for wanted in classes:
        identifier = wanted if wanted in names else by_name.get(wanted)
        if identifier is None:
            raise DataError(
                f"data.classes names {wanted!r}, which is no class of {folder / 'wnids.txt'}",
                hint="give identifiers such as n01443537, or the first name in words.txt",
            )
        if identifier in found:
            raise DataError(
                f"data.classes names {identifier} twice: as {found[identifier]!r} and {wanted!r}"
            )
        found[identifier] = wanted
    return sorted(found)


def _listed(folder: Path) -> list[Path]:
    """The image files of a folder, `a_2` before `a_10`."""
    try:
        files = [path for path in folder.iterdir() if not path.name.startswith(".")]
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror or error}") from error
    if not files:
        raise DataError(f"{folder} holds no images")
    return sorted(files, key=lambda path: [int(n) for n in re.findall(r"\d+", path.name)])


def _annotations(file: Path, names: dict[str, str]) -> list[tuple[str, str]]:
    """The file name and class of every image of `val`; boxes are not used."""
    found = []
    for number, line in enumerate(_lines(file), start=1):
        cells = line.split("\t")
        if len(cells) < 2 or cells[1] not in names or Path(cells[0]).name != cells[0]:
            raise DataError(
                f"{file}:{number}: should be a file name, a tab and a class of wnids.txt"
            )
        found.append((cells[0], cells[1]))
    return found


def _lines(file: Path) -> list[str]:
    try:
        require_file(file)
        return [line for line in file.read_text("utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read: {error}") from error
