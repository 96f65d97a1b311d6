"""Weights & Biases: what is asked of a fake of its package; then the real one, offline."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from senn_cli.errors import UsageError
from senn_cli.spec import Spec, parse_spec
from senn_cli.tracking.remembered import FILE
from senn_cli.tracking.wandb import WandbTracker

REAL = importlib.util.find_spec("wandb") is not None


def spec_of(options: str = "mode: offline", more: str = "") -> Spec:
    track = f"track: {{wandb: {{{options}}}}}\n"
    return parse_spec(f"data: digits\nnetwork: mlp\nseed: 7\n{more}{track}", "s.yaml")


class Run:
    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.axes: list[tuple[str, str | None]] = []
        self.summary: dict[str, Any] = {}
        self.exit_code: int | None = None

    def define_metric(self, name: str, step_metric: str | None = None) -> None:
        self.axes.append((name, step_metric))

    def log(self, row: dict[str, Any]) -> None:
        self.rows.append(row)

    def finish(self, exit_code: int) -> None:
        self.exit_code = exit_code


class Wandb(ModuleType):
    """The part of the package that the tracker calls."""

    def __init__(self, logged_in: bool = True) -> None:
        super().__init__("wandb")
        self.logged_in = logged_in
        self.opened: list[dict[str, Any]] = []
        self.runs: list[Run] = []
        self.Settings = dict

    def setup(self, settings: dict[str, Any]) -> None:
        assert settings["silent"]

    def login(self, prompt: bool) -> bool:
        assert not prompt  # nobody may be there to answer
        return self.logged_in

    def init(self, **options: Any) -> Run:
        self.opened.append(options)
        self.runs.append(Run())
        return self.runs[-1]


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> Wandb:
    fake = Wandb()
    monkeypatch.setitem(sys.modules, "wandb", fake)
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    monkeypatch.delenv("WANDB_MODE", raising=False)
    return fake


def test_a_whole_run(tmp_path: Path, wandb: Wandb) -> None:
    tracker = WandbTracker(spec_of("project: p, entity: me, mode: offline"), tmp_path, 0)
    tracker.metrics({"step": 10, "train_loss": 0.5, "hidden": [3, 2], "parameters": 38})
    grown = {"step": 10, "accepted": True, "edit": "add_neurons", "site": "layer 0"}
    tracker.event(grown | {"hidden": [4, 2], "reason": "r", "delta_eta": 0.25, "ratio": 2.0})
    tracker.event({"step": 10, "accepted": False, "reason": "noise"})
    tracker.end({"steps": 20, "status": "finished", "test_accuracy": 0.875})
    tracker.close()
    (options,), (run,) = wandb.opened, wandb.runs
    assert (options["project"], options["entity"], options["mode"]) == ("p", "me", "offline")
    assert options["resume"] == "allow"
    assert options["dir"] == str(tmp_path)
    assert options["config"]["seed"] == 7
    assert "track" not in options["config"]
    assert run.axes == [("step", None), ("*", "step")]
    assert run.rows == [
        {
            "step": 10,
            "loss/train": 0.5,
            "hidden/0": 3.0,
            "hidden/1": 2.0,
            "hidden/total": 5.0,
            "parameters": 38.0,
        },
        {
            "step": 10,
            "growth/delta_eta": 0.25,
            "growth/ratio": 2.0,
            "growth/event": "add_neurons at layer 0, now 4-2: r",
        },
        {"step": 10, "growth/event": "rejected: noise"},
    ]
    assert run.summary == {"status": "finished", "accuracy/test": 0.875}
    assert run.exit_code == 0


def test_a_resumed_run_goes_on_and_repeats_no_step(tmp_path: Path, wandb: Wandb) -> None:
    tracker = WandbTracker(spec_of(), tmp_path, 0)
    for step in (10, 20, 30):
        tracker.metrics({"step": step})
    for step in (10, 20):
        tracker.event({"step": step})
    # Killed; goes on from step 10.
    tracker = WandbTracker(spec_of(more="training: {epochs: 99}\n"), tmp_path, 10)
    for step in (20, 30, 40):
        tracker.metrics({"step": step})
        tracker.event({"step": step})
        tracker.event({"step": step})  # all events of a round have its step
    first, second = wandb.opened
    assert first["id"] == second["id"]
    rows = [("event" if "growth/event" in r else "row", r["step"]) for r in wandb.runs[1].rows]
    assert rows == [("event", 30), ("event", 30), ("row", 40), ("event", 40), ("event", 40)]
    known = json.loads((tmp_path / FILE).read_text())["wandb"]
    assert (known["metrics"], known["event"]) == (40, 40)


def test_another_project_is_another_run(tmp_path: Path, wandb: Wandb) -> None:
    WandbTracker(spec_of("project: p, mode: offline"), tmp_path, 0)
    WandbTracker(spec_of("project: q, mode: offline"), tmp_path, 0)
    first, second = wandb.opened
    assert first["id"] != second["id"]


def test_a_run_that_diverged_has_failed(tmp_path: Path, wandb: Wandb) -> None:
    tracker = WandbTracker(spec_of(), tmp_path, 0)
    tracker.end({"steps": 3, "status": "diverged"})
    tracker.close()
    assert wandb.runs[0].exit_code == 1


def test_nobody_is_asked_for_a_key(tmp_path: Path, wandb: Wandb) -> None:
    wandb.logged_in = False
    with pytest.raises(UsageError, match="wandb login"):
        WandbTracker(spec_of("mode: online"), tmp_path, 0)
    assert not (tmp_path / FILE).exists()
    WandbTracker(spec_of("mode: offline"), tmp_path, 0)


def test_the_mode_of_the_environment(
    tmp_path: Path, wandb: Wandb, monkeypatch: pytest.MonkeyPatch
) -> None:
    WandbTracker(spec_of(""), tmp_path, 0)
    monkeypatch.setenv("WANDB_MODE", "offline")
    WandbTracker(spec_of(""), tmp_path, 0)
    WandbTracker(spec_of("mode: online"), tmp_path, 0)
    assert [options["mode"] for options in wandb.opened] == ["online", "offline", "online"]


@pytest.mark.skipif(not REAL, reason="needs the extra wandb")
def test_the_real_package_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    wandb = importlib.import_module("wandb")
    try:
        for step, values in ((0, (10, 20)), (10, (20, 30))):
            tracker = WandbTracker(spec_of(), tmp_path, step)
            for value in values:
                tracker.metrics({"step": value, "train_loss": 0.5})
                tracker.event({"step": value, "accepted": False, "reason": "noise"})
            tracker.end({"steps": 30, "status": "finished"})
            tracker.close()
    finally:
        wandb.teardown()
    found = sorted(tmp_path.glob("wandb/offline-run-*/run-*.wandb"))
    assert len({path.name for path in found}) == 1  # under one id
    assert capfd.readouterr() == ("", "")
