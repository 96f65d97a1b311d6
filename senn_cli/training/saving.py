"""When a run saves itself, and what stands in its checkpoints beside the arrays."""

from __future__ import annotations

import logging
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from senn_cli.data.dataset import Dataset
from senn_cli.data.rows import blocks
from senn_cli.errors import RunError
from senn_cli.runs import layout
from senn_cli.runs.arrays import host_copies
from senn_cli.runs.checkpoints import CheckpointStore
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.keep import KeepRules, best_moments
from senn_cli.runs.layout import BEFORE_GROWTH, BEST, CHECKPOINTS
from senn_cli.spec.checkpoints import CheckpointsSpec
from senn_cli.training.loop import Trainer
from senn_cli.training.network import Network
from senn_cli.training.observer import Halt, Observer
from senn_cli.training.optimizer import Optimizer
from senn_cli.training.snapshot import (
    Moment,
    architecture_in,
    arrays_of,
    document_of,
    expected_arrays,
    moment_from,
)

_log = logging.getLogger(__name__)


def store_in(directory: Path, spec: CheckpointsSpec, per_epoch: int) -> CheckpointStore:
    """The checkpoints in a run directory, kept by the rules of the spec."""
    every = None if spec.keep_every is None else spec.keep_every.in_steps(per_epoch)
    return CheckpointStore(directory / CHECKPOINTS, KeepRules(spec.keep, every))


def bests_in(directory: Path) -> CheckpointStore:
    """The best moments in a run directory: of every checkpoint the one that was the best then."""
    return CheckpointStore(directory / BEST, None)


def restored(store: CheckpointStore, step: int, optimizer: Optimizer) -> Moment:
    """The moment that was saved at a step, on the device.

    Raises:
      RunError: there is none, or it is damaged.
    """
    document = store.meta(step)
    arrays = store.restore(step, expected_arrays(architecture_in(document), optimizer))
    try:
        return moment_from(arrays, document, optimizer)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunError(f"the checkpoint's document is damaged: {error!r}") from error


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
    """Removes moments beside the checkpoints that come after `step`, and what kills left of some.

    The run goes on from `step`, perhaps in another way than before.

    Raises:
      RunError: they cannot be removed.
    """
    for place in (BEFORE_GROWTH, BEST):
        store = CheckpointStore(directory / place, None)
        store.clean()
        for later in store.steps():
            if later > step:
                store.remove(later)


def data_digest(dataset: Dataset) -> str:
    """A checksum of all parts of the data, by which a resumed run knows them again."""
    value = 0
    for part in (dataset.train, dataset.validation, dataset.test):
        arrays = () if part is None else (part.x, part.y, part.ids, part.weights)
        for array in (array for array in arrays if array is not None):
            for _, block in blocks(array):
                value = zlib.crc32(np.ascontiguousarray(block).data, value)
    return f"{value:08x}"


class Saver(Observer):
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
        self.bests = bests_in(directory.path)
        self.unsaved: tuple[int, dict[str, NDArray[Any]], dict[str, Any]] | None = None
        self.clock = clock
        self.saved_at = clock()
        self.history_size = self.directory.sizes()["history"]

    def boundary(self, moment: Moment) -> None:
        """Saves if the spec's interval has passed."""
        every = self.spec.every
        if not self.spec.enabled:
            return
        if every.minutes is not None:
            due = self.clock() - self.saved_at >= 60 * every.minutes
        else:
            due = moment.step % every.in_steps(self.trainer.timetable.per_epoch) == 0
        if due:
            self.save(moment)

    def round(self, events: Sequence[Mapping[str, Any]], before: Moment, after: Moment) -> None:
        """Saves before and after a round that has changed the network, if the spec wants it."""
        grown = after.network is not before.network
        if grown and self.spec.enabled and self.spec.growth:
            document = self._document(before) | {"history_bytes": self.history_size}
            with self.trainer.ledger.phase("save"):
                self.before.save(before.step, arrays_of(before), document)
            self.save(after)
        self.history_size = self.directory.sizes()["history"]

    def halted(self, moment: Moment, how: Halt) -> None:
        """Saves the last moment, of a finished run, too, so that it can be made longer.

        The last moment of one that has diverged is none to go on from.
        """
        if how != "diverged":
            self.save(moment, wait=True)
        self.finish()

    def improved(self, moment: Moment) -> None:
        """Keeps a copy of the best moment so far; it is written before the next checkpoint is.

        A checkpoint's best is then always on the disk, and a run that improves at every evaluation
        writes no more often than it saves itself.
        """
        with self.trainer.ledger.phase("save"):
            self.unsaved = (moment.step, host_copies(arrays_of(moment)), self._document(moment))

    def save(self, moment: Moment, *, wait: bool = False) -> None:
        """Saves `moment`; returns when its arrays are copied, or with `wait` when it is on disk.

        Raises:
          RunError: an earlier save has failed, or with `wait` this one.
        """
        with self.trainer.ledger.phase("save"):
            self._save_best()
            document, arrays = self._document(moment), arrays_of(moment)
            self.store.save(moment.step, arrays, document, first=self.bests.wait, wait=wait)
        self.saved_at = self.clock()

    def best_network(self) -> Network:
        """The network of the best evaluation, which a checkpoint that is on disk relies on.

        Raises:
          RunError: it is damaged.
        """
        step = self.trainer.best.step
        assert step is not None
        return restored(self.bests, step, self.trainer.optimizer).network

    def finish(self) -> None:
        """Has the best moment reach the disk and waits for the last save; RunError if one fails."""
        self._save_best()
        self.before.close()
        self.bests.close()
        self.store.close()
        self._forget_bests()

    def _save_best(self) -> None:
        """Starts to write the best moment, where it is not on disk yet."""
        self.store.wait()  # its thread may be waiting for the best moment before
        self._forget_bests()
        if self.unsaved is not None:
            step, arrays, document = self.unsaved
            self.bests.save(step, arrays, document)
            self.unsaved = None

    def _forget_bests(self) -> None:
        """Removes those of no checkpoint. A failure costs disk space alone, so it ends no run."""
        try:
            saved = self.bests.steps()
            steps = {*self.store.steps(), *self.before.steps(), *saved[-1:]}
            for step in set(saved) - best_moments(saved, steps):
                self.bests.remove(step)
        except RunError as error:
            _log.warning("old best moments could not be removed: %s", error.message)

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
            "compiling": dict(ledger.compiling),
            "cached": dict(ledger.cached),
        }
