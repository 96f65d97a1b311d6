from __future__ import annotations

import json

from typer.testing import CliRunner

from senn_cli.cli.app import app
from senn_cli.cli.completion import options

runner = CliRunner()


def test_all_sections() -> None:
    result = runner.invoke(app, ["explain"])
    assert result.exit_code == 0
    assert {"data", "network", "optimizer", "expansion"} <= {
        line.split()[0] for line in result.stdout.splitlines() if line.strip()
    }


def test_one_option() -> None:
    result = runner.invoke(app, ["explain", "expansion.threshold"])
    assert result.exit_code == 0
    assert "share of eta" in result.stdout and "section 3.3" in result.stdout


def test_as_json() -> None:
    result = runner.invoke(app, ["explain", "training.epochs", "--json"])
    value = json.loads(result.stdout)
    assert value["name"] == "training.epochs" and value["note"]["unit"] == "epochs"
    everything = json.loads(runner.invoke(app, ["explain", "--json"]).stdout)
    assert len({one["name"] for one in everything}) == len(everything) > 150


def test_an_unknown_option() -> None:
    result = runner.invoke(app, ["explain", "optimizer.lerning_rate"])
    assert result.exit_code == 2
    assert result.stdout == "" and "optimizer.learning_rate" in result.stderr


def test_a_name_and_all() -> None:
    assert runner.invoke(app, ["explain", "data", "--all"]).exit_code == 2
    assert runner.invoke(app, ["explain", "--kind", "adam"]).exit_code == 2


def test_completion_goes_level_by_level() -> None:
    assert ("optimizer", "How the weights are trained.") in options("opt")
    assert [name for name, _ in options("training.e")] == ["training.epochs", "training.evaluate"]
