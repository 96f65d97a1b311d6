"""`senn evaluate`: what it prints where, as tables and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from senn_cli.cli.app import app
from senn_cli.cli.evaluate import worst_confusions
from senn_cli.model import load_model
from senn_cli.use.measures import classification
from tests.use.made import made_run

runner = CliRunner()


def evaluate(*arguments: str | Path) -> Any:
    return runner.invoke(app, ["evaluate", *map(str, arguments)])


def cells(line: str) -> Sequence[str]:
    return line.split()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_run(tmp_path_factory.mktemp("runs") / "größe")


def test_tables(run: Path) -> None:
    result = evaluate(run)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    lines = [cells(line) for line in result.stdout.splitlines()]
    assert ["data", "40", "test", "examples", "of", str(run / "spec.yaml")] in lines
    assert ["class", "precision", "recall", "support"] in lines
    assert any(line[:3] == ["true", "\\", "predicted"] for line in lines)
    assert ["confidence", "examples", "mean", "accuracy"] in lines
    assert "top 5" not in result.stdout  # there are two classes


def test_json(run: Path) -> None:
    from senn_cli.data.registry import load_dataset
    from senn_cli.spec import load_spec

    found = json.loads(evaluate(run, "--json", "--split", "train").stdout)
    spec = load_spec(run / "spec.yaml")
    part = load_dataset(spec.data, spec.seed).train
    p = load_model(run)(part.x)
    assert found["examples"] == len(part) == 54
    assert (found["split"], found["task"]) == ("train", "classification")
    assert found["accuracy"] == pytest.approx(np.mean(p.argmax(axis=1) == part.y))
    assert found["loss"] == pytest.approx(-np.log(p[np.arange(54), part.y]).mean(), rel=1e-5)
    assert sum(map(sum, found["confusion"])) == 54
    assert len(found["calibration"]["bins"]) == 15
    assert found["top5_accuracy"] is None


def test_a_regression(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", "{source: regression, train: 20, test: 9}")
    lines = [cells(line) for line in evaluate(run).stdout.splitlines()]
    assert ["target", "mse", "rmse", "mae", "r2"] in lines
    found = json.loads(evaluate(run, "--json").stdout)
    (target,) = found["targets"]
    assert found["mse"] == target["mse"] == pytest.approx(2 * found["loss"])


def test_many_classes_are_cut(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(250) % 25
    np.savez(tmp_path / "a.npz", x=rng.normal(size=(250, 3)), y=y)
    run = made_run(tmp_path / "run", "{source: npz, path: a.npz}")
    text = evaluate(run).stdout
    assert "the 20 of 25 classes with the lowest recall" in text
    assert "taken for" in text
    assert "top 5 accuracy" in text


def test_the_most_frequent_mistakes() -> None:
    outputs = np.eye(3, dtype=np.float32)[[0, 1, 1, 2, 0]]
    measures = classification(outputs, np.array([0, 0, 0, 0, 1]), "abc")
    assert worst_confusions(measures, 2) == [(0, 1, 2), (0, 2, 1)]


def test_notes_go_to_stderr(run: Path) -> None:
    result = evaluate(run, "--set", "data.test=30", "--json")
    assert "may be among these" in result.stderr
    assert json.loads(result.stdout)["examples"] == 30


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere"], 2, "is not a run directory"),
        (["RUN", "--set", "seed=2"], 2, "only the data can be changed here"),
        (["RUN", "--data", "none.yaml"], 2, "no such file"),
        (["RUN", "--split", "all"], 2, "Invalid value"),
        (["RUN", "--set", "data.tset=2"], 2, "data.tset"),
    ],
)
def test_faults(run: Path, arguments: list[str], code: int, message: str) -> None:
    result = evaluate(*(str(run) if word == "RUN" else word for word in arguments))
    assert result.exit_code == code
    assert message in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.output
