"""Signals that ask a run to stop: the first is a request, the second an order.

After the first, `Interruption.requested` says so, and the loop ends at its next boundary with a
checkpoint. A second one ends the process at once, whatever it is doing; in a notebook or another
interactive session, whose other work would be lost, it is a `KeyboardInterrupt`.

Python runs signal handlers in the main thread and between two of its instructions only, so during
a long compilation they are not run at all. The numbers of arriving signals are therefore written to
a socket by the interpreter (`signal.set_wakeup_fd`), and a thread of its own reads them there.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

from senn_cli.training.observer import Observer

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
"""Ctrl-C; what `kill` and batch systems send; a closed terminal; SLURM's early warning."""

INTERRUPTED = 130
"""Exit code after Ctrl-C, as of every program."""

TRY_AGAIN = 75
"""Exit code after the other signals: nothing is wrong, and the run can go on later."""

_LAST_WORDS = 1.0
"""Seconds that giving the terminal back may take before the process ends regardless."""


def exit_code(number: int) -> int:
    """The exit code of a run that signal `number` ended."""
    return INTERRUPTED if number == signal.SIGINT else TRY_AGAIN


def end_at_signals() -> None:
    """Has every signal end the process at once, with its exit code: before anything is written.

    Signals that are ignored stay ignored. An `Interruption` hears them instead while it is open.
    """
    for number in SIGNALS:
        if signal.getsignal(number) not in (None, signal.SIG_IGN):
            signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    # Not by an exception: whatever is being imported may take it for its own.
    with contextlib.suppress(OSError):
        os.write(2, b"Interrupted\n")
    os._exit(exit_code(number))


def is_interactive() -> bool:
    """Whether somebody types into this process: a notebook's kernel, or Python's prompt."""
    return hasattr(sys, "ps1") or "ipykernel" in sys.modules


class Interruption(Observer):
    """Hears signals while its context is open, and puts the old handlers back afterwards.

    Signals that were ignored before stay ignored (SIGHUP under `nohup`). Outside of the main
    thread, where no handlers can be set, the context does nothing.

    Args:
      give_back: called before a second signal ends the process, from another thread; gives the
        terminal back.
      heard: called at the first signal, at once and from another thread.
      together: signals that arrive within so many seconds after the first belong to it. A closed
        terminal, `timeout` and batch systems send several at once, which are one request.
      ends: whether a second signal ends the process; by default where nobody types.

    Attributes:
      requested: the number of the first signal, or None as long as there was none.
    """

    def __init__(
        self,
        give_back: Callable[[], object] = lambda: None,
        heard: Callable[[], object] = lambda: None,
        *,
        together: float = 0.1,
        ends: bool | None = None,
    ) -> None:
        self.requested: int | None = None
        self._ends = not is_interactive() if ends is None else ends
        self._ordered = False  # by a second signal
        self._give_back = give_back
        self._together = together
        self._old: dict[int, Any] = {}
        self._close: Callable[[], None] | None = None
        self._answer = threading.Thread(target=heard, name="senn-answer", daemon=True)

    def stops(self) -> bool:
        """Whether there was a signal."""
        return self.requested is not None

    @property
    def exit_code(self) -> int | None:
        """130 after Ctrl-C, 75 after another signal, None as long as there was none."""
        return None if self.requested is None else exit_code(self.requested)

    def __enter__(self) -> Self:
        """Sets the handlers."""
        if threading.current_thread() is not threading.main_thread():
            return self
        reader, writer = socket.socketpair()
        writer.setblocking(False)
        watcher = threading.Thread(
            target=self._watch, args=(reader,), name="senn-signals", daemon=True
        )
        watcher.start()
        descriptor = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)

        def close() -> None:
            signal.set_wakeup_fd(descriptor)
            writer.close()  # ends the thread
            watcher.join()
            if self._answer.is_alive():  # so that it comes before what is said at the end
                self._answer.join(_LAST_WORDS)
            reader.close()

        self._close = close
        for number in SIGNALS:
            old = signal.getsignal(number)
            # None: set by other than Python, which could not put it back.
            if old is not None and old is not signal.SIG_IGN:
                self._old[number] = old
                signal.signal(number, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Puts the old handlers back."""
        for number, old in self._old.items():
            signal.signal(number, old)
        self._old.clear()
        if self._close is not None:
            self._close()
            self._close = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        # The thread does this as well, perhaps a moment later; only it counts signals.
        if self.requested is None:
            self.requested = number
        if (
            self._ordered and frame is not None
        ):  # in the main thread, where it reaches whoever trains
            self._ordered = False
            raise KeyboardInterrupt

    def _watch(self, reader: socket.socket) -> None:
        """Reads the numbers of signals until the other end is closed."""
        first: float | None = None
        while numbers := reader.recv(1):
            number, now = numbers[0], time.monotonic()
            if number not in SIGNALS:  # somebody else's handler
                continue
            if first is None:
                first = now
                self._handle(number, None)
                # A thread of its own, as a terminal may not take the answer.
                self._answer.start()
            elif now - first > self._together:
                if self._ends:
                    self._quit(exit_code(number))
                if not self._ordered:
                    # The main thread may have looked already, so that it is told once more.
                    self._ordered, first = True, now
                    _thread.interrupt_main(signal.SIGINT)

    def _quit(self, code: int) -> None:
        """Ends the process without any of the usual clearing up."""
        # Giving the terminal back may wait for a lock that is never free again.
        last = threading.Timer(_LAST_WORDS, os._exit, (code,))
        last.daemon = True
        with contextlib.suppress(RuntimeError):  # no more threads
            last.start()
        try:
            self._give_back()
        finally:
            os._exit(code)
