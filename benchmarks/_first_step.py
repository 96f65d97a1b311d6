"""`senn` as `python -m senn_cli` starts it, which notes when its first steps are done.

    python benchmarks/_first_step.py FILE train SPEC ...

Writes into FILE the reading of the monotonic clock, which processes share on Linux, and the
CPU-seconds of this process, all of its threads included, at the first boundary between steps.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from senn_cli import __main__ as command
from senn_cli.training.observer import Observers

NOTES = Path(sys.argv.pop(1))
BOUNDARY = Observers.boundary


def noted(self: Observers, moment: Any) -> None:
    """The boundary of a run, as ever; the first one is noted."""
    if not NOTES.exists():
        told = {"at": time.perf_counter(), "cpu": time.process_time()}
        NOTES.write_text(json.dumps(told), encoding="utf-8")
    BOUNDARY(self, moment)


Observers.boundary = noted  # type: ignore[method-assign]
command.main()
