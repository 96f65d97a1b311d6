"""Members that a process trains one after another are what `senn train` makes of their specs."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from senn_cli.cli.app import app
from senn_cli.spec import load_spec
from senn_cli.training.run import train_run
from tests.resuming import SMALL, check_same
from tests.sweep.sweeps import written


def test_they_equal_runs_of_their_own(tmp_path: Path) -> None:
    grid = "grid: {optimizer.learning_rate: [1e38, 1e-2]}\nseeds: 1"
    path, folder = written(tmp_path, f"spec: small.yaml\n{grid}", SMALL), tmp_path / "folder"
    words = ["sweep", str(path), "--dir", str(folder), "--jobs", "1"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.stderr
    diverged, found = sorted(folder.glob("0*"))
    assert json.loads((diverged / "summary.json").read_text())["status"] == "diverged"
    assert "diverged" in (folder / "logs" / f"{diverged.name}.log").read_text()
    assert "diverged" not in (folder / "logs" / f"{found.name}.log").read_text()
    train_run(load_spec(folder / "specs" / f"{found.name}.yaml"), run_directory=tmp_path / "alone")
    check_same(found, tmp_path / "alone")
    environment = json.loads((found / "environment.json").read_text())
    assert str(folder / "specs" / f"{found.name}.yaml") in environment["command"]
    assert json.loads((found / "summary.json").read_text())["cache_hits"] > 0
