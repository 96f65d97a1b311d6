"""A run directory that is read again and again while its run goes on: every row is read once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from senn_cli.errors import RunError
from senn_cli.runs import rows
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.jsonl import parsed_rows

Row = dict[str, Any]
Check = Callable[[Path, Sequence[Row]], None]


class Tail:
    """The rows of a file of JSON lines that others append to.

    A torn last line is left out until it is complete. Where the file is no longer the one that was
    read (another file, a shorter one, another last line), all is read again: a resumed run cuts
    away what it repeats.

    Args:
      path: of the file; it may be missing.
      check: is given the path and all rows where there are new ones; raises for what is not as
        senn writes it.
    """

    def __init__(self, path: Path, check: Check) -> None:
        self._path, self._check = path, check
        self._forget()

    def _forget(self) -> None:
        self._rows: list[Row] = []
        self._end, self._file, self._last = 0, 0, b""

    def read(self) -> list[Row]:
        """All rows in order; those that were there before are the same objects.

        Raises:
          RunError: the file cannot be read, or a line is not as senn writes it; the message names
            the line.
        """
        try:
            content = self._new_content()
        except FileNotFoundError:
            self._forget()
            return []
        except OSError as error:
            raise RunError(f"{self._path} cannot be read: {error.strerror or error}") from error
        complete = content[: content.rfind(b"\n") + 1]
        if complete:
            found = parsed_rows(self._path, complete, first=len(self._rows) + 1)
            self._check(self._path, [*self._rows, *found])
            self._rows += found
            self._end += len(complete)
            self._last = complete[complete.rfind(b"\n", 0, -1) + 1 :]
        return list(self._rows)

    def _new_content(self) -> bytes:
        with self._path.open("rb") as file:
            number = os.fstat(file.fileno()).st_ino
            file.seek(self._end - len(self._last))
            if number != self._file or file.read(len(self._last)) != self._last:
                self._forget()
                self._file = number
                file.seek(0)
            return file.read()


@dataclass(frozen=True)
class GrowingRun(RunDirectory):
    """A run directory whose metrics and history are read by `Tail`s."""

    @cached_property
    def _metrics(self) -> Tail:
        return Tail(self.metrics_path, rows.check_metrics)

    @cached_property
    def _history(self) -> Tail:
        return Tail(self.history_path, rows.check_history)

    def metrics(self) -> list[Row]:
        """All rows of metrics in order."""
        return self._metrics.read()

    def history(self) -> list[Row]:
        """All growth events in order."""
        return self._history.read()
