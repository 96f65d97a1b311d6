"""Two processes that train one run and save at every turn, one of which is killed at any moment.

Saves go on in another thread while the processes meet in programs: neither disturbs the other.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.resuming import go, resume, rows, steps, store_of
from tests.training.test_devices import DECIDED, check_close
from tests.waiting import LIMIT, wait_until

SPEC = """
name: hosts
data: {source: moons, train: 96, test: 40}
network: {kind: mlp, hidden: [2], activation: tanh, capacity: {initial: [12]}}
expansion:
  until: 6 epochs
  threshold: 1e-6
  stop: 1e-6
  price: 0
  samples: 48
  max_hidden: 5
  width: {proposals: 16, polished: 2, steps: 2, per_round: 1}
  depth: false
optimizer: {kind: adam, learning_rate: 1e-3, schedule: constant}
checkpoints: {every: 2 epochs}
training: {epochs: 100000, batch_size: 24}
"""

FLAGS = "--xla_force_host_platform_device_count=1"


@contextmanager
def two(log: Path, *words: str | Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Both processes of a command; none outlives the context."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    together = ("--hosts", "2", "--coordinator", f"127.0.0.1:{port}", "--host-id")
    environment = {**os.environ, "XLA_FLAGS": FLAGS, "SENN_HOSTS_TIMEOUT": "60"}
    with ExitStack() as stack:
        started = []
        for number in ("0", "1"):
            out = stack.enter_context((log.with_suffix(f".{number}")).open("wb"))
            command = [sys.executable, "-m", "senn_cli", *map(str, words), "-q", *together, number]
            process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
            started.append(process)
            stack.callback(process.wait, LIMIT)
            stack.callback(process.kill)
        yield started


@pytest.mark.slow  # 28 s of CPU, in four processes and this one
def test_a_killed_process_ends_the_other_and_the_run_goes_on_alone_and_together(
    tmp_path: Path,
) -> None:
    spec, run = tmp_path / "spec.yaml", tmp_path / "run"
    spec.write_text(SPEC)

    def grown() -> bool:
        return run.exists() and len(store_of(run).steps()) > 0 and store_of(run).steps()[-1] >= 18

    with two(tmp_path / "first", "train", spec, "--run-dir", run) as processes:
        wait_until(grown, (tmp_path / "first.0").read_text())
        processes[1].kill()
        assert processes[0].wait(LIMIT) == 75, (tmp_path / "first.0").read_text()
    assert "nother process of this run" in (tmp_path / "first.0").read_text()

    kept = store_of(run).steps()[-1]
    resume(run, until=steps(kept + 6))  # by this process alone

    with two(tmp_path / "second", "resume", run) as processes:
        wait_until(lambda: store_of(run).steps()[-1] > kept + 6, "a checkpoint of both")
        processes[1].send_signal(signal.SIGTERM)
        assert [process.wait(LIMIT) for process in processes] == [75, 75]
    last = store_of(run).steps()[-1]
    said = (tmp_path / "second.0").read_text(), (tmp_path / "second.1").read_text()
    assert all(f"stopped at step {last}" in text for text in said)
    assert [row["step"] for row in rows(run / "resumed.jsonl")] == [kept, kept + 6]

    reference = tmp_path / "reference"
    go(SPEC, reference, "device.count=2", until=steps(last))
    events, wanted = rows(run / "history.jsonl"), rows(reference / "history.jsonl")
    assert [[e.get(k) for k in DECIDED] for e in events] == [
        [e.get(k) for k in DECIDED] for e in wanted
    ]
    assert any(event["accepted"] for event in events)
    metrics, others = rows(run / "metrics.jsonl"), rows(reference / "metrics.jsonl")
    assert [row["step"] for row in metrics] == [row["step"] for row in others]
    for row, other in zip(metrics, others, strict=True):
        check_close(row["train_loss"], other["train_loss"])
