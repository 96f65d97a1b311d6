"""How the processes of a run meet before JAX has them meet, so that it can be told who is missing.

JAX's own meeting says at its end that not all have come, and nothing more. So process 0 first
listens at the address at which its coordination service will: every other process says there which
one it is and on which machine, and all are told together when the last has come, or who has not.
"""

from __future__ import annotations

import json
import socket
import time
from contextlib import ExitStack, closing, suppress
from typing import Any

from senn_cli.errors import SennError, UsageError
from senn_cli.words import plural

LIMIT = "SENN_HOSTS_TIMEOUT"
"""Variable with the seconds that are waited for another process; 600 by default."""

TRY_AGAIN = 75
_PAUSE, _ANSWER, _LINE = 0.1, 5.0, 1 << 16


class HostsError(SennError):
    """Another process that has not come or has gone: exit code 75, as the run can be resumed.

    Args:
      exit_code: another one, where that process has told of a fault of its own.
    """

    title = "Hosts"

    def __init__(
        self, message: str, *, hint: str | None = None, exit_code: int = TRY_AGAIN
    ) -> None:
        super().__init__(message, hint=hint)
        self.exit_code = exit_code


def meet(count: int, index: int, coordinator: str, limit: float) -> list[str]:
    """Waits until all processes of a run are there; the names of their machines, in order.

    Args:
      count: how many there are; index: the number of this one.
      coordinator: `HOST:PORT` of process 0.
      limit: seconds that are waited.

    Raises:
      HostsError: in all that have come; says which have not.
      UsageError: two say that they are the same one, or that there are other numbers of them; or
        process 0 cannot listen there.
    """
    host, _, port = coordinator.rpartition(":")
    end = time.monotonic() + limit
    mine = {"index": index, "count": count, "host": socket.gethostname()}
    if index:
        answer = _ask(mine, (host.strip("[]"), int(port)), end)
    else:
        answer = _collect(mine, int(port), end)
    if answer is None:
        missing = [0]
    elif "wrong" in answer:
        raise UsageError(
            answer["wrong"], hint="Give all the same --hosts, and each a --host-id of its own."
        )
    else:
        missing = answer["missing"]
    if missing:
        who = ", ".join(map(str, missing))
        what = f"process {who}" if len(missing) == 1 else f"processes {who}"
        verb = "has" if len(missing) == 1 else "have"
        raise HostsError(
            f"{what} of {count} {verb} not come to {coordinator} within "
            f"{plural(round(limit), 'second')}",
            hint="Start all of them within that time, with the same --hosts and --coordinator; "
            f"{LIMIT} has them wait for longer. A run that has begun goes on with: senn resume RUN",
        )
    assert answer is not None
    return list(answer["hosts"])


def _collect(mine: dict[str, Any], port: int, end: float) -> dict[str, Any]:
    """Process 0's part: what it answers to all."""
    count, hosts = mine["count"], {0: str(mine["host"])}
    seats: dict[int, socket.socket] = {}
    answer: dict[str, Any] = {}
    with ExitStack() as stack:
        server = stack.enter_context(_listening(port))
        lines = []
        while len(hosts) < count and not answer and (left := end - time.monotonic()) > 0:
            server.settimeout(left)
            try:
                line = stack.enter_context(server.accept()[0])
            except TimeoutError:
                break
            said = _read(line, _ANSWER)
            if said is None or said.keys() != mine.keys():
                continue
            lines.append(line)
            other, host = said["index"], said["host"]
            if said["count"] != count:
                wrong = f"there are {said['count']} processes for process {other}, {count} for 0"
                answer = {"wrong": wrong}
            elif other == 0 or (other in seats and _waits(seats[other])):
                both = f"one on {hosts[other]}, one on {host}"
                answer = {"wrong": f"two processes say that they are process {other}: {both}"}
            hosts[other], seats[other] = host, line
        missing = [other for other in range(count) if other not in hosts]
        answer = answer or {"missing": missing, "hosts": [hosts[k] for k in sorted(hosts)]}
        for line in lines:
            _send(line, answer)
    return answer


def _ask(mine: dict[str, Any], address: tuple[str, int], end: float) -> dict[str, Any] | None:
    """Another one's part: what process 0 has answered; None where it did not."""
    while (left := end - time.monotonic()) > 0:
        try:
            with closing(socket.create_connection(address, timeout=left)) as line:
                _send(line, mine)
                answer = _read(line, left + _ANSWER)
        except OSError:  # it does not listen yet, or its name is not known yet
            answer = None
        if answer is not None:
            return answer
        time.sleep(_PAUSE)
    return None


def _listening(port: int) -> socket.socket:
    both = socket.has_dualstack_ipv6()
    try:
        return socket.create_server(
            ("", port),
            family=socket.AF_INET6 if both else socket.AF_INET,
            dualstack_ipv6=both,
        )
    except OSError as error:
        raise UsageError(
            f"process 0 cannot listen at port {port} of {socket.gethostname()}: {error.strerror}",
            hint="Give all processes another port by --coordinator.",
        ) from error


def _send(line: socket.socket, words: dict[str, Any]) -> None:
    with suppress(OSError):  # one that has gone is missed later
        line.sendall(json.dumps(words).encode() + b"\n")


def _read(line: socket.socket, limit: float) -> dict[str, Any] | None:
    """What stands in one line; None where it has not come, or is none of ours."""
    line.settimeout(limit)
    try:
        with line.makefile("rb") as file:
            found = json.loads(file.readline(_LINE))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _waits(line: socket.socket) -> bool:
    """Whether the process at the other end still waits for the answer."""
    try:
        return line.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
