"""The command line as a whole: help, version, exit codes, errors, and what it imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from senn_cli.cli import app as app_module
from senn_cli.cli import console
from senn_cli.cli.app import app
from senn_cli.errors import DataError, InterruptedRun, RunError, SennError, SpecError
from tests.processes import senn

runner = CliRunner()
ROOT = Path(__file__).parents[2]


def failing(error: BaseException) -> typer.Typer:
    made = typer.Typer(cls=app_module._Group)

    @made.command()
    def fail() -> None:
        raise error

    @made.command()
    def other() -> None:
        pass

    return made


def test_help_names_every_verb_with_a_sentence() -> None:
    result = runner.invoke(app, ["--help"])
    assert result.exit_code == 0
    for verb in ("new", "validate", "schema", "doctor", "data"):
        (line,) = [line for line in result.stdout.splitlines() if line.startswith(f"│ {verb} ")]
        assert len(line.strip("│ ").split()) > 3
    assert runner.invoke(app, ["-h"]).stdout == result.stdout


def test_version() -> None:
    result = runner.invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.stdout.startswith("senn ")
    assert len(result.stdout.split()) >= 2


@pytest.mark.parametrize(
    "arguments",
    [["vlidate"], ["validate"], ["schema", "--bogus"], ["--bogus"], ["validate", "--set"], []],
)
def test_bad_usage_ends_with_2(arguments: list[str]) -> None:
    result = runner.invoke(app, arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_a_misspelt_verb_is_suggested() -> None:
    assert "Did you mean 'validate'" in runner.invoke(app, ["vlidate"]).stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SpecError("a"), 2),
        (DataError("a"), 2),
        (RunError("a"), 1),
        (InterruptedRun("a", exit_code=75), 75),
        (KeyboardInterrupt(), 130),
    ],
)
def test_exit_codes(error: BaseException, code: int) -> None:
    result = runner.invoke(failing(error), ["fail"])
    assert result.exit_code == code
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_an_error_is_one_panel_on_stderr() -> None:
    error = SennError("first [bold]line[/]\nsecond", title="Kind [x]", hint="try `this`")
    result = runner.invoke(failing(error), ["fail"])
    lines = result.stderr.splitlines()
    assert lines[0].startswith("╭─ Kind [x] ─")
    assert [line.strip("│ ") for line in lines[1:-1]] == [
        "first [bold]line[/]",
        "second",
        "",
        "try `this`",
    ]
    assert lines[-1].startswith("╰")


def test_no_cell_of_a_table_steers_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    console.stdout().print(console.table(["a\x1b[1m"], [["b\x1b[2J"]]))
    assert "\x1b" not in capsys.readouterr().out


def test_long_lines_are_not_wrapped_in_a_log() -> None:
    message = "dir/" * 60 + "s.yaml:3: key should be a number"
    assert message in runner.invoke(failing(SpecError(message)), ["fail"]).stderr


def test_no_text_of_an_error_steers_the_terminal() -> None:
    error = SennError("cell \x1b[31m\nsecond\r", title="Kind\x1b[2J", hint="see \x9b2J")
    result = runner.invoke(failing(error), ["fail"])
    assert not set(result.stderr) & {"\x1b", "\r", "\x9b"}
    for visible in ("cell", "second", "Kind", "see"):
        assert visible in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [["\x1b[2Jx"], ["--\x1b[2J"], ["train", "s", "--seed", "\x1b[2J"], ["train", "\x1b["]],
)
def test_no_argument_steers_the_terminal(arguments: list[str]) -> None:
    result = runner.invoke(app, arguments)
    assert result.exit_code == 2
    assert "\x1b" not in result.output


def test_a_bug_is_not_hidden() -> None:
    result = runner.invoke(failing(ZeroDivisionError("x")), ["fail"])
    assert isinstance(result.exception, ZeroDivisionError)


@pytest.mark.parametrize("arguments", [["--help"], ["validate", "none.yaml"], ["bogus"]])
def test_no_styles_without_a_terminal(arguments: list[str]) -> None:
    """Each of the variables alone would do to force them."""
    result = senn(*arguments, FORCE_COLOR="1", GITHUB_ACTIONS="1", PY_COLORS="1")
    assert b"\x1b" not in result.stdout + result.stderr
    assert b"\r" not in result.stdout + result.stderr


def test_styles_on_a_terminal_unless_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        encoding = "utf-8"

        def __init__(self) -> None:
            self.text = ""

        def write(self, text: str) -> int:
            self.text += text
            return len(text)

        def flush(self) -> None:
            pass

        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for no_color, styled in (("", True), ("1", False)):
        monkeypatch.setenv("NO_COLOR", no_color)
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        console.show_error(SennError("message"))
        assert "message" in terminal.text
        assert ("\x1b" in terminal.text) is styled


def test_tables_show_texts_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    console.stdout().print(console.table(["name", "n"], [["[red]a[/]", 1], ["b", 20]]))
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[0].split() == ["name", "n"]
    assert lines[2].split() == ["[red]a[/]", "1"]
    assert lines[3].split() == ["b", "20"]
    assert len(lines[2]) == len(lines[3])  # numbers stand on the right


def test_look_up_commands_import_no_jax(tmp_path: Path) -> None:
    spec = tmp_path / "s.yaml"
    spec.write_text("data: digits\nnetwork: mlp\n")
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from senn_cli.cli.app import app\n"
        "heavy = {'jax', 'jaxlib', 'flax', 'optax', 'orbax', 'pandas', 'scipy', 'sklearn',\n"
        "         'pyarrow', 'datasets', 'torch'}\n"
        "for arguments in (['--help'], ['--version'], ['schema'], ['new', '--list'],\n"
        "                  ['new', 'minimal'], ['bench', '--help'], ['validate', sys.argv[1]]):\n"
        "    assert CliRunner().invoke(app, arguments).exit_code == 0, arguments\n"
        "    assert not heavy & set(sys.modules), (arguments, heavy & set(sys.modules))\n"
        "    assert arguments[0] == 'validate' or 'numpy' not in sys.modules, arguments\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(spec)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert result.returncode == 0, result.stderr


def test_the_module_is_the_command() -> None:
    result = senn("validate", "none.yaml")
    assert result.returncode == 2
    assert b"none.yaml: no such file" in result.stderr
    assert b"Usage: senn [OPTIONS]" in senn("--help").stdout
