"""`senn new`: a template on stdout or in a new file."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from senn_cli.cli.app import app
from senn_cli.spec.template import template_text, templates

runner = CliRunner()


@pytest.mark.parametrize("name", list(templates()))
def test_what_is_written_is_valid(name: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    result = runner.invoke(app, ["new", name, "-o", str(file)])
    assert result.exit_code == 0
    assert result.stdout == f"wrote {file}; edit it, then run `senn validate {file}`\n"
    assert file.read_text() == template_text(name)
    assert runner.invoke(app, ["validate", str(file)]).exit_code == 0


def test_stdout() -> None:
    result = runner.invoke(app, ["new", "minimal"])
    assert (result.exit_code, result.stdout) == (0, template_text("minimal"))


def test_list() -> None:
    result = runner.invoke(app, ["new", "--list"])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(templates())
    assert all(len(line.split()) > 4 for line in lines)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("precious")
    result = runner.invoke(app, ["new", "minimal", "-o", str(file)])
    assert result.exit_code == 2
    assert f"{file} exists already" in result.stderr
    assert file.read_text() == "precious"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mlp-clas"], "Did you mean mlp-classification?"),
        (["zebra"], 'there is no template "zebra"; the templates are minimal, mlp-class'),
        ([], "a template is missing: minimal, mlp-classification"),
        (["minimal", "-o", "none/x.yaml"], "none/x.yaml: its directory does not exist"),
        (["../../errors"], "there is no template"),
    ],
)
def test_faults(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = runner.invoke(app, ["new", *arguments])
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
