"""Whether a directory is free for a run that is about to be made."""

from __future__ import annotations

from pathlib import Path

from senn_cli.errors import UsageError
from senn_cli.runs.abandoned import clear, is_abandoned


def require_free(path: Path, option: str = "--run-dir") -> None:
    """Raises `UsageError` where `path` is a file, or a directory with something in it.

    What a process has left that was killed while it made a run directory is removed first.

    Args:
      option: the one that named `path`, for the message.
    """
    if path.is_dir() and is_abandoned(path):
        clear(path)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise taken(path, option)


def taken(path: Path, option: str = "--run-dir") -> UsageError:
    """The error that says that `path` is not."""
    what = "is not empty" if path.is_dir() else "is not a directory"
    return UsageError(
        f"{path.absolute()} {what}; a run needs a directory of its own.",
        hint=f"Give {option} a new or an empty directory.",
    )
