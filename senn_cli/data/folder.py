"""`source: folder`: the user's own PNG and JPEG images, a folder a class.

Three layouts, told apart by the folder `train`:

- class folders alone: a share is held out as the test part;
- `train` and one of `test` and `val`, each with class folders: the other one is the test part;
- `train`, `val` and `test`: `val` is the validation part.

Each of the three may have another of its usual names (see `NAMES`), in capitals or not.
"""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from senn_cli.data.dataset import Part, Source
from senn_cli.data.images import decode_all
from senn_cli.errors import DataError

NAMES = {
    "train": ("train", "training"),
    "val": ("val", "valid", "validation", "dev"),
    "test": ("test", "testing"),
}
"""What the folder of each part may be called."""

# What operating systems leave behind; anything else that is no image is a fault.
_IGNORED = frozenset({"thumbs.db", "desktop.ini"})
_IGNORED_FOLDERS = frozenset({"__macosx"})


def load(path: Path, size: int | None = None, channels: int = 3) -> Source:
    """Loads class folders of images, all of them converted as `senn_cli.data.images` says.

    Files may lie in folders below a class's folder. Hidden files (`.name`) are passed over, as are
    Thumbs.db and desktop.ini; any other file must be an image.

    Args:
      path: the directory.
      size, channels: see `senn_cli.data.images`; with None as size all images must have one size.

    Returns:
      uint8 images `(N, H, W, channels)`; the classes are the names of the folders in alphabetical
      order, the images of a class are in the order of their paths. Its notes say which folder
      became which part.

    Raises:
      DataError: another layout, a class without training images, or faulty files, all named.
    """
    if not path.is_dir():
        what = "is a file, not a directory" if path.exists() else "does not exist"
        raise DataError(f"data.path: {path} {what}")
    folders = _parts(path)
    files = {name: _files(folder) for name, folder in folders.items()}
    classes = _classes(folders, files)
    order = [
        (name, number, file) for name in files for number, file in _numbered(files[name], classes)
    ]
    # In one go, so that all faulty files are named at once.
    x = decode_all([file for _, _, file in order], size, channels)
    y = np.array([number for _, number, _ in order], np.int32)
    parts, start = {}, 0
    for name in files:
        stop = start + sum(part == name for part, _, _ in order)
        parts[name] = Part(x[start:stop], y[start:stop], np.arange(start, stop, dtype=np.int64))
        start = stop
    test = parts.get("test", parts.get("val"))
    own = "val" in parts and "test" in parts
    return Source(
        name="folder",
        task="classification",
        train=parts["train"],
        test=test,
        classes=classes,
        validation=parts["val"] if own else None,
        notes=_notes(path, folders, parts),
    )


def _parts(path: Path) -> dict[str, Path]:
    """The folder of every part; the directory itself as "train" where it holds class folders.

    Raises:
      DataError: parts without one to train on, two folders of one part, or another folder beside
        them.
    """
    found: dict[str, list[Path]] = {}
    others = []
    for folder in _folders(path):
        part = next((part for part, names in NAMES.items() if folder.name.lower() in names), None)
        if part is None:
            others.append(folder)
        else:
            found.setdefault(part, []).append(folder)
    if "train" not in found:
        if found and not others:  # no classes are called `test` and `val` alone
            listed = " and ".join(str(folder) for folders in found.values() for folder in folders)
            raise DataError(
                f"{path} holds {listed}, but no folder to train on",
                hint=f"call it {path / 'train'}",
            )
        return {"train": path}
    for part, folders in found.items():
        if len(folders) > 1:
            raise DataError(
                f"{folders[0]} and {folders[1]} both name the {part} part",
                hint="keep one of them in this directory",
            )
    if others:
        known = ", ".join(name for part in ("val", "test") for name in NAMES[part])
        raise DataError(
            f"{others[0]} lies beside {found['train'][0]}, but is no part: parts beside it are "
            f"called {known}",
            hint="rename it, or move it away; class folders belong into the folders of the parts. "
            f"If {found['train'][0].name!r} is a class, give it another name.",
        )
    return {part: found[part][0] for part in NAMES if part in found}


def _notes(path: Path, folders: dict[str, Path], parts: dict[str, Part]) -> tuple[str, ...]:
    """Which folder became which part, for whoever has named them."""
    if folders["train"] == path:
        return ()
    meant = {"val": "validation" if "test" in parts else "test"}
    told = [
        f"{folder.name} is the {meant.get(part, part)} part ({len(parts[part])})"
        for part, folder in folders.items()
    ]
    rest = [] if len(folders) > 1 else ["the test part is cut from it"]
    return (f"{path}: {', '.join([*told, *rest])}",)


def _folders(path: Path) -> list[Path]:
    """The folders in a directory, sorted, without hidden ones and what systems leave behind."""
    try:
        return [
            entry
            for entry in sorted(path.iterdir())
            if not entry.name.startswith(".")
            and entry.name.lower() not in _IGNORED_FOLDERS
            and entry.is_dir()
        ]
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error


def _files(folder: Path) -> dict[str, list[Path]]:
    """The files of every class folder, by the class's name; both sorted."""
    try:
        found = {entry.name: _below(entry) for entry in _folders(folder)}
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror or error}") from error
    if not found:
        raise DataError(
            f"{folder} has no class folders",
            hint=f"put the images of each class into a folder of its own, such as {folder}/cat",
        )
    return found


def _below(folder: Path) -> list[Path]:
    def refuse(error: OSError) -> None:
        raise error

    return sorted(
        Path(place) / name
        for place, _, names in os.walk(folder, onerror=refuse)
        for name in names
        if not name.startswith(".") and name.lower() not in _IGNORED
    )


def _classes(folders: dict[str, Path], files: dict[str, dict[str, list[Path]]]) -> tuple[str, ...]:
    """The names of the classes: those of the training part, which has images of all of them."""
    classes = tuple(files["train"])
    for name in classes:
        if not files["train"][name]:
            raise DataError(f"{folders['train'] / name} holds no images")
    for part, found in files.items():
        for name in found:
            if name not in classes:
                close = get_close_matches(name, classes, n=1)
                raise DataError(
                    f"{folders[part] / name} is a class that {folders['train']} does not have",
                    hint=f"did you mean {close[0]!r}?" if close else None,
                )
        if not any(found.values()):
            raise DataError(f"{folders[part]} holds no images")
    return classes


def _numbered(files: dict[str, list[Path]], classes: tuple[str, ...]) -> list[tuple[int, Path]]:
    return [(classes.index(name), file) for name, below in files.items() for file in below]
