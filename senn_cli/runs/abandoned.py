"""Directories that a process made for a run and left at once: killed before it wrote the spec.

Such a directory holds nothing, so that a new run may have it. What counts as one is told by what is
in it, and no file of anybody else is ever removed.
"""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

from senn_cli.errors import RunError
from senn_cli.runs.holder import Holder
from senn_cli.runs.lock import LOCK, RunLock

_CLAIM, _HISTORY, _TRANSFER = "metrics.jsonl", "history.jsonl", "transfer.json"
_FILES = frozenset({_CLAIM, _HISTORY, _TRANSFER, LOCK, "preprocessing.json"})
# As `files.write_atomic` names what it has not finished.
_HALF_MADE = re.compile(r"\.[a-z]+\.(json|yaml)\.[0-9]+-[0-9a-f]{6}\.tmp")
_FOLDERS = frozenset({"checkpoints"})

_CLAIMING = 5.0
"""Seconds after which a directory without a lock is nobody's: a live one has it in a moment."""


def is_abandoned(path: Path) -> bool:
    """Whether `path` holds only what comes before a run's spec, and nobody uses it."""
    return _holds_nothing(path) and not _in_use(path)


def clear(path: Path) -> None:
    """Empties an abandoned directory, unless another process has taken it in the meantime.

    Raises:
      UsageError: another process holds its lock.
      RunError: it cannot be emptied.
    """
    with RunLock(path) as lock:
        # With our lock in it, `is_abandoned` would see us.
        if not _holds_nothing(path) or (lock.taken_from is None and _is_fresh(path)):
            return
        try:
            for entry in path.iterdir():
                if entry.name == LOCK:
                    continue
                if entry.is_dir():
                    shutil.rmtree(entry)
                else:
                    entry.unlink()
        except OSError as error:
            raise RunError(f"{path} cannot be emptied: {error.strerror or error}") from error


def _holds_nothing(path: Path) -> bool:
    entries = list(path.iterdir())
    transferred = (path / _TRANSFER).is_file()
    return bool(entries) and all(_is_before(entry, transferred) for entry in entries)


def _is_before(entry: Path, transferred: bool) -> bool:
    """Whether a process writes this before the spec.

    Args:
      transferred: whether the run was to start from another one. Then it begins with a checkpoint
        and a line of the history that tell of the other run alone.
    """
    if entry.is_symlink():
        return False
    if entry.is_dir():
        known = entry.name in _FOLDERS
        return known and (transferred or not any(one.is_file() for one in entry.rglob("*")))
    if entry.name == _CLAIM or (entry.name == _HISTORY and not transferred):
        return entry.stat().st_size == 0
    return entry.name in _FILES or _HALF_MADE.fullmatch(entry.name) is not None


def _in_use(path: Path) -> bool:
    try:
        content = (path / LOCK).read_bytes()
    except OSError:
        return _is_fresh(path)
    holder = Holder.from_json(content)
    return _is_fresh(path) if holder is None else holder.alive() is not False


def _is_fresh(path: Path) -> bool:
    try:
        return time.time() - (path / _CLAIM).stat().st_mtime < _CLAIMING
    except OSError:
        return False
