"""A run that is not there is a fault of the command line, whichever command it is given to."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from senn_cli.cli.app import app


@pytest.mark.parametrize(
    "arguments",
    [
        ["resume", "RUN"],
        ["transfer", "--from", "RUN", "spec.yaml"],
        ["compare", "RUN", "RUN"],
        ["report", "RUN", "-o", "page.html"],
        ["plot", "loss", "RUN", "-o", "loss.svg"],
        ["evaluate", "RUN"],
        ["predict", "RUN", "spec.yaml"],
        ["export", "RUN", "--format", "flax"],
        ["inspect", "RUN"],
        ["inspect", "history", "RUN"],
        ["inspect", "RUN", "--follow"],
        ["runs", "RUN"],
    ],
    ids=" ".join,
)
def test_a_missing_run_exits_with_2(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("spec.yaml").write_text("data: moons\nnetwork: mlp\n")
    result = CliRunner().invoke(app, [word.replace("RUN", "none") for word in arguments])
    assert result.exit_code == 2, result.output
    assert "does not exist" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["spec.yaml"]
