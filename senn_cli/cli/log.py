"""What a log gets of a running training: dated lines, without any control sequence."""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console

from senn_cli.cli.console import encoding_of
from senn_cli.cli.doing import Doing
from senn_cli.cli.remaining import Remaining
from senn_cli.report.words import duration, grown, measures, opening, printable
from senn_cli.training.observer import Observer, Start

if TYPE_CHECKING:
    from senn_cli.training.snapshot import Moment

INTERVAL = 10.0
"""Least number of seconds between two lines of metrics; after a silence as long, a line says what
is going on."""

_TICK = 1.0  # seconds between two looks at whether it has been silent for so long


class Plain(Observer):
    """Dated lines for a log: at most one of metrics in ten seconds, and each round that grew.

    It is never silent for long: compilations, which keep the main thread busy for minutes, are told
    by a thread of the view.

    Args:
      console: gives the file and its encoding; nothing is coloured or wrapped.
      clock: seconds that only ever increase.
      now: the local time.
      tick: seconds between two calls of `tick` by a thread; 0 for no thread.
    """

    def __init__(
        self,
        console: Console,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime.datetime] = datetime.datetime.now,
        tick: float = _TICK,
    ) -> None:
        self._file, self._encoding = console.file, encoding_of(console.file)
        self._clock = clock
        self._now = now
        self._written: float | None = None  # any line
        self._last: float | None = None  # a row of metrics
        self._total: int | None = None
        self._step: int | None = None
        self._waiting: Mapping[str, Any] | None = None
        self._doing, self._remaining = Doing(clock), Remaining(clock)
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._ticking = threading.Thread(
            target=self._tick, args=(tick,), name="senn-log", daemon=True
        )
        if tick > 0:
            self._ticking.start()

    def start(self, start: Start) -> None:
        """Writes what is about to run."""
        self._total, self._step = start.total_steps, start.step
        self._doing.programs, self._doing.kept = start.programs, start.kept
        self._remaining.start(start.step, start.total_steps, start.steps_per_epoch)
        for line in opening(start):
            self._write(line)

    def phase(self, name: str, what: str = "") -> None:
        """Writes the very first phase; later ones change too often for a log."""
        self._doing.phase(name, what)
        self._remaining.phase(name)
        if self._written is None:
            self._write(self._doing.words)

    def boundary(self, moment: Moment) -> None:
        """Writes nothing."""
        self._step = moment.step
        self._remaining.reached(self._step)

    def metrics(self, row: Mapping[str, Any]) -> None:
        """Writes the first row, later ones at most every ten seconds, and the last at the end."""
        with self._lock:
            self._waiting, self._step = row, row.get("step", self._step)
            if self._last is None or self._clock() - self._last >= INTERVAL:
                self._write_waiting()

    def round(self, events: Sequence[Mapping[str, Any]], before: Moment, after: Moment) -> None:
        """Writes what a growth round has changed."""
        line = grown(events)
        if line is not None:
            self._write(line)

    def note(self, text: str) -> None:
        """Writes a sentence."""
        self._write(text)

    def interrupted(self) -> None:
        """Writes when the run will stop."""
        self._write(self._doing.stopping)

    def end(self, summary: Mapping[str, Any]) -> None:
        """Writes the last row, if it was held back, and that the run has ended."""
        self.close()
        self._write(f"end: {summary.get('status', 'finished')}")

    def close(self) -> None:
        """Writes the last row of metrics, if it was held back; nothing is told any more."""
        self._closed.set()
        self._write_waiting()

    def tick(self) -> None:
        """Writes what is going on where nothing was written for ten seconds."""
        with self._lock:
            if self._written is None or self._clock() - self._written < INTERVAL:
                return
            if self._waiting is not None:
                self._write_waiting()
            else:
                self._write(", ".join([*self._place(self._step), self._doing.words, *self._left()]))

    def _tick(self, seconds: float) -> None:
        while not self._closed.wait(seconds):
            self.tick()

    def _write_waiting(self) -> None:
        """Writes the newest row of metrics, unless it is written already."""
        with self._lock:
            row, self._waiting = self._waiting, None
            if row is None:
                return
            self._last = self._clock()
            epoch = [f"epoch {row['epoch']:.4g}"] if row.get("epoch") is not None else []
            texts = [*self._place(row.get("step")), *epoch, *measures(row, self._encoding)]
            self._write(", ".join([*texts, *self._left()]))

    def _place(self, step: int | None) -> list[str]:
        total = f"/{self._total}" if self._total else ""
        return [] if step is None else [f"step {step}{total}"]

    def _left(self) -> list[str]:
        left = self._remaining.left()
        return [] if left is None else [f"{duration(left)} left"]

    def _write(self, line: str) -> None:
        # Not through rich, which wraps lines and, with FORCE_COLOR, colours them.
        with self._lock:
            self._written = self._clock()
            stamp = self._now().strftime("%Y-%m-%d %H:%M:%S")
            self._file.write(f"{stamp} {printable(line, self._encoding)}\n")
            self._file.flush()
