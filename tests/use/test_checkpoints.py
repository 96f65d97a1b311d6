"""Any checkpoint can be evaluated, predicted with, exported and loaded, as a finished run can."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import senn_cli
from senn_cli.cli.app import app
from senn_cli.training.origin import read_origin
from tests.resuming import SMALL, go, rows

runner = CliRunner()


def senn(*arguments: str | Path) -> Any:
    return runner.invoke(app, [*map(str, arguments)])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose every step was evaluated and saved; its best was not its last."""
    return go(
        SMALL,
        tmp_path_factory.mktemp("runs") / "run",
        "training={epochs: 3, batch_size: 30, evaluate: 1 steps}",
        "checkpoints={every: 1 steps, keep: 9, best: train_loss}",
    ).path


def names(run: Path) -> dict[str, int]:
    """Paths of checkpoints within the run, and the steps that they are of."""
    losses = [row["train_loss"] for row in rows(run / "metrics.jsonl")]
    best = 1 + losses.index(min(losses))
    return {"checkpoints/3": 3, f"checkpoints/best/{best}": best, "checkpoints/best": best}


def test_evaluated_it_has_the_figures_of_its_row(run: Path) -> None:
    by_step = {row["step"]: row for row in rows(run / "metrics.jsonl")}
    for name, step in names(run).items():
        result = senn("evaluate", run / name, "--split", "validation", "--json")
        assert result.exit_code == 0, result.output
        found = json.loads(result.stdout)
        row = by_step[step]
        assert found["loss"] == pytest.approx(row["validation_loss"], rel=1e-5)
        assert found["accuracy"] == pytest.approx(row["validation_accuracy"], abs=1e-6)
        assert found["run"] == str(run / name)


def test_predicted_with_it_answers_as_it_does_when_loaded(run: Path, tmp_path: Path) -> None:
    x = np.random.default_rng(1).normal(size=(5, 2))
    np.save(tmp_path / "x.npy", x)
    final = senn_cli.load(run)(x)
    for name, step in names(run).items():
        p = senn_cli.load(run / name)(x)
        assert bool(np.abs(p - final).max() > 1e-4) == (step != 9)
        result = senn("predict", run / name, tmp_path / "x.npy", "--probabilities")
        assert result.exit_code == 0, result.output
        _, *lines = result.stdout.splitlines()
        found = [[float(cell) for cell in line.split(",")[-2:]] for line in lines]
        np.testing.assert_allclose(found, p, rtol=1e-6)


def test_exported_it_lies_beside_the_run_s_own(run: Path) -> None:
    result = senn("export", run / "checkpoints" / "3", "--format", "stablehlo")
    assert result.exit_code == 0, result.output
    assert (run / "export" / "stablehlo-3" / "network.stablehlo").is_file()
    assert not (run / "export" / "stablehlo").exists()


def test_it_is_an_origin_of_other_runs(run: Path) -> None:
    for name, step in names(run).items():
        found = read_origin(run / name, "mlp")
        assert (found.step, found.run, found.source) == (step, run, "checkpoint")


def test_inspected_it_is_that_of_its_step(run: Path) -> None:
    for name, step in names(run).items():
        result = senn("inspect", "architecture", run / name)
        assert f"at step {step}" in result.stdout, result.output


def test_one_that_is_not_there_is_told_with_those_that_are(run: Path) -> None:
    for verb in (("evaluate",), ("export", "--format", "stablehlo"), ("inspect",)):
        result = senn(*verb, run / "checkpoints" / "17")
        assert result.exit_code == 2
        text = " ".join(result.stderr.split())
        assert "has no checkpoint of step 17; checkpoints has: 1, 2, 3, 4, 5, 6, 7, 8, 9" in text


def test_a_run_that_has_not_ended_names_its_newest_checkpoint(run: Path, tmp_path: Path) -> None:
    unended = tmp_path / "run"
    shutil.copytree(run, unended)
    shutil.rmtree(unended / "weights")
    result = senn("evaluate", unended)
    assert result.exit_code == 1
    told = "".join(result.stderr.split())
    assert f"Finishitwith:sennresume{unended},ornameacheckpoint:{unended}/checkpoints/9" in told
