"""Who holds a lock: a process's identity, which outlives the process, and whether it still runs.

A process id alone may have been given to another process since, so the start of the process is
recorded as well.
"""

from __future__ import annotations

import datetime
import json
import os
import shlex
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
"""Where Linux describes its processes; other systems have no such place."""

_MOST_LETTERS = 200


@dataclass(frozen=True)
class Holder:
    """Who holds a lock: the content of `lock.json`.

    Attributes:
      pid: the process id on its host.
      started: when the process started, as a text to compare (the boot's id and clock ticks since
        then), or None where the system does not tell.
      host: the host's name.
      command: the arguments of its command line.
      time: when the lock was taken (ISO 8601).
    """

    pid: int
    started: str | None
    host: str
    command: tuple[str, ...]
    time: str

    @classmethod
    def current(cls) -> Holder:
        """This process, now."""
        pid = os.getpid()
        process = _process(pid)
        return cls(
            pid=pid,
            started=None if process is None else process[1],
            host=socket.gethostname(),
            command=tuple(sys.argv),
            time=datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        )

    @classmethod
    def from_json(cls, content: bytes) -> Holder | None:
        """Reads the content of a lock file; None where it is damaged or not yet written."""
        try:
            value = json.loads(content)
            pid, started, host = value["pid"], value["started"], value["host"]
            command, when = value["command"], value["time"]
        except (ValueError, KeyError, TypeError):
            return None
        # A process id of 0 or less would stand for a group of processes.
        if type(pid) is not int or not 0 < pid < 2**31:
            return None
        if not (isinstance(host, str) and isinstance(when, str) and isinstance(command, list)):
            return None
        if not (started is None or isinstance(started, str)):
            return None
        return cls(pid, started, host, tuple(map(str, command)), when)

    def alive(self) -> bool | None:
        """Whether the process still runs; None for one on another host, which can't be told."""
        if self.host != socket.gethostname():
            return None
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:  # it runs, for another user
            pass
        process = _process(self.pid)
        if process is None:
            return True
        state, started = process
        # Z and X: ended, but its parent has not asked how.
        return state not in ("Z", "X") and (self.started is None or self.started == started)

    def __str__(self) -> str:
        command = shlex.join(self.command)
        if len(command) > _MOST_LETTERS:
            command = command[:_MOST_LETTERS] + " ..."
        return f"pid {self.pid} on host {self.host} since {self.time} ({command})"


def _process(pid: int) -> tuple[str, str] | None:
    """State letter and start of a process, or None where the system does not tell."""
    try:
        line = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        boot = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:  # no such place, or one that hides the processes of other users
        return None
    # The second field is the program's name in parentheses, which may itself hold ") ".
    fields = line.rpartition(")")[2].split()
    return fields[0], f"{boot}:{fields[19]}"
