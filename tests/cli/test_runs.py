from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from typer.testing import CliRunner, Result

from senn_cli.cli.app import app
from senn_cli.cli.inspection.screen import Screen
from senn_cli.cli.runs import _Sort, _Status, shortened, sizes
from senn_cli.report.listing import SORTS
from senn_cli.report.record import Status
from tests.counting import documents_read
from tests.handmade import event, row, run_directory
from tests.processes import imported, senn
from tests.terminal import on_terminal

MANY = 200


@pytest.fixture(autouse=True)
def _no_default() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SENN_RUNS", raising=False)
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["runs", *map(str, arguments)])


def shown(*arguments: str | Path) -> list[str]:
    result = run(*arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout.splitlines()


def strictly(text: str) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


def summary(accuracy: float, **more: Any) -> dict[str, Any]:
    known = {"name": "made", "status": "finished", "test_accuracy": accuracy, "hidden": [4, 2]}
    return known | {"steps": 1200, "parameters": 1047, "seconds": {"total": 125.2}} | more


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "root"
    for name, hour, known in (
        ("made-1", 3, summary(0.875)),
        ("seeds/other", 5, summary(0.9375, name="x")),
        ("bad", 4, summary(0.5, status="diverged")),
    ):
        directory = run_directory(path / name, summary=known)
        when = {"time": f"2025-01-02T0{hour}:30:00+00:00"}
        (directory / "environment.json").write_text(json.dumps(when))
    run_directory(
        path / "half", metrics=[row(10, [3], validation_mse=0.25)], history=[event(10, [3, 3])]
    )
    return path


def test_a_table_newest_first(root: Path) -> None:
    lines = shown(root)
    assert lines[0].split() == [
        "run", "status", "result", "hidden", "steps", "parameters", "time", "started", "name",
    ]  # fmt: skip
    rest = ["4-2", "1,200", "1,047", "2:05", "2025-01-02"]
    assert [line.split() for line in lines[1:]] == [
        ["seeds/other", "finished", "93.75%", *rest, "05:30", "x"],
        ["bad", "diverged", "50.00%", *rest, "04:30", "made"],
        # The directory begins with the name, so it is not repeated.
        ["made-1", "finished", "87.50%", *rest, "03:30"],
        ["half", "interrupted", "mse", "0.25", "val.", "3-3", "10", "60", "made"],
    ]


def test_status_and_order(root: Path) -> None:
    def first(*arguments: str) -> list[str]:
        return [line.split()[0] for line in shown(root, *arguments)[1:]]

    assert first("--status", "finished") == ["seeds/other", "made-1"]
    assert first("--status", "diverged", "--status", "interrupted") == ["bad", "half"]
    assert first("--sort", "result") == ["seeds/other", "made-1", "bad", "half"]
    assert first("--sort", "name", "--reverse")[0] == "seeds/other"
    assert run(root, "--status", "done").exit_code == 2
    assert run(root, "--sort", "size").exit_code == 2


def test_all_statuses_and_orders_are_offered() -> None:
    assert [str(one) for one in _Sort] == list(SORTS)
    assert [str(one) for one in _Status] == [*Status.__args__, "damaged"]


def test_json(root: Path) -> None:
    document = strictly("\n".join(shown(root, "--json", "--sort", "result")))
    assert document["root"] == str(root)
    best, *_, last = document["runs"]
    assert (best["directory"], best["value"], best["hidden"]) == ("seeds/other", 0.9375, [4, 2])
    assert best["path"] == str(root / "seeds" / "other")
    assert (last["part"], last["parameters"], last["problem"]) == ("validation", 60, None)
    assert len(strictly("\n".join(shown(root, "--json", "--status", "finished")))["runs"]) == 2


def test_damage_is_a_row_and_told_on_stderr(root: Path) -> None:
    (root / "bad" / "summary.json").write_text("{")
    result = run(root)
    assert result.exit_code == 0
    assert "bad          damaged" in result.stdout
    assert result.stdout.count("finished") == 2
    assert result.stderr.startswith(f"{root / 'bad' / 'summary.json'} is damaged: ")
    assert "Traceback" not in result.stderr
    result = run(root, "--json", "--status", "damaged")
    (entry,) = strictly(result.stdout)["runs"]
    assert "summary.json is damaged" in entry["problem"]


def test_the_root_is_that_of_train(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root.parent)
    root.rename(root.parent / "runs")
    assert len(shown()) == 5
    monkeypatch.setenv("SENN_RUNS", str(root.parent / "runs" / "seeds"))
    assert [line.split()[0] for line in shown()[1:]] == ["other"]
    assert len(shown("runs")) == 5  # what is named goes first


def test_nothing_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in ((), (tmp_path,)):
        result = run(*arguments)
        assert (result.exit_code, result.stdout) == (0, "")
        assert "senn train SPEC" in result.stderr
    assert "runs does not exist yet" in run().stderr
    assert strictly(run("--json").stdout)["runs"] == []
    monkeypatch.setenv("SENN_RUNS", str(tmp_path / "later"))
    assert run().exit_code == 0


def test_no_run_of_that_status(root: Path) -> None:
    result = run(root, "--status", "running")
    assert (result.exit_code, result.stdout) == (0, "")
    assert f"No run in {root} is running, of 4." in result.stderr


def test_what_is_wrong_is_said(root: Path) -> None:
    result = run(root / "absent")
    assert (result.exit_code, "does not exist" in result.stderr) == (2, True)
    result = run(root / "bad" / "spec.yaml")
    assert (result.exit_code, "is not a directory" in result.stderr) == (2, True)


def test_sizes() -> None:
    assert (sizes(None), sizes([]), sizes([16, 24])) == ("", "none", "16-24")
    assert sizes([100] * 12) == "1,200 in 12 layers"


def test_shortened() -> None:
    utf, ascii_ = Screen(80, "utf-8"), Screen(80, "ascii")
    assert shortened("abcdefgh", 8, utf) == "abcdefgh"
    assert shortened("abcdefghi", 8, utf) == "abc…fghi"
    assert shortened("abcdefghi", 8, ascii_) == "ab...ghi"


@pytest.mark.parametrize("environment", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}])
def test_ascii(root: Path, environment: dict[str, str]) -> None:
    (root / "bad").rename(root / "größe [bold]")
    spec = root / "half" / "spec.yaml"
    spec.write_text(spec.read_text().replace("'made'", "'é [/x]'"), encoding="utf-8")
    results = [senn("runs", *arguments, **environment) for arguments in ((root,), (root, "--json"))]
    for result in results:
        assert (result.returncode, result.stderr) == (0, b"")
        assert result.stdout.isascii()
    text = results[0].stdout.decode()
    assert r"gr\xf6\xdfe [bold]" in text
    assert r"\xe9 [/x]" in text


