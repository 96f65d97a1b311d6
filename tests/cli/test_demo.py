from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from senn_cli.cli.app import app
from senn_cli.spec import load_spec

SPEC = Path(__file__).parents[2] / "specs" / "quickstart.yaml"


def test_the_demo_is_the_quickstart(tmp_path: Path) -> None:
    arguments = ["demo", "--set", "training.epochs=1", "--seed", "2", "--quiet", "--run-dir"]
    result = CliRunner().invoke(app, [*arguments, str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{tmp_path / 'run'}\n"
    made = load_spec(tmp_path / "run" / "spec.yaml", ())
    assert made == load_spec(SPEC, ["training.epochs=1", "seed=2"])


def test_who_names_the_quickstart_elsewhere_is_told_of_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["train", "quickstart"])
    assert result.exit_code == 2
    assert "`senn demo` trains the quickstart" in result.stderr
