"""`senn transfer`: what it prints where, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from senn_cli.cli.app import app
from senn_cli.cli.transfer import table
from senn_cli.spec import load_spec, parse_spec
from senn_cli.training.run import Run, train_run
from senn_cli.training.transfer import Fate
from tests.resuming import SMALL, Executables, shared_programs

runner = CliRunner()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Executables]:
    executables: Executables = {}
    with shared_programs(executables):
        path = tmp_path_factory.mktemp("origin") / "first"
        return train_run(parse_spec(SMALL), run_directory=path), executables


@pytest.fixture
def origin(
    made: tuple[Run, Executables], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SENN_RUNS", raising=False)
    (tmp_path / "größe.yaml").write_text(SMALL.replace("name: small\n", ""), encoding="utf-8")
    with shared_programs(made[1]):
        yield made[0].path


def invoke(origin: Path, *arguments: str) -> Any:
    return runner.invoke(app, ["transfer", "--from", str(origin), "größe.yaml", *arguments])


def test_a_run_and_what_is_told(origin: Path) -> None:
    result = invoke(origin, "--seed", "3", "--run-dir", "here")
    assert result.exit_code == 0, result.output
    assert "test accuracy" in result.stdout
    lines = [line.split()[2:] for line in result.stderr.splitlines()]  # behind the date
    digest = json.loads(Path("here/transfer.json").read_text())["origin"]["digest"]
    steps = json.loads((origin / "summary.json").read_text())["steps"]
    told = ["from", "small", "at", "step", str(steps), f"({digest[:12]}),", str(origin / "weights")]
    assert told in lines
    assert ["params/map_0/kernel", "2x8", "loaded"] in lines
    head = "params/map_1/kernel 8x2 re-initialised: a new head of zero for 2 outputs"
    assert head.split() in lines
    reset = ["re-initialised:", "transfer.optimizer", "is", "reset"]
    assert any(line[0] == "optimizer/" and line[-4:] == reset for line in lines)
    assert load_spec("here/spec.yaml").seed == 3
    assert load_spec("here/spec.yaml").name == "größe"


def test_quiet_prints_the_directory_alone(origin: Path, tmp_path: Path) -> None:
    result = invoke(origin, "-q", "--runs-root", "there", "--set", "transfer.head=keep")
    assert result.exit_code == 0
    (path,) = (tmp_path / "there").iterdir()
    assert result.stdout == f"{path}\n"
    assert result.stderr == ""


def test_stopped_and_resumed(origin: Path) -> None:
    auto = ("--run-dir", "here", "--resume", "auto")
    result = invoke(origin, "--until", "2 steps", *auto)
    assert result.exit_code == 0
    assert "Stopped at step 2" in result.stdout
    # What was begun goes on, with the network that it has by now.
    result = invoke(origin, "--until", "4 steps", *auto)
    assert result.exit_code == 0, result.output
    assert "Stopped at step 4" in result.stdout
    (went_on,) = map(json.loads, Path("here/resumed.jsonl").read_text().splitlines())
    assert went_on["step"] == 2
    again = runner.invoke(app, ["resume", "here", "-q"])
    assert again.exit_code == 0, again.output


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--set", "data={source: digits, subset: 200}"], 2, "2 inputs"),
        (["--set", "transfer.freeze=[map_9]"], 2, "names map_9"),
        (["--set", "transfer.head=none"], 2, "transfer.head"),
        (["--until", "soon"], 2, "--until"),
        (["--resume", "auto"], 2, "--resume auto needs --run-dir"),
    ],
)
def test_errors_are_panels(
    origin: Path, tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    result = invoke(origin, *arguments)
    assert result.exit_code == code
    assert message in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["größe.yaml"]


def test_an_origin_that_is_none(origin: Path, tmp_path: Path) -> None:
    result = invoke(tmp_path / "nothing")
    assert result.exit_code == 2
    assert "does not exist" in result.stderr
    result = invoke(tmp_path)
    assert result.exit_code == 2
    assert "holds neither spec.yaml nor weights" in result.stderr


def test_a_directory_in_use(origin: Path, tmp_path: Path) -> None:
    result = invoke(origin, "--run-dir", str(origin))
    assert result.exit_code == 2
    assert "is not empty" in result.stderr


def test_inspect_shows_the_origin(origin: Path) -> None:
    assert invoke(origin, "-q", "--run-dir", "here").exit_code == 0
    shown = runner.invoke(app, ["inspect", "here", "--rejected"])
    assert shown.exit_code == 0
    (line,) = [line for line in shown.stdout.splitlines() if line.startswith("from ")]
    assert "small at step" in line and "origin" in line


def test_parameters_in_lines_and_the_rest_in_groups() -> None:
    fates = [
        Fate("params/map_0/kernel", "loaded", "", (2, 3)),
        Fate("optimizer/0/mu/map_0/kernel", "re-initialised", "because", (2, 3)),
        Fate("optimizer/0/nu/map_0/kernel", "re-initialised", "because", (2, 3)),
        Fate("optimizer/0/count", "loaded", "", ()),
        Fate("curvature/seen", "left out", "no place", ()),
    ]
    assert table(fates) == [
        ("params/map_0/kernel", "2x3", "loaded"),
        ("optimizer/ (2 arrays)", "", "re-initialised: because"),
        ("optimizer/0/count", "", "loaded"),
        ("curvature/seen", "", "left out: no place"),
    ]
