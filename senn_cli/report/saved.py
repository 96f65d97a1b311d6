"""The architectures that a run has saved."""

from __future__ import annotations

import json
from typing import Literal

from senn_cli.errors import MISFORMED, RunError
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import architecture_from_json
from senn_cli.report.record import Record


def saved_architectures(
    record: Record,
) -> list[tuple[Literal["checkpoint", "weights"], Architecture]]:
    """What is saved of a run, the checkpoint first.

    Raises:
      RunError: it is damaged.
    """
    try:
        checkpoint = record.architecture
    except RunError:
        if record.status != "running":
            raise
        checkpoint = None  # removed by the run between the listing and the reading
    found: list[tuple[Literal["checkpoint", "weights"], Architecture]] = []
    if checkpoint is not None:
        found.append(("checkpoint", checkpoint))
    weights = record.path / "weights" / "architecture.json"
    try:
        value = json.loads(weights.read_bytes())["architecture"]
        found.append(("weights", architecture_from_json(value)))
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, *MISFORMED) as error:
        raise RunError(f"{weights} is damaged: {error}") from error
    return found
