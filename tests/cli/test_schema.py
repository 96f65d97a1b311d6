"""`senn schema`: JSON on stdout or in a file."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from senn_cli.cli.app import app
from senn_cli.spec import json_schema

runner = CliRunner()


def test_stdout() -> None:
    result = runner.invoke(app, ["schema"])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == json_schema()
    assert json.loads(result.stdout)["required"] == ["data", "network"]


def test_file(tmp_path: Path) -> None:
    file = tmp_path / "spec.schema.json"
    for _ in range(2):  # it is generated, so an older one is replaced
        result = runner.invoke(app, ["schema", "-o", str(file)])
        assert result.exit_code == 0
        assert result.stdout == f"wrote {file}\n"
    assert json.loads(file.read_text()) == json_schema()


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    result = runner.invoke(app, ["schema", "-o", str(tmp_path / "no" / "x.json")])
    assert result.exit_code == 2
    assert "can't be written" in result.stderr
