from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from senn_cli.errors import RunError, UsageError
from senn_cli.runs.directory import RunDirectory, how_to_go_on
from tests.waiting import LIMIT


def test_the_name_tells_run_time_and_id(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "runs", "My run")
    assert run.path.parent == tmp_path / "runs"
    assert re.fullmatch(r"My-run-\d{8}-\d{6}-[0-9a-f]{6}", run.path.name)
    assert run.path.is_dir()


def test_a_relative_root_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert RunDirectory.create(Path("runs"), "a").path.parent == tmp_path / "runs"
    assert RunDirectory.at(Path("mine")).path == tmp_path / "mine"


def test_a_taken_name_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "strftime", lambda _: "20250102-030405")
    tokens = iter(["aaaaaa", "aaaaaa", "bbbbbb"])
    monkeypatch.setattr("secrets.token_hex", lambda _: next(tokens))
    assert RunDirectory.create(tmp_path, "a").path.name == "a-20250102-030405-aaaaaa"
    assert RunDirectory.create(tmp_path, "a").path.name == "a-20250102-030405-bbbbbb"


RACER = """
import sys, time
from pathlib import Path
from senn_cli.errors import UsageError
from senn_cli.runs.directory import RunDirectory
print("ready", flush=True)
sys.stdin.readline()
try:
    print({call}.path)
except UsageError:
    print("refused")
"""


def race(call: str) -> list[str]:
    """Runs `call` in eight processes that are let go together; returns what each printed."""
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER.format(call=call)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(8)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    outputs = [racer.communicate(timeout=LIMIT)[0].strip() for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * 8
    return outputs


def test_eight_runs_at_once_make_eight_directories(tmp_path: Path) -> None:
    paths = race(f"RunDirectory.create(Path({str(tmp_path)!r}) / 'runs', 'same')")
    assert len(set(paths)) == 8
    assert sorted(paths) == sorted(str(path) for path in (tmp_path / "runs").iterdir())


def test_of_eight_runs_that_name_one_directory_one_gets_it(tmp_path: Path) -> None:
    wanted = tmp_path / "mine"
    outputs = race(f"RunDirectory.at(Path({str(wanted)!r}))")
    assert sorted(outputs) == sorted([str(wanted), *["refused"] * 7])


def test_an_empty_directory_may_be_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert RunDirectory.at(tmp_path / "empty").path == tmp_path / "empty"
    assert RunDirectory.at(tmp_path / "new" / "deep").path.is_dir()


def test_a_directory_with_content_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("work of years")
    with pytest.raises(UsageError, match="is not empty") as caught:
        RunDirectory.at(tmp_path)
    assert caught.value.hint == "Give --run-dir a new or an empty directory."
    assert os.listdir(tmp_path) == ["thesis.txt"]


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is not a directory"):
        RunDirectory.at(tmp_path / "file")
    with pytest.raises(UsageError, match="is not a directory"):
        RunDirectory.at(tmp_path / "file" / "below")
    with pytest.raises(RunError, match="no run directory can be made"):
        RunDirectory.create(tmp_path / "file", "a")


def test_whole_files(tmp_path: Path) -> None:
    run = RunDirectory.at(tmp_path / "run")
    assert run.summary() is None
    assert run.environment() is None
    run.write_spec("name: größe\n")
    run.write_environment({"python": "3.11"})
    run.write_summary({"test_accuracy": 0.5, "test_loss": float("nan"), "hidden": (10, 2)})
    assert run.spec_path.read_text(encoding="utf-8") == "name: größe\n"
    assert run.environment() == {"python": "3.11"}
    assert run.summary() == {"test_accuracy": 0.5, "test_loss": None, "hidden": [10, 2]}
    assert "NaN" not in run.summary_path.read_text()


def test_lines(tmp_path: Path) -> None:
    run = RunDirectory.at(tmp_path / "run")
    assert run.metrics() == []
    assert run.history() == []
    for step in (1, 2):
        run.append_metrics({"step": step})
    run.append_history({"step": 2, "edit": None, "accepted": False})
    assert run.metrics() == [{"step": 1}, {"step": 2}]
    assert run.history() == [{"step": 2, "edit": None, "accepted": False}]
    lines = run.metrics_path.read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [1, 2]


def test_a_run_can_be_moved_and_opened(tmp_path: Path) -> None:
    run = RunDirectory.at(tmp_path / "run")
    run.write_spec("name: a\n")
    run.append_metrics({"step": 1})
    run.path.rename(tmp_path / "moved")
    assert RunDirectory.open(tmp_path / "moved").metrics() == [{"step": 1}]


def test_what_is_no_run_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"it holds no spec\.yaml"):
        RunDirectory.open(tmp_path)
    with pytest.raises(UsageError, match="it does not exist"):
        RunDirectory.open(tmp_path / "none")


@pytest.mark.parametrize("content", ["{", "[]", ""])
def test_a_damaged_summary_is_named(tmp_path: Path, content: str) -> None:
    run = RunDirectory.at(tmp_path / "run")
    run.summary_path.write_text(content)
    with pytest.raises(RunError, match=re.escape(f"{run.summary_path} is damaged")):
        run.summary()


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunDirectory.at(tmp_path / "run")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    message = re.escape(f"{run.summary_path} cannot be written: No space left on device")
    with pytest.raises(RunError, match=message):
        run.write_summary({})
    assert run.summary() is None


def test_what_goes_on_with_a_run_is_advised_where_it_can(tmp_path: Path) -> None:
    run = tmp_path / "a run"
    run.mkdir()
    assert f"{run / 'spec.yaml'} is missing" in how_to_go_on(run)
    assert f"--print-spec > '{run / 'spec.yaml'}'`" in how_to_go_on(run)
    (run / "spec.yaml").touch()
    assert how_to_go_on(run) == f"Go on with: senn resume '{run}'"
