"""Processes that are killed or told to stop: the same bits at the end."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from senn_cli.runs import layout
from tests.forking import Child, Server
from tests.resuming import DIGITS, MOONS, SMALL, check_same, document, rows, store_of
from tests.waiting import LIMIT, wait_until

EVERY_STEP = "checkpoints={every: {steps: 1}, keep: 2}"
BEST = "training: {stop: {metric: validation_loss, patience: null}, "
"""In place of what begins the section: the runs end with the network of their best evaluation."""


@dataclass(frozen=True)
class Place:
    """Where commands run, with the specs and, when first asked for, their uninterrupted runs."""

    path: Path
    server: Server

    def spec(self, name: str) -> Path:
        return self.path / f"{name}.yaml"

    def reference(self, name: str) -> Path:
        """The uninterrupted run of a spec."""
        path = self.path / f"{name}-reference"
        if not path.exists():
            code, child = self.server.run("train", self.spec(name), "-q", "--run-dir", path)
            assert code == 0, child.err
        return path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    path = tmp_path_factory.mktemp("processes")
    for name, text in (("digits", DIGITS), ("moons", MOONS), ("small", SMALL)):
        assert "training: {" in text
        watched = text.replace("training: {", BEST)
        (path / f"{name}.yaml").write_text(watched, encoding="utf-8")
    with Server(path / "processes") as server:
        yield Place(path, server)


def kill_at_random(process: Child | Genuine, run: Path, chance: random.Random) -> bool:
    """Kills a process at a random moment, most often during a save; whether it still ran."""
    checkpoints = run / "checkpoints"

    def names() -> set[str]:
        return set(os.listdir(checkpoints)) if checkpoints.exists() else set()

    before, finished = names(), run / "summary.json"
    if chance.random() < 0.2:  # anywhere, its first second included
        wait_until((run / "spec.yaml").exists)
        time.sleep(chance.uniform(0, 2))  # any moment will do; nothing waits for one
    else:
        more = 1 if chance.random() < 0.7 else chance.randint(2, 5)
        seen: set[str] = set()

        def further() -> bool:
            seen.update(names() - before)
            return len(seen) >= more or finished.exists()

        wait_until(further)
        time.sleep(chance.uniform(0, 0.05))  # likewise
    process.send(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


class Genuine:
    """A process that shares nothing with this one, as a shell starts it."""

    def __init__(self, *arguments: object) -> None:
        command = [sys.executable, "-m", "senn_cli", *map(str, arguments)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)

    def send(self, number: int) -> None:
        self._process.send_signal(number)

    def wait(self) -> int:
        return self._process.wait(timeout=LIMIT)


def killed_until_finished(
    place: Place, name: str, run: Path, *, kills: int, seed: int, genuine: bool = False
) -> int:
    """A run that is killed up to `kills` times and then left alone; returns how often it was."""
    chance, done = random.Random(seed), 0
    start = ["train", place.spec(name), "-q", "--run-dir", run, "--set", EVERY_STEP]
    while done < kills:
        started = run.exists()
        arguments = ["resume", run, "-q"] if started else start
        process = Genuine(*arguments) if genuine and not started else place.server.start(*arguments)
        if not kill_at_random(process, run, chance):
            break  # it had come to its end before
        done += 1
        for step in store_of(run).steps():  # what counts as complete is complete
            found = document(run, step)
            assert found["step"] == step
            best = found["meta"]["best"]["step"]  # and so is the best network of its time
            assert best is None or best in layout.complete_steps(run / layout.BEST)
    code, child = place.server.run("resume", run, "-q")
    assert code == 0, child.err
    check_same(run, place.reference(name))
    assert [path.name for path in (run / "checkpoints").iterdir() if "." in path.name] == []
    assert not (run / "lock.json").exists()
    return done


def test_killed_four_times(place: Place, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert killed_until_finished(place, "moons", run, kills=4, seed=1, genuine=True) >= 3


@pytest.mark.slow
def test_killed_fifty_times(place: Place, tmp_path: Path) -> None:
    total = turn = 0
    while total < 50:
        name, run = ("moons", "digits")[turn % 2], tmp_path / f"run-{turn}"
        total += killed_until_finished(place, name, run, kills=min(8, 50 - total), seed=turn)
        turn += 1


TERM, INT = signal.SIGTERM, signal.SIGINT


@pytest.mark.parametrize(
    "numbers",
    [
        (TERM, INT, TERM, INT),
        pytest.param((INT, TERM, INT, TERM), marks=pytest.mark.slow),
    ],
)
def test_stopped_by_a_signal_in_every_phase(
    place: Place, tmp_path: Path, numbers: tuple[int, ...]
) -> None:
    run = tmp_path / "run"
    phases = [("compile", 3), ("train", 3), ("score", 2), ("save", 2)]
    # A program in this list is compiled again in every process, so the first is not the only one.
    for (phase, count), number in zip(phases, numbers, strict=True):
        start = (
            ("resume", run) if run.exists() else ("train", place.spec("moons"), "--run-dir", run)
        )
        override = () if run.exists() else ("--set", EVERY_STEP)
        child = place.server.start(*start, *override, pause=(phase, count))
        child.wait_for_pause()
        child.send(number)
        child.go_on()
        assert child.wait() == (130 if number == INT else 75)
        assert child.out == ""
        assert "; again to quit now\n" in child.err
        step = store_of(run).steps()[-1]
        assert f"stopped at step {step}; the run so far is in {run}" in child.err
        assert f"Go on with: senn resume {run}" in child.err
        assert "Traceback" not in child.err
        assert not (run / "lock.json").exists()
        assert not (run / "summary.json").exists()
    code, child = place.server.run("resume", run)
    assert code == 0, child.err
    check_same(run, place.reference("moons"))
    assert len(rows(run / "resumed.jsonl")) == len(phases)


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [(TERM, INT, 130), pytest.param(TERM, TERM, 75, marks=pytest.mark.slow)],
)
def test_a_second_signal_quits_at_once(
    place: Place, tmp_path: Path, first: int, second: int, code: int
) -> None:
    run = tmp_path / "run"
    arguments = ("train", place.spec("small"), "--run-dir", run, "--set", EVERY_STEP)
    child = place.server.start(*arguments, pause=("save", 2))
    child.wait_for_pause()
    child.send(first)
    child.wait_until_heard()
    child.send(second)
    assert child.wait() == code  # although nothing has ended its pause
    assert "Traceback" not in child.err
    assert place.server.run("resume", run)[0] == 0
    check_same(run, place.reference("small"))


def test_a_live_run_is_left_alone(place: Place, tmp_path: Path) -> None:
    run = tmp_path / "run"
    child = place.server.start("train", place.spec("small"), "--run-dir", run, pause=("train", 3))
    child.wait_for_pause()
    before = {path: path.read_bytes() for path in run.iterdir() if path.is_file()}
    code, second = place.server.run("resume", run)
    assert code == 2
    assert f"pid {child.pid}" in second.err
    assert {path: path.read_bytes() for path in run.iterdir() if path.is_file()} == before
    child.go_on()
    assert child.wait() == 0
    check_same(run, place.reference("small"))


def test_a_lock_that_a_kill_has_left_is_taken_over(place: Place, tmp_path: Path) -> None:
    run = tmp_path / "run"
    child = place.server.start("train", place.spec("small"), "--run-dir", run, pause=("train", 3))
    child.wait_for_pause()
    child.send(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    assert json.loads((run / "lock.json").read_text())["pid"] == child.pid
    code, second = place.server.run("resume", run)
    assert code == 0, second.err
    check_same(run, place.reference("small"))
