"""Two processes on this machine train one run: they lose one, and go on with one, and with two.

What they tell each other is tested with threads, which share what JAX's service would keep.
"""

from __future__ import annotations

import json
import signal
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from senn_cli.engine.hosts import Hosts, HostsError
from senn_cli.engine.lost import tells_of_a_lost_process
from senn_cli.errors import DataError
from tests.forking import Child, Server
from tests.resuming import rows
from tests.waiting import wait_until

SPEC = """
data: {source: moons, train: 96, test: 40}
network: {kind: mlp, hidden: [2], activation: tanh, capacity: {initial: [8]}}
expansion: {policy: dynamic_node_creation, every: 1 epoch, window: 1 epoch, flat: 1e3}
optimizer: {kind: adam, learning_rate: 1e-2, schedule: constant}
checkpoints: {every: 1 epoch}
training: {epochs: 4, batch_size: 24}
"""


def _pair(server: Server, *arguments: object, **options: object) -> list[Child]:
    """Starts both processes of a run."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    return [
        server.start(
            *arguments,
            *("--hosts", 2, "--host-id", index, "--coordinator", address),
            SENN_HOSTS_TIMEOUT="60",
            **options,
        )
        for index in (0, 1)
    ]


def _decisions(run: Path) -> list[tuple[object, ...]]:
    return [
        (e["step"], e["edit"], e["accepted"], e.get("site"), e["hidden"])
        for e in rows(run / "history.jsonl")
    ]


def test_a_run_loses_a_host_and_goes_on_with_one_and_with_two(tmp_path: Path) -> None:
    spec, alone, run = tmp_path / "spec.yaml", tmp_path / "alone", tmp_path / "run"
    spec.write_text(SPEC, encoding="utf-8")
    with Server(tmp_path / "server") as server:
        code, one = server.run("train", spec, "--run-dir", alone, "--set", "device.count=2")
        assert code == 0, one.err

        first, second = _pair(server, "train", spec, "--run-dir", run, pause=("train", 3))
        second.wait_for_pause()
        wait_until(lambda: any((run / "checkpoints").glob("[0-9]*")), first.err + second.err)
        second.send(signal.SIGKILL)
        first.go_on()
        assert (second.wait(), first.wait()) == (-signal.SIGKILL, 75)
        assert "nother process of this run" in " ".join(first.err.split())
        code, one = server.run("resume", run, "--until", "3 epochs", "--set", "device.count=2")
        assert code == 0, one.err
        both = _pair(server, "resume", run, "--set", "device.count=1")
        assert [child.wait() for child in both] == [0, 0], both[0].err + both[1].err

    assert json.loads((run / "summary.json").read_text(encoding="utf-8"))["status"] == "finished"
    assert any(accepted for _, _, accepted, _, _ in _decisions(run))
    assert _decisions(run) == _decisions(alone)
    steps = [row["step"] for row in rows(run / "metrics.jsonl")]
    assert steps == [row["step"] for row in rows(alone / "metrics.jsonl")]


class Service:
    """What the coordination service of JAX does of which `Hosts` makes use."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self.changed = threading.Condition()

    def key_value_set(self, key: str, value: str) -> None:
        with self.changed:
            self.kept[key] = value
            self.changed.notify_all()

    def key_value_delete(self, start: str) -> None:
        with self.changed:
            self.kept = {
                key: value for key, value in self.kept.items() if key[: len(start)] != start
            }

    def key_value_try_get(self, key: str) -> str:
        return self.kept[key]

    def blocking_key_value_get(self, key: str, limit: int) -> str:
        with self.changed:
            if not self.changed.wait_for(lambda: key in self.kept, limit / 1000):
                raise TimeoutError
            return self.kept[key]

    def wait_at_barrier(self, name: str, limit: int) -> None:
        raise TimeoutError


def _all(*parts: Callable[[Hosts], Any], limit: int = 60) -> list[Any]:
    """What the parts of as many processes give, or raise."""
    service = Service()
    names = [f"node{index}" for index in range(len(parts))]
    with ThreadPoolExecutor(len(parts)) as pool:
        found = [
            pool.submit(part, Hosts(len(parts), index, limit, service, names))
            for index, part in enumerate(parts)
        ]
        return [one.exception() or one.result() for one in found]


def test_all_get_the_answers_of_all_in_order() -> None:
    def part(hosts: Hosts) -> list[Any]:
        return [hosts.gathered("place", [hosts.index, turn]) for turn in range(3)]

    assert _all(part, part, part) == [[[[k, turn] for k in range(3)] for turn in range(3)]] * 3


def test_who_is_somewhere_else_or_not_there_is_named() -> None:
    here, there = (lambda hosts, name=name: hosts.gathered(name, 0) for name in ("here", "there"))
    errors = _all(here, here, there)
    assert [type(error) for error in errors] == [HostsError] * 3
    assert {error.message for error in errors} == {
        "process 2 is at 'there' and process 0 at 'here'"
    }
    errors = _all(here, here, lambda hosts: None, limit=1)[:2]
    message = "process 2 of 3 (node2) did not come to 'here' within 1 second, or has gone"
    assert [error.message for error in errors] == [message] * 2
    assert {error.exit_code for error in errors} == {75}


@pytest.mark.parametrize("failing", [0, 1], ids=["first", "other"])
def test_a_process_that_fails_tells_the_others_why(failing: int) -> None:
    def part(hosts: Hosts) -> None:
        with hosts.until_end():
            hosts.gathered("the beginning", None)
            if hosts.index == failing:
                raise DataError("there is no data.npz")
            hosts.gathered("the data", None)

    errors = _all(part, part)
    assert isinstance(errors[failing], DataError)
    other = errors[1 - failing]
    assert isinstance(other, HostsError)
    words = f"process {failing} of 2 (node{failing}) has ended: there is no data.npz"
    assert (other.message, other.exit_code) == (words, DataError.exit_code)


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        # As XLA and its libraries word them.
        ("Gloo all-reduce failed: [pair.cc:534] Connection closed by peer [10.0.0.2]:1047", True),
        ("Gloo all-reduce failed: Read error [10.0.0.2]:256: Connection reset by peer", True),
        ("Gloo context initialization failed: Connect timeout", True),
        ("NCCL operation ncclAllReduce(...) failed: remote process exited or there was a network "
         "error", True),
        ("NCCL operation ncclCommInitRank(...) failed: unhandled system error", True),
        ("UNAVAILABLE: RPC: /xla.coordination.CoordinationService/Barrier", True),
        ("NCCL operation ncclAllReduce(...) failed: invalid usage", False),
        ("NCCL operation ncclGroupEnd() failed: unhandled cuda error", False),
        ("RESOURCE_EXHAUSTED: Out of memory allocating 17179869184 bytes", False),
    ],
    ids=["closed", "reset", "connect", "nccl", "nccl-system", "service", "usage", "cuda", "memory"],
)  # fmt: skip
def test_errors_that_mean_a_lost_process(text: str, lost: bool) -> None:
    assert tells_of_a_lost_process(text) is lost
