"""What the folder of a sweep says of the runs in it: `sweep.json`, beside their directories."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from senn_cli.errors import MISFORMED, RunError

NAME = "sweep.json"
"""The file in the folder."""

FORMAT = 1
"""Version of the file; a change of what a key means would raise it."""


@dataclass(frozen=True)
class Place:
    """A run's place in a sweep.

    Attributes:
      setting: what all seeds of one setting share.
      of: the setting that it is a control of; None for one of the sweep's own.
    """

    setting: str
    of: str | None


def read_sweep_file(folder: Path) -> dict[str, Any] | None:
    """The content of a folder's file; None where the folder is none of a sweep.

    Raises:
      RunError: it is damaged, or of another format.
    """
    path = folder / NAME
    try:
        found = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path} is damaged: {error}") from error
    if not isinstance(found, dict) or not isinstance(found.get("members"), list):
        raise RunError(f"{path} is damaged: expected an object with members")
    if found.get("format") != FORMAT:
        raise RunError(
            f"{path} is of format {found.get('format')}; this senn reads format {FORMAT}"
        )
    return found


def place_in_sweep(run: Path) -> Place | None:
    """Where a run stands in the sweep whose folder it lies in; None where it is none of one.

    Raises:
      RunError: the sweep's file is damaged.
    """
    path = run.parent / NAME
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        return None
    return _places(run.parent, changed).get(run.name)


@lru_cache(maxsize=8)
def _places(folder: Path, changed: int) -> dict[str, Place]:
    """All places in a sweep, by the names of directories; the time tells another content."""
    try:
        members = (read_sweep_file(folder) or {"members": []})["members"]
        by_name = {str(one["name"]): str(one["setting"]) for one in members}
        return {
            str(one["name"]): Place(str(one["setting"]), by_name.get(str(one["of"])))
            for one in members
        }
    except MISFORMED as error:
        raise RunError(f"{folder / NAME} is damaged: {type(error).__name__}: {error}") from error
