"""`senn predict`: CSV on stdout or in a file, chatter on stderr."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import senn_cli
from senn_cli.cli.app import app
from tests.use.made import made_run

runner = CliRunner()


def predict(*arguments: str | Path) -> Any:
    return runner.invoke(app, ["predict", *map(str, arguments)])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(0)
    names = np.array(["grün, hell", '"q"'] * 20)
    np.savez(folder / "a.npz", x=rng.normal(size=(40, 2)), y=names)
    return made_run(folder / "run", "{source: npz, path: a.npz}")


def test_stdout_is_the_csv_alone(run: Path, tmp_path: Path) -> None:
    x = np.random.default_rng(1).normal(size=(4, 2))
    np.save(tmp_path / "x.npy", x)
    result = predict(run, tmp_path / "x.npy", "--probabilities")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    found = list(csv.DictReader(result.stdout.splitlines()))
    p = senn_cli.load(run)(x)
    for row, expected in zip(found, p, strict=True):
        assert row["class"] == ('"q"', "grün, hell")[expected.argmax()]
        assert float(row["p_grün, hell"]) == pytest.approx(expected[1], rel=1e-6)


def test_a_file(run: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((4, 2)))
    result = predict(run, tmp_path / "x.npy", "-o", tmp_path / "out.csv")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "4 predictions" in result.stderr
    text = (tmp_path / "out.csv").read_text(encoding="utf-8")
    assert text == predict(run, tmp_path / "x.npy").stdout
    assert len(text.splitlines()) == 5


def test_an_array_by_name(run: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.zeros((1, 2)), more=np.zeros((3, 2)))
    assert len(predict(run, tmp_path / "x.npz").stdout.splitlines()) == 2  # as in the run's spec
    assert len(predict(run, tmp_path / "x.npz", "--array", "more").stdout.splitlines()) == 4


def test_faults(run: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((4, 3)))
    (tmp_path / "bad.npy").write_bytes(b"nothing")
    for arguments, code, message in (
        ([run], 2, "Missing argument"),
        ([run, tmp_path / "x.npy"], 2, "expected examples of the shape (2,)"),
        (
            [run, tmp_path / "bad.npy"],
            2,
            "bad.npy is no file of NumPy's (.npz or .npy); it looks like a text",
        ),
        ([run, tmp_path / "none.csv"], 2, "does not exist"),
        ([run, tmp_path / "x.npy", "-o", tmp_path], 2, "is a directory; name a file"),
        ([run, tmp_path / "x.npy", "-o", tmp_path / "a/b"], 2, "does not exist; name a file"),
        ([tmp_path, tmp_path / "x.npy"], 2, "is not a run directory"),
    ):
        result = predict(*arguments)
        assert result.exit_code == code, result.output
        assert message in " ".join(result.stderr.split())
        assert result.stdout == ""


def test_a_regression_has_no_probabilities(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", "{source: regression, train: 20, test: 9}")
    np.save(tmp_path / "x.npy", np.zeros(4))
    result = predict(run, tmp_path / "x.npy", "--probabilities")
    assert result.exit_code == 2
    assert "is a regression" in result.stderr
