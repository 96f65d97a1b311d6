from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from senn_cli.cli.app import app
from senn_cli.cli.bench import Watch, parts_of
from senn_cli.training.observer import Start

runner = CliRunner()
START = Start("run", "", "CPU", "classification", 100, 0, 50, 4, None, 0, (3,), 17)
SPEC = """\
data: {source: moons, train: 100, test: 50}
network: {kind: mlp, hidden: [3], activation: tanh}
optimizer: {kind: adam}
expansion: {policy: none}
training: {epochs: 6, batch_size: 30}
track: {wandb: true}
"""


def test_compilation_does_not_count_and_what_it_interrupts_is_one() -> None:
    now = 0.0
    watch = Watch(5.0, lambda: now)
    watch.start(START)
    for name, until in (
        ("train", 1.0), ("compile", 101.0), ("train", 103.0), ("score", 104.0),
        ("compile", 204.0), ("score", 205.0),
    ):  # fmt: skip
        watch.phase(name)
        now = until
        watch.round((), None, None) if until == 104.0 else None
    assert watch.stops()  # 1 + 2 of steps and 1 + 1 of scores
    assert watch.spent == 5.0
    assert watch.times["step"] == watch.times["round"] == watch.rounds == 1
    watch.seconds = 5.5
    assert not watch.stops()


def test_parts_are_told_by_time_and_by_step() -> None:
    seconds = {"train": 2.0, "track": 0.0, "score": 0.5, "surgery": 0.3, "evaluate": 0.1, "save": 0}
    parts = parts_of(seconds, {"step": 1000, "look": 0, "round": 4, "evaluation": 10, "save": 0})
    assert parts["step"] == {"times": 1000, "seconds": 2.0, "ms_each": 2.0, "ms_a_step": 2.0}
    assert parts["round"] == {"times": 4, "seconds": 0.8, "ms_each": 200.0, "ms_a_step": 0.8}
    assert parts["evaluation"]["ms_each"] == 10.0
    assert parts["look"]["ms_each"] is None


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("bench") / "small.yaml"
    file.write_text(SPEC, encoding="utf-8")
    return file


def test_a_run_to_its_end_in_numbers(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = runner.invoke(app, ["bench", str(spec), "--json", "--seconds", "600"])
    assert done.exit_code == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["parts"]["step"]["times"] == 18  # 3 batches of 30 in 100 examples, 6 epochs
    assert report["parts"]["round"] == {
        "times": 0, "seconds": 0.0, "ms_each": None, "ms_a_step": 0.0,
    }  # fmt: skip
    assert report["parameters"] == {"start": 17, "end": 17}  # 2 * 3 + 3 and 3 * 2 + 2
    rate = report["examples_a_second"]
    assert rate["steps"] == pytest.approx(18 * 30 / report["parts"]["step"]["seconds"], rel=0.01)
    assert rate["all"] < rate["steps"]
    programs = report["programs"]
    assert {"train", "evaluate"} <= set(programs)
    assert sum(one["seconds"] for one in programs.values()) <= report["seconds"]["total"]
    assert 1 << 20 < report["peak_memory"]["process"] < 1 << 40
    assert list(tmp_path.iterdir()) == []


def test_no_seconds_and_the_programs_in_a_table(spec: Path) -> None:
    done = runner.invoke(app, ["bench", str(spec), "--seconds", "0", "--compile"])
    assert done.exit_code == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert any(line[:2] == ["evaluate", "1"] and "quick" in line for line in lines)
    assert not any(line[:1] == ["step"] for line in lines)  # none was taken
    assert "from the cache" in done.stdout and "peak memory" in done.stdout


def test_a_spec_with_faults() -> None:
    assert runner.invoke(app, ["bench", "nowhere.yaml"]).exit_code == 2
