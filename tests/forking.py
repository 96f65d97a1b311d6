"""Real `senn` processes that start at once.

Most of a process's start is the import of JAX and Orbax. A server imports them and forks a child
for every command; nothing of JAX has started in it, so a child is like a process of its own.
Run as a program, this file is the server.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.waiting import LIMIT, wait_until


@dataclass
class Child:
    """A process that runs a command.

    Attributes:
      pid: its process id.
      place: a directory with its output: `out` and `err`.
    """

    server: Server
    pid: int
    place: Path

    def wait(self) -> int:
        """Waits for the end; the exit code, or minus the number of the signal that ended it."""
        return int(self.server.ask({"wait": self.pid}))

    def send(self, number: int) -> None:
        """Sends a signal; nothing happens where the process has ended but was not waited for."""
        os.kill(self.pid, number)

    @property
    def out(self) -> str:
        return (self.place / "out").read_text(encoding="utf-8")

    @property
    def err(self) -> str:
        return (self.place / "err").read_text(encoding="utf-8")

    def wait_for_pause(self) -> None:
        """Waits until it has come to the phase that it was told to pause in."""
        wait_until(lambda: (self.place / "paused").exists())

    def wait_until_heard(self) -> None:
        """Waits until it has heard a signal; one that comes from now on is another."""
        wait_until((self.place / "heard").exists)

    def go_on(self) -> None:
        """Ends the pause."""
        (self.place / "go").touch()


class Server:
    """Starts commands; to be used as a context manager."""

    def __init__(self, place: Path) -> None:
        self.place, self.started = place, 0

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=LIMIT)
        self._process.stdout.close()

    def ask(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def start(
        self, *arguments: object, pause: tuple[str, int] | None = None, **environment: str
    ) -> Child:
        """Starts `senn` with these arguments.

        Args:
          pause: a phase, and in which of its beginnings to wait, counted from 1.
          environment: variables to set.
        """
        self.started += 1
        place = self.place / f"process-{self.started}"
        place.mkdir(parents=True)
        request = {
            "arguments": [str(argument) for argument in arguments],
            "place": str(place),
            "pause": pause,
            "environment": environment,
        }
        return Child(self, int(self.ask(request)), place)

    def run(self, *arguments: object, **options: Any) -> tuple[int, Child]:
        """Starts a command and waits for its end; the exit code and the process."""
        child = self.start(*arguments, **options)
        return child.wait(), child


def _serve() -> dict[str, Any] | None:
    """Answers requests until there are no more; in a child, returns its request."""
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            _, status = os.waitpid(request["wait"], 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
            continue
        pid = os.fork()
        if pid == 0:
            return dict(request)
        print(pid, flush=True)
    return None


def _become(request: dict[str, Any]) -> None:
    """Gives the child its surroundings, as a process from a shell would have them."""
    place = Path(request["place"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(place / name, os.O_WRONLY | os.O_CREAT), number)
    os.environ.update(request["environment"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for ignored in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_DFL)
    sys.argv = ["senn", *request["arguments"]]
    _hear(place)
    if request["pause"] is not None:
        _pause(place, *request["pause"])


def _hear(place: Path) -> None:
    """Has the process tell that a signal was heard, and take the next one for another."""
    from senn_cli.training.interruption import Interruption

    initialise = Interruption.__init__

    def initialised(self: Interruption, *arguments: Any, **options: Any) -> None:
        initialise(self, *arguments, **{**options, "together": 0.0})
        threading.Thread(target=tell, args=(self,), daemon=True).start()

    def tell(interruption: Interruption) -> None:
        while interruption.requested is None:
            time.sleep(0.002)  # between two looks
        (place / "heard").touch()

    Interruption.__init__ = initialised  # type: ignore[method-assign]


def _pause(place: Path, phase: str, count: int) -> None:
    """Has the process wait when it has entered `phase` for the `count`th time."""
    from senn_cli.engine.programs import Ledger

    enter, seen = Ledger.phase, [0]

    def pausing(self: Ledger, name: str, what: str = "") -> Any:
        context = enter(self, name, what)
        if name == phase:
            seen[0] += 1
            if seen[0] == count:
                (place / "paused").touch()
                while not (place / "go").exists():
                    time.sleep(0.002)  # between two looks
        return context

    Ledger.phase = pausing  # type: ignore[method-assign]


if __name__ == "__main__":
    import jax  # noqa: F401
    import orbax.checkpoint  # noqa: F401
    import sklearn.datasets  # noqa: F401

    import senn_cli.training.resume  # noqa: F401
    from senn_cli.cli.app import main

    asked = _serve()
    if asked is not None:
        with suppress(AttributeError):
            _become(asked)
        main()
