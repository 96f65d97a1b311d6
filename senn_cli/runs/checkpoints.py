"""Checkpoints of a run: arrays and JSON of a step, saved in the background, restored bit for bit.

Nothing here knows of networks: what the arrays are and what else belongs to a step is the
caller's business. The files are described in `senn_cli.runs.layout`; no pickle is among them.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from senn_cli.errors import RunError
from senn_cli.runs import layout
from senn_cli.runs.arrays import ArraysError, digest, host_copies, read_arrays, reason, write_arrays
from senn_cli.runs.document import FORMAT, check_arrays, read_document
from senn_cli.runs.environment import senn_version
from senn_cli.runs.files import write_atomic
from senn_cli.runs.jsonl import dumps, to_json
from senn_cli.runs.keep import KeepRules, evicted

if TYPE_CHECKING:
    import numpy as np
    from jax import Array
    from numpy.typing import NDArray

_log = logging.getLogger(__name__)


class CheckpointStore:
    """The checkpoints of one run; one process at a time may write them.

    One save is in flight at most. A save that fails in the background is told by the next call of
    `save`, `wait` or `close`, once. As a context manager it is closed at the end.

    Args:
      directory: where they lie; made by the first save.
      rules: which are kept; None keeps all but what is removed by name.
    """

    def __init__(self, directory: Path, rules: KeepRules | None) -> None:
        self.directory = directory.absolute()  # Orbax takes no others
        self.rules = rules
        self._thread: threading.Thread | None = None
        self._failure: RunError | None = None

    def save(
        self,
        step: int,
        arrays: Mapping[str, Array | NDArray[Any]],
        meta: Mapping[str, Any],
        *,
        first: Callable[[], None] = lambda: None,
        wait: bool = False,
    ) -> None:
        """Saves a step, and then removes the checkpoints that no rule keeps.

        Returns when the arrays are copied to the host's memory, so that their buffers may be
        donated right after; the writing goes on in the background. Waits for an earlier save to
        end first. Does nothing where the step has a complete checkpoint already.

        Args:
          step: at least 0.
          arrays: flat, by names such as `params/map_0/kernel`; on any devices of this process, of
            booleans, integers or real numbers, with any number of axes.
          meta: what else belongs to the step, as JSON has it (see `to_json`: a number that is not
            finite becomes null).
          first: called in the background before anything is written; a RunError of it fails the
            save. It waits for what this checkpoint relies on.
          wait: return when the checkpoint is complete.

        Raises:
          RunError: an earlier save has failed (nothing is saved now), or with `wait` this one.
          TypeError, ValueError: what is given cannot be stored.
        """
        if step < 0:
            raise ValueError(f"a step should be at least 0, found {step}")
        if not any(array.size for array in arrays.values()):
            raise ValueError("a checkpoint needs an array with elements")
        self.wait()
        if layout.is_complete(layout.step_path(self.directory, step)):
            return
        document = {
            "format": FORMAT,
            "senn": senn_version(),
            "step": step,
            "meta": to_json(meta),
        }
        work = (step, host_copies(arrays), document, first)
        # Not a daemon: a process that ends without `close` still finishes its last checkpoint
        # where it can, and where it can't, leaves one that does not count.
        self._thread = threading.Thread(target=self._work, args=work, name=f"checkpoint-{step}")
        self._thread.start()
        if wait:
            self.wait()

    def wait(self) -> None:
        """Waits for the save in flight.

        Raises:
          RunError: it has failed; the message names its step.
        """
        self._settle()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def close(self) -> None:
        """Waits as `wait` does; the store can be used again."""
        self.wait()

    def __enter__(self) -> CheckpointStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except RunError as failure:
            if error is None:
                raise
            error.add_note(failure.message)  # what ended the block matters more

    def steps(self) -> tuple[int, ...]:
        """The steps that have a complete checkpoint, ascending."""
        return layout.complete_steps(self.directory)

    def meta(self, step: int) -> dict[str, Any]:
        """What was saved as `meta` with a step.

        Raises:
          RunError: there is no complete checkpoint of it, it is damaged or of another format.
        """
        meta: dict[str, Any] = self._document(step)["meta"]
        return meta

    def restore(
        self, step: int, expected: Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]]
    ) -> dict[str, NDArray[Any]]:
        """The arrays of a step, bit for bit as saved; nothing is cast, padded or left out.

        Args:
          step: one with a complete checkpoint.
          expected: shape and type of every array.

        Raises:
          RunError: an array is missing, unexpected or of another shape or type (the message names
            it, what was expected and what was found), or the files are damaged.
        """
        import numpy as np

        self._settle()
        table = self._document(step)["arrays"]
        path = layout.step_path(self.directory, step)
        wanted = {n: (tuple(shape), np.dtype(dtype)) for n, (shape, dtype) in expected.items()}
        check_arrays(path, table, wanted)
        try:
            arrays = read_arrays(path / layout.ARRAYS, wanted)
        except ArraysError as error:
            raise RunError(f"{path / layout.ARRAYS} is damaged: {error}") from error
        for name, array in arrays.items():
            if digest(array) != table[name]["crc32"]:
                raise RunError(f"{path / layout.ARRAYS} is damaged: {name} has changed")
        return arrays

    def clean(self) -> None:
        """Removes what unfinished saves have left behind, when none is in flight.

        Raises:
          RunError: it cannot be removed.
        """
        self._settle()
        for path in layout.leftovers(self.directory):
            try:
                shutil.rmtree(path)
            except OSError as error:
                raise _cannot(path, "removed", error) from error

    def set_aside(self, step: int) -> Path:
        """Renames the checkpoint of a step, so that it no longer counts; returns its new path.

        For one that cannot be restored: the step can be saved again, and nothing is lost.

        Raises:
          RunError: it cannot be renamed.
        """
        self._settle()
        path = layout.step_path(self.directory, step)
        try:
            return layout.set_aside(path)
        except OSError as error:
            raise _cannot(path, "renamed", error) from error

    def remove(self, step: int) -> None:
        """Removes the checkpoint of a step.

        Raises:
          RunError: it cannot be removed.
        """
        self._settle()
        path = layout.step_path(self.directory, step)
        try:
            layout.remove(path)
        except OSError as error:
            raise _cannot(path, "removed", error) from error

    def _settle(self) -> None:
        """Waits for the save in flight and keeps its failure for later."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _work(
        self,
        step: int,
        arrays: dict[str, NDArray[Any]],
        document: dict[str, Any],
        first: Callable[[], None],
    ) -> None:
        """Writes a checkpoint and removes others; runs in a thread of its own and never raises."""
        try:
            first()
            self._write(step, arrays, document)
        except BaseException as error:
            layout.discard(self.directory, step)
            self._failure = RunError(
                f"the checkpoint of step {step} could not be saved in {self.directory}: "
                f"{reason(error)}",
                hint="Earlier checkpoints are as they were; the run can go on from them.",
            )
            self._failure.__cause__ = error
            return
        self._evict()

    def _write(self, step: int, arrays: dict[str, NDArray[Any]], document: dict[str, Any]) -> None:
        saving = layout.start(self.directory, step)
        write_arrays(saving / layout.ARRAYS, arrays)
        table = {
            name: {"shape": array.shape, "dtype": array.dtype.name, "crc32": digest(array)}
            for name, array in sorted(arrays.items())
        }
        write_atomic(saving / layout.META, dumps({**document, "arrays": table}, indent=1) + "\n")
        layout.commit(self.directory, step)

    def _evict(self) -> None:
        """Removes what no rule keeps. A failure costs disk space alone, so it ends no run."""
        if self.rules is None:
            return
        try:
            for step in sorted(evicted(self.steps(), self.rules)):
                layout.remove(layout.step_path(self.directory, step))
        except (OSError, RunError) as error:
            _log.warning("old checkpoints could not be removed: %s", reason(error))

    def _document(self, step: int) -> dict[str, Any]:
        """The content of a step's `meta.json`."""
        path = layout.step_path(self.directory, step)
        if not layout.is_complete(path):
            there = ", ".join(map(str, self.steps())) or "none"
            raise RunError(f"{path} is no complete checkpoint; complete are: {there}")
        return read_document(path / layout.META, step)


def _cannot(path: Path, what: str, error: OSError) -> RunError:
    return RunError(f"{path} cannot be {what}: {error.strerror or error}")
