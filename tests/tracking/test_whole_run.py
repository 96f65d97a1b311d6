"""Trackers in whole runs: what they hear, and that training does not depend on them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from senn_cli.errors import DivergedError, UsageError
from senn_cli.runs.directory import RunDirectory
from senn_cli.spec import Duration, Spec, parse_spec
from senn_cli.tracking.tracker import KINDS
from senn_cli.training.observer import Observer
from senn_cli.training.resume import resume_run
from senn_cli.training.run import train_run
from tests.resuming import SMALL

TRACKED = parse_spec(SMALL + "track: {wandb: true}\n")


class Notes(Observer):
    """An observer that keeps what it should tell the user."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def note(self, text: str) -> None:
        self.texts.append(text)


class Recorder:
    """A tracker that keeps all; `full` is the step from which its disk is full."""

    def __init__(self, run: Path, step: int, full: float) -> None:
        self.opened = (run, step)
        self.full = full
        self.steps: list[int] = []
        self.summaries: list[dict[str, Any]] = []
        self.closed = 0

    def metrics(self, row: Mapping[str, Any]) -> None:
        if row["step"] >= self.full:
            raise OSError(28, "No space left on device")
        self.steps.append(row["step"])

    def event(self, event: Mapping[str, Any]) -> None:
        raise AssertionError("nothing grows in these runs")

    def end(self, summary: Mapping[str, Any]) -> None:
        self.summaries.append(dict(summary))

    def close(self) -> None:
        self.closed += 1


class Opened(list[Recorder]):
    """All trackers that were opened, and when the disks of the next are full."""

    full = float("inf")

    def make(self, spec: Spec, run: Path, step: int) -> Recorder:
        assert (run / "spec.yaml").is_file()  # the directory is a run's already
        self.append(Recorder(run, step, self.full))
        return self[-1]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    found = Opened()
    kinds = tuple(kind._replace(module="json", make=found.make) for kind in KINDS)
    monkeypatch.setattr("senn_cli.tracking.tracker.KINDS", kinds)
    return found


def steps(run: Path) -> list[int]:
    return [row["step"] for row in RunDirectory(run).metrics()]


def test_a_tracker_hears_what_the_files_get(tmp_path: Path, opened: Opened) -> None:
    run = train_run(TRACKED, run_directory=tmp_path / "run")
    (tracker,) = opened
    assert tracker.opened == (run.path, 0)
    assert tracker.steps == steps(run.path) == [3, 6, 9]  # three steps an epoch
    assert tracker.summaries == [run.summary]
    assert tracker.closed == 1


def test_a_run_that_stops_has_no_end_and_a_resumed_one_goes_on(
    tmp_path: Path, opened: Opened
) -> None:
    train_run(TRACKED, run_directory=tmp_path / "run", until=Duration(steps=6))
    run = resume_run(tmp_path / "run")
    first, second = opened
    assert (first.steps, first.summaries, first.closed) == ([3, 6], [], 1)
    assert second.opened == (run.path, 6)
    assert (second.steps, second.closed) == ([9], 1)


def test_a_full_disk_ends_the_tracker_and_not_the_run(tmp_path: Path, opened: Opened) -> None:
    opened.full, notes = 6, Notes()
    run = train_run(TRACKED, run_directory=tmp_path / "run", observers=[notes])
    assert run.summary["status"] == "finished"
    assert steps(run.path) == [3, 6, 9]
    assert (opened[0].steps, opened[0].summaries, opened[0].closed) == ([3], [], 1)
    (note,) = notes.texts
    assert "Weights & Biases is switched off" in note
    assert "No space left on device" in note


def test_a_run_that_diverges_has_an_end(tmp_path: Path, opened: Opened) -> None:
    wild = "optimizer: {kind: sgd, learning_rate: 1e30, schedule: constant}\n"
    text = "".join(
        wild if line.startswith("optimizer") else line for line in SMALL.splitlines(keepends=True)
    )
    with pytest.raises(DivergedError):
        train_run(parse_spec(text + "track: {mlflow: true}\n"), run_directory=tmp_path / "run")
    assert opened[0].summaries[0]["status"] == "diverged"
    assert opened[0].closed == 1


def test_a_missing_package_is_found_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(UsageError, match="needs wandb"):
        train_run(TRACKED, run_directory=tmp_path / "new")
    with pytest.raises(UsageError, match="needs wandb"):
        train_run(TRACKED, root=tmp_path / "runs")
    assert list(tmp_path.iterdir()) == []
    train_run(parse_spec(SMALL), run_directory=tmp_path / "run", until=Duration(steps=6))
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")}
    with pytest.raises(UsageError, match="needs wandb"):
        resume_run(tmp_path / "run", overrides=["track.wandb=true"], branch=tmp_path / "branch")
    with pytest.raises(UsageError, match="needs wandb"):
        resume_run(tmp_path / "run", overrides=["track.wandb=true"])
    assert not (tmp_path / "branch").exists()
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")} == before
