"""When a run saves itself, and what stands in its checkpoints beside the arrays."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from senn_cli.data.dataset import Dataset
from senn_cli.errors import RunError
from senn_cli.runs import layout
from senn_cli.runs.checkpoints import CheckpointStore
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.keep import KeepRules
from senn_cli.spec.checkpoints import CheckpointsSpec
from senn_cli.training.loop import Trainer
from senn_cli.training.snapshot import Moment, arrays_of, document_of

CHECKPOINTS = "checkpoints"
BEFORE_GROWTH = "checkpoints-before-growth"


def store_in(directory: Path, spec: CheckpointsSpec, per_epoch: int) -> CheckpointStore:
    """The checkpoints in a run directory, kept by the rules of the spec."""
    every = None if spec.keep_every is None else spec.keep_every.in_steps(per_epoch)
    rules = KeepRules(spec.keep, every, spec.best is not None, spec.maximise)
    return CheckpointStore(directory / CHECKPOINTS, rules)


def nothing_saved(store: CheckpointStore) -> bool:
    """Whether no checkpoint has ever been complete here, damaged ones included."""
    damaged = store.directory.glob("*.damaged*")
    return not store.steps() and not any(damaged)


def set_unmarked_aside(store: CheckpointStore) -> list[int]:
    """Sets checkpoints aside that have lost their marker, and returns their steps, newest first.

    A save gives a checkpoint its name when the marker is there, so no kill leaves one without.
    """
    names = [path.name for path in layout.leftovers(store.directory)]
    steps = sorted((int(name) for name in names if name.isdecimal()), reverse=True)
    for step in steps:
        store.set_aside(step)
    return steps


def forget_after(directory: Path, step: int) -> None:
    """Removes moments before growth that come after `step`, and what killed saves left of some.

    The run goes on from `step`, perhaps in another way than before.

    Raises:
      RunError: they cannot be removed.
    """
    store = CheckpointStore(directory / BEFORE_GROWTH, KeepRules())
    store.clean()
    for later in store.steps():
        if later > step:
            path = layout.step_path(store.directory, later)
            try:
                layout.remove(path)
            except OSError as error:
                raise RunError(f"{path} cannot be removed: {error.strerror or error}") from error


def data_digest(dataset: Dataset) -> str:
    """A checksum of all parts of the data, by which a resumed run knows them again."""
    value = 0
    for part in (dataset.train, dataset.validation, dataset.test):
        for array in () if part is None else (part.x, part.y, part.ids):
            value = zlib.crc32(np.ascontiguousarray(array).data, value)
    return f"{value:08x}"


class Saver:
    """Saves a trainer's moments into its run directory.

    Args:
      digest: of the data, see `data_digest`.
      clock: seconds, monotonic.
    """

    def __init__(
        self,
        directory: RunDirectory,
        spec: CheckpointsSpec,
        trainer: Trainer,
        digest: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.directory, self.spec, self.trainer, self.digest = directory, spec, trainer, digest
        per_epoch = trainer.timetable.per_epoch
        self.store = store_in(directory.path, spec, per_epoch)
        # A round's two moments have the same step, so those before it have a store of their own.
        self.before = CheckpointStore(directory.path / BEFORE_GROWTH, KeepRules(spec.keep))
        self.clock = clock
        self.saved_at = clock()
        self.history_size = 0

    def boundary(self, trainer: Trainer) -> None:
        """Saves if the spec's interval has passed."""
        every = self.spec.every
        if not self.spec.enabled:
            return
        if every.minutes is not None:
            due = self.clock() - self.saved_at >= 60 * every.minutes
        else:
            due = trainer.step % every.in_steps(trainer.timetable.per_epoch) == 0
        if due:
            self.save(trainer.moment)

    def grown(self, before: Moment, after: Moment) -> None:
        """Saves before and after a growth event, if the spec wants it."""
        if self.spec.enabled and self.spec.growth:
            document = self._document(before) | {"history_bytes": self.history_size}
            with self.trainer.ledger.phase("save"):
                self.before.save(before.step, arrays_of(before), document)
            self.save(after)

    def save(self, moment: Moment, *, wait: bool = False) -> None:
        """Saves `moment`; returns when its arrays are copied, or with `wait` when it is on disk.

        Raises:
          RunError: an earlier save has failed, or with `wait` this one.
        """
        row = self.trainer.last_row
        metric = row.get(self.spec.best or "") if row.get("step") == moment.step else None
        with self.trainer.ledger.phase("save"):
            document = self._document(moment)
            self.store.save(moment.step, arrays_of(moment), document, metric=metric, wait=wait)
        self.saved_at = self.clock()

    def close(self) -> None:
        """Waits for the last save; RunError if it has failed."""
        self.before.close()
        self.store.close()

    def note_history(self) -> None:
        """Remembers how long the history is before a round's events are written."""
        self.history_size = self.directory.sizes()["history"]

    def _document(self, moment: Moment) -> dict[str, Any]:
        sizes, ledger = self.directory.sizes(), self.trainer.ledger
        return document_of(moment) | {
            "seed": self.trainer.seed,
            "data": self.digest,
            "limit": self.trainer.limit,
            "metrics_bytes": sizes["metrics"],
            "history_bytes": sizes["history"],
            "seconds": dict(ledger.seconds) | {"total": ledger.total()},
            "compiled": dict(ledger.compiled),
            "cache_hits": ledger.cache_hits,
        }
