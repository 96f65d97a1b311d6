"""The specs that ship with the project: each is valid, and yields what its header says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import senn_cli
from senn_cli.spec import load_spec
from senn_cli.spec.shipped import header
from senn_cli.sweep.begin import planned
from senn_cli.sweep.read import is_sweep, read_sweep

SPECS = Path(__file__).parent.parent / "specs"
FILES = sorted(SPECS.rglob("*.yaml"))
SWEEPS = [path for path in FILES if is_sweep(path)]
ALL = [path for path in FILES if path not in SWEEPS]


def test_there_are_specs() -> None:
    assert {path.stem for path in ALL} >= {"quickstart", "regression", "moons", "mnist"}


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_every_spec_is_valid(path: Path) -> None:
    assert load_spec(path, ()).name == path.stem


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_every_spec_says_what_it_shows(path: Path) -> None:
    header = path.read_text().split("\ndata:")[0]
    commands = (f"senn train specs/{path.name}", rf"senn transfer --from \S+ specs/{path.name}")
    assert any(re.search(command, header) for command in commands)
    assert "Result" in header


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_every_sweep_is_valid_and_says_what_it_shows(path: Path) -> None:
    assert len(planned(read_sweep(path))) > 1
    told = header(path)
    assert set(told) >= {"Shows", "Command", "Result", "Time"}
    figure, small, _ = path.stem.partition("-small")
    paper = f"senn reproduce {figure}{' --small' if small else ''}"
    command = paper if path.parent.name == "paper" else f"senn sweep specs/{path.name}"
    assert told["Command"].startswith(command)


def test_the_quickstart_grows_to_its_accuracy(tmp_path: Path) -> None:
    summary = senn_cli.train(SPECS / "quickstart.yaml", root=tmp_path).summary
    assert summary["test_accuracy"] >= 0.96
    assert sum(summary["hidden"]) > 4


@pytest.mark.slow
def test_the_regression_needs_ten_neurons_at_most(tmp_path: Path) -> None:
    summary = senn_cli.train(SPECS / "regression.yaml", root=tmp_path).summary
    assert summary["test_mse"] <= 1e-3
    assert 1 < sum(summary["hidden"]) <= 10


@pytest.mark.slow
def test_the_moons_get_layers(tmp_path: Path) -> None:
    summary = senn_cli.train(SPECS / "moons.yaml", root=tmp_path).summary
    assert summary["test_accuracy"] >= 0.9
    assert len(summary["hidden"]) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_mnist_in_sixty_neurons(seed: int, tmp_path: Path, data_root: Path) -> None:
    overrides = [f"seed={seed}", "expansion.max_hidden=60"]
    summary = senn_cli.train(SPECS / "mnist.yaml", overrides=overrides, root=tmp_path).summary
    assert summary["test_accuracy"] > 0.97
    assert 10 < sum(summary["hidden"]) <= 60
    assert summary["seconds"]["total"] <= 300
