"""Event files for TensorBoard, written by tensorboardX, which needs no other framework."""

from __future__ import annotations

import importlib
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from senn_cli.spec.dump import dump_spec
from senn_cli.spec.spec import Spec
from senn_cli.tracking.curves import event_curves, event_text, row_curves, summary_curves
from senn_cli.tracking.remembered import recall, remember

_EVENTS = "events.out.tfevents.*"


class TensorBoardTracker:
    """Writes scalars and texts to an event file of its own in the run's log directory.

    Args:
      spec: of the run; `track.tensorboard.directory` says where to.
      run: the run's directory.
      step: where the run starts from. TensorBoard forgets what earlier files of the directory have
        after it.

    The file is on the disk whenever a method returns. tensorboardX's own `SummaryWriter` writes
    from a thread, which a full disk ends, and then blocks for ever once its queue is full.
    """

    def __init__(self, spec: Spec, run: Path, step: int) -> None:
        self._summary = importlib.import_module("tensorboardX.summary")
        self._proto = importlib.import_module("tensorboardX.proto.event_pb2")
        writer = importlib.import_module("tensorboardX.event_file_writer").EventsWriter
        directory = _directory(spec.track.tensorboard.directory, run)
        earlier = len(list(directory.glob(_EVENTS)))
        # TensorBoard reads the files in the order of their names, and the name that tensorboardX
        # makes of the second alone may be taken.
        self._writer = writer(str(directory / "events"), f".{earlier:05d}")
        if earlier:
            start = self._proto.SessionLog(status=self._proto.SessionLog.START)
            self._write(step + 1, session_log=start)
        else:
            text = re.sub("^", "    ", dump_spec(spec), flags=re.MULTILINE)
            self._write(step, summary=self._summary.text("spec", text))
        self._writer.flush()

    def metrics(self, row: Mapping[str, Any]) -> None:
        """Writes the curves of a row."""
        self._scalars(row["step"], row_curves(row))

    def event(self, event: Mapping[str, Any]) -> None:
        """Writes the curves of an event, and what happened as a text."""
        self._write(event["step"], summary=self._summary.text("growth", event_text(event)))
        self._scalars(event["step"], event_curves(event))

    def end(self, summary: Mapping[str, Any]) -> None:
        """Writes the results on the test part."""
        self._scalars(summary["steps"], summary_curves(summary))

    def close(self) -> None:
        """Closes the file."""
        self._writer.close()

    def _scalars(self, step: int, curves: Mapping[str, float]) -> None:
        for name, value in curves.items():
            self._write(step, summary=self._summary.scalar(name, value))
        self._writer.flush()

    def _write(self, step: int, **content: Any) -> None:
        event = self._proto.Event(wall_time=time.time(), step=step, **content)
        self._writer.write_event(event)


def _directory(shared: Path | None, run: Path) -> Path:
    """The run's log directory, which exists when this returns."""
    if shared is None:
        directory = run / "tensorboard"
        directory.mkdir(exist_ok=True)
        return directory
    known = recall(run, "tensorboard")
    if known.get("shared") == str(shared):
        directory = shared / str(known["name"])
        directory.mkdir(parents=True, exist_ok=True)
        return directory
    shared.mkdir(parents=True, exist_ok=True)
    number, name = 1, run.name
    while True:  # runs of the same name in different places must not be mixed up
        try:
            (shared / name).mkdir()
        except FileExistsError:
            number += 1
            name = f"{run.name}-{number}"
            continue
        remember(run, "tensorboard", {"shared": str(shared), "name": name})
        return shared / name
