"""`tracking.json` of a run: under which names its trackers know it, so that they go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from senn_cli.errors import RunError
from senn_cli.runs.files import write_atomic
from senn_cli.runs.jsonl import dumps

FILE = "tracking.json"


def recall(run: Path, tracker: str) -> dict[str, Any]:
    """What `tracker` remembered in the directory of the run; empty the first time.

    Raises:
      RunError: the file is damaged or cannot be read.
    """
    found = _read(run / FILE).get(tracker, {})
    return found if isinstance(found, dict) else {}


def remember(run: Path, tracker: str, values: dict[str, Any]) -> None:
    """Replaces what `tracker` remembered; what others did stays.

    Raises:
      RunError: the file is damaged.
      OSError: it cannot be written.
    """
    path = run / FILE
    write_atomic(path, dumps(_read(path) | {tracker: values}, indent=2) + "\n")


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise RunError(f"{path} is damaged: {error}") from error
    if not isinstance(value, dict):
        raise RunError(f"{path} is damaged: expected a JSON object.")
    return value
