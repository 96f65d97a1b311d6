"""Two processes on this machine train one run: they lose one, and go on with one, and with two."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forking import Child, Server
from tests.resuming import DIGITS, rows
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("hosts")) as started:
        yield started


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spec") / "spec.yaml"
    path.write_text(DIGITS + "checkpoints: {every: 1 epoch}\n")
    return path


def _coordinator() -> str:
    """A port of this machine that nobody uses."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def _pair(server: Server, *arguments: object, limit: int = 60, **options: object) -> list[Child]:
    """Starts both processes of a run."""
    address = _coordinator()
    return [
        server.start(
            *arguments,
            *("--hosts", 2, "--host-id", index, "--coordinator", address),
            SENN_HOSTS_TIMEOUT=str(limit),
            **options,
        )
        for index in (0, 1)
    ]


def _decisions(run: Path) -> list[tuple[object, ...]]:
    return [
        (e["step"], e["edit"], e["accepted"], e.get("site"), e["hidden"])
        for e in rows(run / "history.jsonl")
    ]


def test_a_run_loses_a_host_and_goes_on_with_one_and_with_two(
    server: Server, spec: Path, tmp_path: Path
) -> None:
    alone, run = tmp_path / "alone", tmp_path / "run"
    code, one = server.run("train", spec, "--run-dir", alone, "--set", "device.count=2")
    assert code == 0, one.err

    first, second = _pair(server, "train", spec, "--run-dir", run, limit=10, pause=("train", 4))
    second.wait_for_pause()
    wait_until(lambda: any((run / "checkpoints").glob("[0-9]*")), first.err + second.err)
    second.send(signal.SIGKILL)
    first.go_on()
    assert (second.wait(), first.wait()) == (-signal.SIGKILL, 75)
    code, one = server.run("resume", run, "--until", "3 epochs", "--set", "device.count=2")
    assert code == 0, one.err
    both = _pair(server, "resume", run, "--set", "device.count=1")
    assert [child.wait() for child in both] == [0, 0], both[0].err + both[1].err

    assert json.loads((run / "summary.json").read_text())["status"] == "finished"
    assert _decisions(run) == _decisions(alone)
    steps = [row["step"] for row in rows(run / "metrics.jsonl")]
    assert steps == [row["step"] for row in rows(alone / "metrics.jsonl")]


def test_a_signal_to_one_process_stops_both_at_one_step(
    server: Server, spec: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    first, second = _pair(server, "train", spec, "--run-dir", run, pause=("train", 3))
    second.wait_for_pause()
    second.send(signal.SIGTERM)
    second.wait_until_heard()
    second.go_on()
    first.go_on()
    assert (first.wait(), second.wait()) == (75, 75)
    stopped = [next(s for s in c.err.split() if s == "step") and c.err for c in (first, second)]
    assert all("stopped at step 10" in text for text in stopped), stopped


def test_another_spec_is_refused_in_both(server: Server, spec: Path, tmp_path: Path) -> None:
    address = _coordinator()
    both = [
        server.start(
            *("train", spec, "--run-dir", tmp_path / "run", "--seed", index),
            *("--hosts", 2, "--host-id", index, "--coordinator", address),
            SENN_HOSTS_TIMEOUT="60",
        )
        for index in (0, 1)
    ]
    assert [child.wait() for child in both] == [2, 2]
    assert all("another spec" in " ".join(child.err.split()) for child in both)
    assert not (tmp_path / "run").exists()


def test_a_host_that_never_comes_is_told(server: Server, spec: Path, tmp_path: Path) -> None:
    address = _coordinator()
    code, child = server.run(
        *("train", spec, "--run-dir", tmp_path / "run"),
        *("--hosts", 2, "--host-id", 0, "--coordinator", address),
        SENN_HOSTS_TIMEOUT="2",
    )
    assert code == 75
    assert "has not met the others" in " ".join(child.err.split())
