"""Two processes that train one run and save at every turn, one of which is killed at any moment.

Saves go on in another thread while the processes meet in programs: neither disturbs the other.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import senn_cli
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

WIDE = """
data: {source: moons, train: 96, test: 40}
network: {kind: mlp, hidden: [20000]}
expansion: {policy: none}
optimizer: {kind: adam, learning_rate: 1e-3, schedule: constant}
checkpoints: {every: {steps: 1}}
training: {epochs: 100000, batch_size: 24}
"""

FLAGS = "--xla_force_host_platform_device_count=1"


Starts = tuple[dict[str, Any], dict[str, Any]]


@contextmanager
def two(
    log: Path, *words: str | Path, apart: Starts = ({}, {}), limit: int = 60
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Both processes of a command, in what they are apart; none outlives the context."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    together = ("--hosts", "2", "--coordinator", f"127.0.0.1:{port}", "--host-id")
    environment = {**os.environ, "XLA_FLAGS": FLAGS, "SENN_HOSTS_TIMEOUT": str(limit)}
    with ExitStack() as stack:
        started = []
        for number, own in zip(("0", "1"), apart, strict=True):
            out = stack.enter_context((log.with_suffix(f".{number}")).open("wb"))
            command = [sys.executable, "-m", "senn_cli", *map(str, words), "-q", *together, number]
            own = {"env": environment | own.get("env", {}), "cwd": own.get("cwd")}
            process = subprocess.Popen(command, stdout=out, stderr=out, **own)
            started.append(process)
            stack.callback(process.wait, LIMIT)
            stack.callback(process.kill)
        yield started


def said(log: Path) -> list[str]:
    """What both have said, in lines of any length."""
    texts = [log.with_suffix(f".{number}").read_text(encoding="utf-8") for number in (0, 1)]
    return [" ".join(text.replace("│", "").split()) for text in texts]


def both_refuse(
    log: Path, run: Path, code: int, message: str, *words: str | Path, **how: Any
) -> None:
    """That both processes of a command end with a code and a message, and write no run."""
    with two(log, *words, "--run-dir", run, **how) as processes:
        assert [process.wait(LIMIT) for process in processes] == [code, code], said(log)
    assert all(message in text for text in said(log)), said(log)
    assert "Traceback" not in "".join(said(log))
    assert not run.exists()


@pytest.mark.slow
def test_other_code_other_data_and_missing_data_are_refused_by_both(tmp_path: Path) -> None:
    package = Path(senn_cli.__file__).parent
    shutil.copytree(package, tmp_path / "other" / package.name)
    with (tmp_path / "other" / package.name / "errors.py").open("a", encoding="utf-8") as file:
        file.write("# another version\n")
    # One spec, whose data are where the process is.
    (tmp_path / "spec.yaml").write_text(
        SPEC.replace(
            "{source: moons, train: 96, test: 40}", "{source: npz, path: /proc/self/cwd/d.npz}"
        ),
        encoding="utf-8",
    )
    places = [tmp_path / name for name in ("first", "second", "empty")]
    rng = np.random.default_rng(0)
    for place in places:
        place.mkdir()
        arrays = {"x": rng.normal(size=(136, 2)), "y": np.arange(136) % 2}
        if place.name != "empty":
            np.savez(place / "d.npz", **arrays)
    first, second, empty = ({"cwd": place} for place in places)
    old = {"cwd": places[0], "env": {"PYTHONPATH": str(tmp_path / "other")}}
    words, run = ("train", tmp_path / "spec.yaml"), tmp_path / "run"
    log = tmp_path / "log"
    both_refuse(log, run, 2, "process 1 has another code", *words, apart=(first, old))
    both_refuse(log, run, 2, "process 1 has another data", *words, apart=(first, second))
    both_refuse(log, run, 2, "d.npz", *words, apart=(first, empty))


@pytest.mark.slow
def test_process_0_is_killed_in_a_save_and_the_run_goes_on_from_the_last_whole_one(
    tmp_path: Path,
) -> None:
    spec, run = tmp_path / "spec.yaml", tmp_path / "run"
    # Arrays of some size, so that a save takes its time.
    spec.write_text(WIDE, encoding="utf-8")

    def within_a_save() -> bool:
        return len(whole()) > 1 and any(folder.glob("*.saving"))

    def whole() -> list[int]:
        return store_of(run).steps() if folder.exists() else []

    folder, kills = run / "checkpoints", 0
    words: tuple[str | Path, ...] = ("train", spec, "--run-dir", run)
    while not kills:
        with two(tmp_path / "log", *words, limit=30) as processes:
            wait_until(within_a_save, "a save")
            processes[0].kill()
            processes[0].wait(LIMIT)
            kills += any(folder.glob("*.saving"))
            assert processes[1].wait(LIMIT) == 75, said(tmp_path / "log")
        words = ("resume", run)
    kept = whole()[-1]
    resume(run, until=steps(kept + 2))
    assert rows(run / "resumed.jsonl")[-1]["step"] == kept
    assert whole()[-1] == kept + 2


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
    for text in said(tmp_path / "second"):
        assert f"stopped at step {last}; the run so far is in {run}" in text
        assert f"Go on with: senn resume {run}" in text
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
