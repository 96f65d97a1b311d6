"""A slot's process, which trains members one after another, and how a sweep speaks to it.

A process costs seconds before its first step: imports, tracing, reading compiled programs. Members
that follow each other in one pay for them once. It is handed one member at a time, over a socket:
the member's words, and with them the open log, which holds the member's lock. So a process whose
sweep has been killed ends the member that it has, and finds nobody to hand it another.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from senn_cli.sweep.slots import Slot

PROCESS = (sys.executable, "-m", "senn_cli", "--members")
"""What starts a process; the number of its end of the socket comes behind."""


class Process:
    """The process of a slot: started with the first member, and anew where it has ended.

    Args:
      slot: what it has of the machine.
      words: that start it.
    """

    def __init__(self, slot: Slot, words: Sequence[str] = PROCESS) -> None:
        self._slot, self._words = slot, words
        self._needs: Hashable = None
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def train(self, words: Sequence[str], log: int, needs: Hashable) -> None:
        """Hands it a member.

        Args:
          words: behind `senn`.
          log: a descriptor of the log, which holds the member's lock; what is told goes there.
          needs: what the process has to be started for; one with other needs gets none of these.
        """
        if self._process is not None and (self._process.poll() is not None or self._needs != needs):
            self.close()
        if self._process is None:
            self._needs = needs
            self._start(log)
        assert self._socket is not None
        with contextlib.suppress(OSError):  # it has ended meanwhile, as `ended` tells
            socket.send_fds(self._socket, [_line(list(words))], [log])

    def _start(self, log: int) -> None:
        self._socket, other = socket.socketpair()
        with _kept_to(self._slot.cores), other:
            self._process = subprocess.Popen(
                [*self._words, str(other.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=log,  # where a start that fails is told
                stderr=log,
                env={**os.environ, **self._slot.environment},
                pass_fds=[other.fileno()],
                start_new_session=True,
            )

    def ended(self) -> int:
        """Waits for the end of the member, and returns its exit code, or that of the process.

        It may be called in another thread, as long as nothing else but `signal` is called.
        """
        assert self._socket is not None and self._process is not None
        told = b""
        with contextlib.suppress(OSError):
            told = self._socket.recv(64)
        return int(told) if told else self._process.wait()

    def signal(self, number: int) -> None:
        """Sends it a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def close(self) -> None:
        """Lets the process end, which must have no member any more, and waits for it."""
        if self._socket is not None:
            self._socket.close()
        if self._process is not None:
            self._process.wait()
        self._process = self._socket = None


def serve(descriptor: int, act: Callable[[list[str]], int]) -> None:
    """The other side: trains members until nobody hands out any more.

    What `act` raises ends the process, as nothing is known of its state then.

    Args:
      descriptor: of the socket.
      act: trains a member by its words; returns its exit code.
    """
    with socket.socket(fileno=descriptor) as sweep:
        sweep.set_inheritable(False)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while (given := _received(sweep)) is not None:
                words, log = given
                _tell_to(log)
                code = act(words)
                # Before the end is told, the log is let go of, and with it the lock.
                _tell_to(os.open(os.devnull, os.O_WRONLY))
                sweep.sendall(_line(code))
                gc.collect()  # arrays in cycles, of what the next member does not know


def _received(sweep: socket.socket) -> tuple[list[str], int] | None:
    """The words and the log of the next member; None where there is no sweep any more."""
    told, logs, _, _ = socket.recv_fds(sweep, 1 << 16, 1)
    while not told.endswith(b"\n"):
        if not (more := sweep.recv(1 << 16)):
            return None
        told += more
    return json.loads(told), logs[0]


def _tell_to(descriptor: int) -> None:
    """Has standard output and error go elsewhere; the descriptor is closed."""
    for number in (1, 2):
        os.dup2(descriptor, number)
    os.close(descriptor)


def _line(value: object) -> bytes:
    return json.dumps(value).encode("ascii") + b"\n"


@contextlib.contextmanager
def _kept_to(cores: frozenset[int] | None) -> Iterator[None]:
    """Has processes that are started within run on some cores alone."""
    if cores is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