def test_a_narrow_terminal(root: Path) -> None:
    long = root / f"{'long' * 15}-20250102-030405-abcdef"
    (root / "made-1").rename(long)
    (root / "seeds" / "other").rename(root / "quickstart-20250102-030405-abcdef")
    text = on_terminal("runs", root, COLUMNS="60", NO_COLOR="1")
    assert max(map(len, text.splitlines())) <= 60
    assert "\x1b" not in text
    # A name that senn made is whole, so that it can be used.
    assert "quickstart-20250102-030405-abcdef " in text
    assert "longlong" in text
    assert "…" in text
    assert "93.75%" in text
    assert "\x1b[1m" in on_terminal("runs", root, COLUMNS="60", NO_COLOR="")


def test_no_jax(root: Path) -> None:
    lines, modules = imported(["runs", root], ["runs", root, "--json"])
    assert lines and not modules & {"jax", "flax", "optax", "orbax", "matplotlib"}


def test_two_hundred_runs_are_listed_from_their_last_rows(tmp_path: Path) -> None:
    history = [
        event(step, [2], candidates=[{"site": "layer 0", "ratio": 0.5}] * 5) for step in range(500)
    ]
    template = run_directory(tmp_path / "template", metrics=[row(9, [2])] * 60, history=history)
    for index in range(MANY):
        path = tmp_path / "root" / f"run-{index}"
        path.mkdir(parents=True)
        for file in template.iterdir():
            (path / file.name).hardlink_to(file)
        if index % 2:
            (path / "summary.json").write_text(json.dumps(summary(0.5)))
    with documents_read() as read:
        assert len(shown(tmp_path / "root")) == MANY + 1
    # A finished run is its summary; of the others, the last evaluation and the last decision.
    assert len(read) == MANY // 2 + MANY // 2 * 2
