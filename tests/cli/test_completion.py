from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from senn_cli.cli import completion
from senn_cli.report.plots.kinds import KINDS


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SENN_RUNS", raising=False)
    for name in ("moons-1", "moons-2", "quick"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "spec.yaml").touch()
    (tmp_path / "runs" / "no-run").mkdir()
    return tmp_path


def test_runs(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert completion.runs("") == ["runs/moons-1", "runs/moons-2", "runs/quick"]
    assert completion.runs("runs/m") == ["runs/moons-1", "runs/moons-2"]
    assert completion.runs("other") == []
    monkeypatch.setenv("SENN_RUNS", "nowhere")
    assert completion.runs("") == []


def test_kinds_of_plot_and_templates(place: Path) -> None:
    assert completion.kinds_and_runs("")[: len(KINDS)] == list(KINDS)
    assert completion.kinds_and_runs("gr") == ["growth"]
    names = [name for name, _ in completion.templates("own")]
    assert "own-csv" in names and all(name.startswith("own") for name in names)
    assert completion.data_sets("cifar") == ["cifar10", "cifar100"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("senn plot gro", "growth"),
        ("senn plot growth runs/q", "runs/quick"),
        ("senn new own-c", "own-csv"),
        ("senn export runs/quick --format st", "stablehlo"),
        ("senn inspect runs/q", "runs/quick"),
        ("senn inspect hist", "history"),
        ("senn inspect history runs/q", "runs/quick"),
        ("senn resume runs/q", "runs/quick"),
        ("senn transfer --from runs/q", "runs/quick"),
        ("senn data fetch mn", "mnist"),
        ("senn dem", "demo"),
    ],
)
def test_what_a_shell_is_told(place: Path, words: str, expected: str) -> None:
    """As bash asks for it."""
    asked = {
        "_SENN_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    code = "import sys; from senn_cli.cli.app import app; app(prog_name='senn')"
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **asked},
        check=False,
    )
    assert result.stdout.split() == [expected], result.stderr
