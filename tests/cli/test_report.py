from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from senn_cli.cli.app import app
from tests.handmade import checkpoint
from tests.processes import imported
from tests.report.page.made import grown_run

runner = CliRunner()


def report(*arguments: str | Path) -> str:
    """What is printed by a command that succeeds."""
    result = runner.invoke(app, ["report", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def refused(*arguments: str | Path, code: int) -> str:
    """The error of a command that fails."""
    result = runner.invoke(app, ["report", *map(str, arguments)])
    assert result.exit_code == code
    assert result.stdout == ""
    return result.stderr


def test_the_page_lies_in_the_run_and_its_path_is_printed(tmp_path: Path) -> None:
    run = grown_run(tmp_path / "a [b] é")
    assert report(run) == f"{run / 'report.html'}\n"
    assert (run / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_checkpoint_stands_for_its_run_up_to_its_step(tmp_path: Path) -> None:
    run = grown_run(tmp_path / "r")
    place = checkpoint(run, 30, [(2, 8), (3, 8)])
    assert report(place) == f"{run / 'report.html'}\n"
    assert "Everything after step 30 is left out" in (run / "report.html").read_text()


def test_several_runs_lie_in_the_present_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        grown_run(tmp_path / "runs" / name)
    monkeypatch.chdir(tmp_path)
    assert report("runs/a", "runs/b") == f"{tmp_path / 'report.html'}\n"
    assert report("runs/a", "runs/b", "-o", "x.HTM") == "x.HTM\n"
    assert (tmp_path / "x.HTM").stat().st_size > 10_000


def test_a_folder_stands_for_the_runs_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        grown_run(tmp_path / "runs" / name)
    damaged = grown_run(tmp_path / "runs" / "c")
    (damaged / "summary.json").write_text("{")
    (tmp_path / "none").mkdir()
    monkeypatch.chdir(tmp_path)
    result = runner.invoke(app, ["report", "runs"])
    assert result.stdout == f"{tmp_path / 'report.html'}\n"
    assert result.stderr.startswith(f"left out: {damaged / 'summary.json'} is damaged")
    assert (tmp_path / "report.html").read_text().count('"label":') == 2
    assert "there are no runs in it" in refused("none", code=2)


def test_a_page_that_is_there_is_replaced(tmp_path: Path) -> None:
    run = grown_run(tmp_path / "r")
    (run / "report.html").write_text("old")
    report(run)
    assert (run / "report.html").read_text() != "old"


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("metrics.jsonl", "a page's name ends with .html, not with .jsonl"),
        ("page", "not with nothing"),
        ("none/page.html", "the directory none does not exist"),
        ("folder.html", "is a directory; name a file"),
    ],
)
def test_where_it_cannot_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, message: str
) -> None:
    grown_run(tmp_path / "r")
    (tmp_path / "folder.html").mkdir()
    monkeypatch.chdir(tmp_path)
    assert message in refused("r", "-o", output, code=2)


def test_a_place_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("senn_cli.runs.files.write_atomic", full)
    told = refused(grown_run(tmp_path / "r"), code=1)
    assert "report.html cannot be written: No space left on device" in told
    assert "-o" in told


def test_runs_that_are_none_or_named_twice(tmp_path: Path) -> None:
    assert "does not exist" in refused(tmp_path / "none", code=2)
    run = grown_run(tmp_path / "r")
    assert "is named twice" in refused(run, run, code=2)
    assert refused(code=2)


def test_a_browser_opens_it_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def browse(address: str) -> bool:
        opened.append(address)
        return len(opened) == 1

    monkeypatch.setattr(webbrowser, "open", browse)
    run = grown_run(tmp_path / "a b")
    report(run)
    assert opened == []
    report(run, "--open")
    assert opened == [(run / "report.html").as_uri()]
    result = runner.invoke(app, ["report", str(run), "--open"])
    assert (result.exit_code, result.stderr) == (0, "No browser could be opened.\n")


def test_ascii_and_no_jax(tmp_path: Path) -> None:
    run = grown_run(tmp_path / "é", name="'größe [x]'")
    ascii_: dict[str, str] = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    lines, modules = imported(["report", run], **ascii_)
    assert lines[0].isascii() and lines[0].endswith("/report.html")
    assert not modules & {"jax", "flax", "optax", "orbax"}
