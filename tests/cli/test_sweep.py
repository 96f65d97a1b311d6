from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from senn_cli.cli.app import app
from tests.processes import imported
from tests.resuming import SMALL
from tests.sweep.sweeps import SPEC, written

GROWS = "price: 0, samples: 50, depth: false, width: {proposals: 16, polished: 2, steps: 3}"
"""In place of the threshold: growth that takes little to compile."""


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["sweep", *map(str, arguments)])


def test_members_are_listed_without_jax(tmp_path: Path) -> None:
    path = written(tmp_path, "spec: small.yaml\nseeds: 2\ncontrols: [static]")
    lines = run(path, "--dry-run").stdout.splitlines()
    assert lines == [
        "000-small-seed-0",
        "001-small-seed-1",
        "002-static-seed-0  from 000-small-seed-0",
        "003-static-seed-1  from 001-small-seed-1",
    ]
    found, modules = imported(["sweep", tmp_path / "small.yaml", "--dry-run"])
    assert found == ["000-small-seed-0"]
    assert not {"jax", "flax", "optax", "orbax"} & modules


def test_an_invalid_sweep_is_a_usage_error(tmp_path: Path) -> None:
    path = written(tmp_path, "spec: small.yaml\nseeds: none\ngrid: {network.hiden: [[1]]}")
    result = run(path, "--dir", tmp_path / "folder")
    assert result.exit_code == 2
    assert "sweep.yaml:2: seeds should be" in result.stderr
    assert not (tmp_path / "folder").exists()


def test_a_sweep_with_a_control(tmp_path: Path) -> None:
    written(tmp_path, "", SPEC.replace("threshold: 1e-2", GROWS))
    folder = tmp_path / "folder"
    options = ("--seeds", "1", "--control", "static", "--dir", folder, "--jobs", "2")
    result = run(tmp_path / "small.yaml", *options)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("2 settings, 2 runs\nA  small: 1 run, seed 0\nB  static")
    named = [str(folder / name) for name in ("report.html", "cost.svg")]
    assert result.stdout.splitlines()[-2:] == named
    assert all(Path(name).stat().st_size > 1000 for name in named)
    grown, static = (
        json.loads((folder / name / "summary.json").read_text())
        for name in ("000-small-seed-0", "001-static-seed-0")
    )
    assert grown["hidden"] == static["hidden"] != [3]
    assert grown["parameters"] == static["parameters"]
    assert (static["policy"], static["seed"]) == ("none", 0)
    # Again nothing is trained.
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("metrics.jsonl")}
    lines, modules = imported(["sweep", tmp_path / "small.yaml", *options])
    assert lines == result.stdout.splitlines()
    assert not {"jax", "flax", "optax", "orbax"} & modules
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("metrics.jsonl")} == before


@pytest.mark.slow
def test_a_sweep_of_transfers_goes_on_from_its_origin(tmp_path: Path) -> None:
    (tmp_path / "first.yaml").write_text(SMALL, encoding="utf-8")
    path = written(tmp_path, "spec: small.yaml\norigin: first.yaml\nseeds: 2", SMALL)
    result = run(path, "--dir", tmp_path / "folder", "--jobs", "1")
    assert result.exit_code == 0, result.stderr
    origin = tmp_path / "folder" / "002-small-seed-0"
    for name in ("000-small-seed-0", "001-small-seed-1"):
        begun = json.loads((tmp_path / "folder" / name / "transfer.json").read_text())
        assert begun["origin"]["path"] == str(origin / "weights")
    assert not (origin / "transfer.json").exists()
