"""The directory of checkpoints: which names mean what, and how one appears and disappears.

| path | content |
|---|---|
| `<step>/arrays/` | the arrays, by Orbax |
| `<step>/meta.json` | format version, the arrays' table with checksums, the caller's own data |
| `<step>/complete` | the marker, an empty file, written last |
| `<step>.saving/` | a save in progress, or what a kill left of one |
| `<step>.removing/` | a removal in progress, or what a kill left of one |
| `<step>.damaged/` | one that could not be restored, set aside; never touched again |

A save happens under the name of its own and becomes `<step>` by one rename, when everything in it
has reached the disk. So no kill and no full disk makes a part look like a whole.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

from senn_cli.errors import RunError

CHECKPOINTS = "checkpoints"
BEFORE_GROWTH = "checkpoints-before-growth"
BEST = f"{CHECKPOINTS}/best"
"""Where a run directory has its checkpoints, its moments right before growth, its best moments."""

PLACES = (CHECKPOINTS, BEFORE_GROWTH, BEST)

ARRAYS = "arrays"
META = "meta.json"
MARKER = "complete"

_STEP = re.compile(r"0|[1-9][0-9]*")
_LEFTOVER = re.compile(r"(0|[1-9][0-9]*)\.(saving|removing)")


def step_path(directory: Path, step: int) -> Path:
    """Where the checkpoint of `step` lies when it is complete."""
    return directory / str(step)


def saving_path(directory: Path, step: int) -> Path:
    """Where the checkpoint of `step` is written."""
    return directory / f"{step}.saving"


def is_complete(path: Path) -> bool:
    """Whether `path` is the directory of a complete checkpoint."""
    return _STEP.fullmatch(path.name) is not None and (path / MARKER).is_file()


def complete_steps(directory: Path) -> tuple[int, ...]:
    """The steps of all complete checkpoints, ascending; none where `directory` does not exist.

    Raises:
      RunError: the directory cannot be read.
    """
    return tuple(sorted(int(path.name) for path in _entries(directory) if is_complete(path)))


def leftovers(directory: Path) -> list[Path]:
    """What unfinished saves and removals have left, and steps without a marker."""
    return sorted(
        path
        for path in _entries(directory)
        if _LEFTOVER.fullmatch(path.name)
        or (_STEP.fullmatch(path.name) and path.is_dir() and not is_complete(path))
    )


def _entries(directory: Path) -> list[Path]:
    try:
        return list(directory.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RunError(f"{directory} cannot be read: {error.strerror or error}") from error


def start(directory: Path, step: int) -> Path:
    """Makes the empty directory that `step` is written in.

    Raises:
      OSError: it cannot be made.
    """
    path = saving_path(directory, step)
    directory.mkdir(parents=True, exist_ok=True)
    if path.exists():
        shutil.rmtree(path)
    path.mkdir()
    return path


def commit(directory: Path, step: int) -> None:
    """Makes the finished content of `step`'s saving directory its checkpoint, at once.

    Raises:
      OSError: the disk is full or cannot be written. Before the last flush, no checkpoint has
        appeared.
    """
    saving, path = saving_path(directory, step), step_path(directory, step)
    _flush_tree(saving)
    marker = saving / MARKER
    marker.touch()
    _flush(marker)
    _flush(saving)
    if path.exists():  # without its marker, or it would not be saved again
        remove(path)
    saving.rename(path)
    _flush(directory)


def discard(directory: Path, step: int) -> None:
    """Removes what a failed save of `step` has written, as far as that can be done."""
    saving = saving_path(directory, step)
    for _ in range(20):
        shutil.rmtree(saving, ignore_errors=True)
        time.sleep(0.05)  # where one array failed, Orbax lets others be written to their end
        if not saving.exists():
            return


def remove(path: Path) -> None:
    """Removes a checkpoint; it stops being complete at once, before its files go one by one.

    Raises:
      OSError: it cannot be removed; what is left no longer counts as a checkpoint.
    """
    doomed = path.with_name(f"{path.name}.removing")
    if doomed.exists():
        shutil.rmtree(doomed)
    path.rename(doomed)
    shutil.rmtree(doomed)


def set_aside(path: Path) -> Path:
    """Renames a damaged checkpoint, so that it no longer counts; returns its new place.

    Raises:
      OSError: it cannot be renamed.
    """
    aside, number = path.with_name(f"{path.name}.damaged"), 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.damaged-{number}")
    return path.rename(aside)


def _flush_tree(path: Path) -> None:
    """Has the content of `path` reach the disk, files first."""
    for directory, _, files in os.walk(path, topdown=False):
        for name in files:
            _flush(Path(directory, name))
        _flush(Path(directory))


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
