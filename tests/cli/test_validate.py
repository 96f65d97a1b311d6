"""`senn validate`: all faults of all specs, on stderr or as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from senn_cli.cli.app import app

runner = CliRunner()


@pytest.fixture
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.yaml").write_text("data: digits\nnetwork: {kind: mlp, hidden: [10, 20]}\n")
    (tmp_path / "bad.yaml").write_text(
        "data: digits\nnetwork: mlp\noptimizer:\n  lerning_rate: 3e-4\n  damping: .nan\n"
    )
    (tmp_path / "worse.yaml").write_text("data: digits\nnetwork: mlp\nseed: 1\nseed: 2\n")
    return tmp_path


def test_a_valid_spec(specs: Path) -> None:
    result = runner.invoke(app, ["validate", "good.yaml"])
    assert result.exit_code == 0
    assert result.stdout == (
        "good.yaml: valid (digits, mlp 10-20, natural_gradient, policy senn, 20 epochs, "
        "1,294 examples in batches of 256, 300 steps)\n"
    )
    assert result.stderr == ""


def test_all_faults_of_all_specs(specs: Path) -> None:
    result = runner.invoke(app, ["validate", "bad.yaml", "good.yaml", "worse.yaml", "none.yaml"])
    assert result.exit_code == 2
    assert result.stdout.startswith("good.yaml: valid")
    assert len(result.stdout.splitlines()) == 1
    lines = result.stderr.splitlines()
    assert lines[0].startswith("╭─ Invalid: 3 of 4 specs ─")
    assert [line.strip("│ ") for line in lines[1:-1]] == [
        "bad.yaml:4: optimizer.lerning_rate is unknown; did you mean learning_rate?",
        "bad.yaml:5: optimizer.damping should be a finite number, found .nan",
        "worse.yaml:4: seed is given twice, on line 3 and on line 4",
        "none.yaml: no such file",
    ]


def test_no_run_directory_is_left(specs: Path) -> None:
    before = sorted(specs.iterdir())
    runner.invoke(app, ["validate", "bad.yaml", "good.yaml"])
    assert sorted(specs.iterdir()) == before


def test_overrides(specs: Path) -> None:
    result = runner.invoke(
        app,
        ["validate", "good.yaml", "--set", "training.steps=1e2", "--set", "network.hidden.1=7"],
    )
    assert result.exit_code == 0
    assert "mlp 10-7" in result.stdout
    assert "100 steps" in result.stdout
    result = runner.invoke(app, ["validate", "good.yaml", "--set", "optimizer.lerning_rate=0.1"])
    assert result.exit_code == 2
    assert (
        "--set optimizer.lerning_rate=0.1: optimizer.lerning_rate is unknown; did you mean "
        "learning_rate?"
    ) in result.stderr


def test_a_hint_for_a_misspelt_file(specs: Path) -> None:
    result = runner.invoke(app, ["validate", "goood.yaml"])
    assert result.exit_code == 2
    assert "Did you mean good.yaml?" in result.stderr


def test_json(specs: Path) -> None:
    result = runner.invoke(app, ["validate", "--json", "good.yaml", "bad.yaml", "none.yaml"])
    assert result.exit_code == 2
    assert result.stderr == ""
    good, bad, none = json.loads(result.stdout)
    assert good == {"spec": "good.yaml", "valid": True, "errors": [], "warnings": []}
    assert bad["valid"] is False
    assert bad["errors"][1] == {
        "path": "optimizer.damping",
        "line": 5,
        "origin": "bad.yaml:5",
        "message": "should be a finite number, found .nan",
    }
    assert none["errors"] == [
        {"path": "", "line": None, "origin": "none.yaml", "message": "none.yaml: no such file"}
    ]
    assert runner.invoke(app, ["validate", "--json", "good.yaml"]).exit_code == 0


def test_markup_and_control_characters_in_a_spec_are_shown_as_they_are(specs: Path) -> None:
    (specs / "odd.yaml").write_text(
        'data: digits\nnetwork: mlp\n"[bold red]x": 1\n"a\\e[31m": 2\nname: "[/]"\n'
    )
    result = runner.invoke(app, ["validate", "odd.yaml"])
    assert result.exit_code == 2
    assert "[bold red]x is unknown" in result.stderr
    assert "a\\x1b[31m is unknown" in result.stderr
    assert "\x1b" not in result.stderr
