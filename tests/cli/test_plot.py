from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from senn_cli.cli.app import app
from senn_cli.cli.plot import kind_and_runs
from senn_cli.errors import UsageError
from senn_cli.report.plots.kinds import KINDS
from tests.report.plots.made import made_run, with_recordings

runner = CliRunner()


def plot(*arguments: str | Path) -> str:
    """What is printed by a command that succeeds."""
    result = runner.invoke(app, ["plot", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def refused(*arguments: str | Path, code: int = 2) -> str:
    """The error of a command that fails."""
    result = runner.invoke(app, ["plot", *map(str, arguments)])
    assert result.exit_code == code
    assert result.stdout == ""
    return result.stderr


def test_the_list_has_a_line_a_kind() -> None:
    listed = plot("--list").splitlines()
    assert [line.split()[0] for line in listed] == list(KINDS)
    assert all(len(line) <= 100 and line.endswith(".") for line in listed)


@pytest.mark.parametrize("last", [False, True])
def test_the_figure_lies_in_the_run_and_its_path_is_printed(tmp_path: Path, last: bool) -> None:
    run = tmp_path / "a [b] é"
    made_run(run)
    printed = plot(*((run, "growth") if last else ("growth", run)))
    assert printed == f"{run / 'growth.svg'}\n"
    assert (run / "growth.svg").read_text().startswith("<?xml")


def test_a_checkpoint_stands_for_its_run(tmp_path: Path) -> None:
    made_run(tmp_path / "r")
    (tmp_path / "r/checkpoints/30").mkdir(parents=True)
    assert plot("loss", tmp_path / "r/checkpoints/30") == f"{tmp_path / 'r/loss.svg'}\n"


def test_several_runs_lie_in_the_present_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(2):
        made_run(tmp_path / "runs" / str(seed), seed=seed)
    monkeypatch.chdir(tmp_path)
    assert plot("runs/0", "loss", "runs/1") == f"{tmp_path / 'loss.svg'}\n"
    assert plot("improvement", "runs/0", "--baseline", "runs/1", "-o", "i.pdf") == "i.pdf\n"
    assert (tmp_path / "i.pdf").read_bytes().startswith(b"%PDF")


def test_sizes(tmp_path: Path) -> None:
    made_run(tmp_path / "r")
    for width, pixels in (("single", 330), ("double", 680), ("5", 500)):
        file = tmp_path / "a.PNG"
        plot("loss", tmp_path / "r", "-o", file, "--width", width, "--dpi", "100")
        with Image.open(file) as image:
            assert image.width == pixels


def test_steps_and_a_title(tmp_path: Path) -> None:
    with_recordings(tmp_path / "r")
    plot("landscape", tmp_path / "r", "--steps", "20, 60", "--title", "A & B")
    text = (tmp_path / "r/landscape.svg").read_text()
    assert "A &amp; B" in text and "before step 20" in text and "before step 30" not in text


def test_the_kind_stands_anywhere() -> None:
    for words in (["loss", "a", "b"], ["a", "loss", "b"], ["a", "b", "loss"]):
        assert kind_and_runs(words) == ("loss", [Path("a"), Path("b")])
    assert kind_and_runs(["loss", "./loss"]) == ("loss", [Path("loss")])


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["r", "grwth"], "grwth is none", "Did you mean growth?"),
        ([], "none is given", "`senn plot --list` says what each shows."),
        (["loss"], "senn plot loss needs a run", "./loss"),
        (["loss", "growth", "r"], "loss and growth are given", "./growth"),
        (["loss", "loss"], "loss and loss are given", "./loss"),
    ],
)
def test_what_to_draw_must_be_clear(
    words: list[str], message: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "r").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        kind_and_runs(words)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "a.jpg"], "a figure's name ends with .svg, .png or .pdf, not with .jpg"),
        (["-o", "figure"], "not with nothing"),
        (["-o", "none/a.svg"], "the directory none does not exist"),
        (["-o", "folder.svg"], "is a directory; name a file"),
        (["--width", "wide"], "--width wide should be `single`"),
        (["--width", "nan"], "--width nan should be `single`"),
        (["--width", "1"], "a number of inches from 3 to 20"),
        (["--steps", "1,x"], "--steps 1,x should be whole numbers"),
        (["--steps", "10"], "--steps is for landscape and boundary"),
        (["--baseline", "r"], "--baseline is for improvement"),
        (["r2"], "loss draws"),
    ],
)
def test_options_that_make_no_sense(
    options: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_run(tmp_path / "r")
    (tmp_path / "folder.svg").mkdir()
    monkeypatch.chdir(tmp_path)
    if options == ["r2"]:
        made_run(tmp_path / "r2")
        assert "growth draws one run, but 2 are given" in refused("growth", "r", *options)
        return
    assert message in refused("loss", "r", *options)


def test_a_run_that_is_none(tmp_path: Path) -> None:
    error = refused("loss", tmp_path / "none", code=2)
    assert f"{tmp_path / 'none'} is not a run directory: it does not exist." in error


def test_missing_recordings_and_validation(tmp_path: Path) -> None:
    rows = [{"step": 1, "train_loss": 1.0}]
    made_run(tmp_path / "r", metrics=rows, data={"validation": 0.0})
    assert "record.landscape: true" in refused("landscape", tmp_path / "r", code=1)
    assert "record.boundary: true" in refused("boundary", tmp_path / "r", code=1)
    assert "its data.validation is 0.0" in refused("anytime", tmp_path / "r", code=1)


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_run(tmp_path / "r")
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    assert "pip install 'senn-cli[plot]'" in refused("loss", tmp_path / "r")
    assert not (tmp_path / "r/loss.svg").exists()


def test_no_jax_and_no_window(tmp_path: Path) -> None:
    made_run(tmp_path / "r")
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from senn_cli.cli.app import app\n"
        "assert CliRunner().invoke(app, ['plot', '--list']).exit_code == 0\n"
        "heavy = {'jax', 'jaxlib', 'flax', 'optax', 'orbax', 'sklearn', 'matplotlib.pyplot'}\n"
        "assert not ({'matplotlib', 'numpy'} | heavy) & set(sys.modules)\n"
        "result = CliRunner().invoke(app, ['plot', 'growth', sys.argv[1]])\n"
        "assert result.exit_code == 0, result.output\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "r")],
        capture_output=True,
        text=True,
        env={**os.environ, "DISPLAY": "", "LC_ALL": "C", "MPLCONFIGDIR": str(tmp_path)},
        check=False,
    )
    assert result.returncode == 0, result.stderr
