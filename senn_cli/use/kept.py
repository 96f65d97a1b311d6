"""What `senn evaluate` leaves in a run, so that its page can show it: `evaluation-SPLIT.json`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from senn_cli.errors import RunError
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.files import write_atomic
from senn_cli.runs.jsonl import dumps
from senn_cli.use.evaluation import Evaluation

FORMAT = 1
"""Version of the file; a change of what a key means would raise it."""


def as_dict(run: Path, found: Evaluation) -> dict[str, Any]:
    """The evaluation as plain values; what is undefined is None."""
    return {
        "run": str(run.absolute()),
        "data": str(found.data.absolute()),
        "split": found.split,
        "task": type(found.measures).__name__.lower(),
        **asdict(found.measures),
        "notes": list(found.notes),
    }


def keep(run: Path, found: Evaluation) -> Path | None:
    """Writes an evaluation of a run on its own data beside them, in place of an earlier one.

    The file has the keys of `as_dict`, `format`, the `step` up to which the run was trained, and
    `shown`, see `shown.py`.

    Args:
      run: its directory.
      found: of its final network.

    Returns:
      The file; None where other data or a checkpoint were measured.

    Raises:
      RunError: it cannot be written.
    """
    if not found.own:
        return None
    directory = RunDirectory.open(run)
    path = directory.path / f"evaluation-{found.split}.json"
    step = (directory.summary() or {}).get("steps")
    value = {"format": FORMAT, "step": step} | as_dict(run, found) | {"shown": found.shown}
    try:
        write_atomic(path, dumps(value) + "\n")
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from error
    return path
