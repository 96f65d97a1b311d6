"""How processes meet; threads stand for them, as nothing but sockets takes part."""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from senn_cli.cluster.meeting import HostsError, meet
from senn_cli.errors import UsageError
from tests.waiting import LIMIT, wait_until


@pytest.fixture
def port() -> int:
    """One that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def all_of(*meetings: Callable[[], Any]) -> list[Any]:
    """What each gives, or the error that it raises; they go on side by side."""
    with ThreadPoolExecutor(len(meetings)) as pool:
        found: list[Future[Any]] = [pool.submit(meeting) for meeting in meetings]
        return [one.exception(LIMIT) or one.result() for one in found]


def test_all_learn_where_the_others_are(port: int) -> None:
    at = f"127.0.0.1:{port}"
    found = all_of(*(lambda k=k: meet(3, k, at, LIMIT) for k in (2, 0, 1)))  # type: ignore[misc]
    assert found == [[socket.gethostname()] * 3] * 3


def test_those_who_have_come_say_who_is_missing(port: int) -> None:
    at = f"127.0.0.1:{port}"
    errors = all_of(lambda: meet(4, 0, at, 2), lambda: meet(4, 2, at, 2))
    for error in errors:
        assert isinstance(error, HostsError)
        assert error.exit_code == 75
        assert error.message == f"processes 1, 3 of 4 have not come to {at} within 2 seconds"
        assert "senn resume" in (error.hint or "")


def test_without_process_0_the_others_say_so(port: int) -> None:
    with pytest.raises(HostsError, match=r"process 0 of 2 has not come to .* within 1 second"):
        meet(2, 1, f"localhost:{port}", 1)


@pytest.mark.parametrize(
    ("count", "index", "message"),
    [
        (2, 0, "two processes say that they are process 0: one on"),
        (3, 2, "there are 3 processes for process 2, 2 for 0"),
    ],
    ids=["same-number", "other-count"],
)
def test_who_does_not_belong_here_is_refused(
    count: int, index: int, message: str, port: int
) -> None:
    at = ("127.0.0.1", port)

    def odd() -> dict[str, Any]:
        from senn_cli.cluster import meeting

        mine = {"index": index, "count": count, "host": "elsewhere"}
        answer = meeting._ask(mine, at, meeting.time.monotonic() + LIMIT)
        assert answer is not None
        return answer

    error, answer = all_of(lambda: meet(2, 0, f"127.0.0.1:{port}", LIMIT), odd)
    assert isinstance(error, UsageError)
    assert message in error.message
    assert answer == {"wrong": error.message}


def test_what_is_no_process_of_a_run_is_passed_over(port: int) -> None:
    def stranger_and_other() -> list[str]:
        def knocked() -> bool:
            try:
                with socket.create_connection(("127.0.0.1", port)) as line:
                    line.sendall(b"GET / HTTP/1.1\r\n\r\n")
            except ConnectionRefusedError:
                return False
            return True

        wait_until(knocked)
        return meet(2, 1, f"127.0.0.1:{port}", LIMIT)

    here = [socket.gethostname()] * 2
    assert all_of(lambda: meet(2, 0, f"127.0.0.1:{port}", LIMIT), stranger_and_other) == [here] * 2


def test_a_port_that_is_taken_is_named(port: int) -> None:
    with (
        socket.create_server(("", port)),
        pytest.raises(UsageError, match=f"process 0 cannot listen at port {port}"),
    ):
        meet(2, 0, f"127.0.0.1:{port}", LIMIT)
