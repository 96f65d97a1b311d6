from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from senn_cli.cli.app import app
from senn_cli.errors import RunError
from senn_cli.report.page.evaluation import evaluation
from senn_cli.report.record import read_record
from senn_cli.use.evaluation import evaluate_run
from senn_cli.use.kept import keep
from tests.use.made import made_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_run(tmp_path_factory.mktemp("runs") / "r")


def test_what_is_kept_is_what_the_page_shows(run: Path) -> None:
    measured = evaluate_run(run)
    path = keep(run, measured)
    assert path == run / "evaluation-test.json"
    found = evaluation(read_record(run))["found"]
    assert found["examples"] == measured.measures.examples
    assert found["measures"]["loss"] == pytest.approx(measured.measures.loss, rel=1e-4)
    assert sum(map(sum, found["confusion"])) == found["examples"]
    wrong = found["examples"] - sum(row[k] for k, row in enumerate(found["confusion"]))
    assert len(found["shown"]["wrong"]) == min(12, wrong)
    assert sum(found["calibration"]["count"]) == found["examples"]
    assert (found["old"], found["split"]) == (False, "test")
    (run / "summary.json").write_text(json.dumps({"steps": 30}))
    assert evaluation(read_record(run))["found"]["old"] is True
    keep(run, measured)
    assert evaluation(read_record(run))["found"]["old"] is False


def test_the_command_keeps_it_and_other_data_are_not_kept(run: Path, tmp_path: Path) -> None:
    for path in run.glob("evaluation-*.json"):
        path.unlink()
    spec = tmp_path / "other.yaml"
    spec.write_text("data: {source: moons, test: 30}\nnetwork: mlp\n")
    runner = CliRunner()
    for arguments in (["--data", str(spec)], ["--set", "data.test=30"]):
        result = runner.invoke(app, ["evaluate", str(run), *arguments])
        assert result.exit_code == 0, result.output
        assert list(run.glob("evaluation-*.json")) == []
    assert runner.invoke(app, ["evaluate", str(run), "--split", "train"]).exit_code == 0
    assert [path.name for path in run.glob("evaluation-*.json")] == ["evaluation-train.json"]
    assert evaluation(read_record(run))["found"]["split"] == "train"


def test_a_disk_that_cannot_be_written_is_said_and_no_more(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, text: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("senn_cli.use.kept.write_atomic", full)
    measured = evaluate_run(run)
    with pytest.raises(RunError, match=r"evaluation-test\.json cannot be written: No space"):
        keep(run, measured)
    assert keep(run, replace(measured, own=False)) is None
    result = CliRunner().invoke(app, ["evaluate", str(run)])
    assert result.exit_code == 0
    assert "will not show this" in result.stderr
    assert "accuracy" in result.stdout
