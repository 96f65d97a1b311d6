from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from senn_cli.cli.inspection import follow
from senn_cli.cli.inspection.follow import INTERVAL, changes, news
from senn_cli.runs.holder import Holder
from tests.handmade import added, event, record, row, run_directory
from tests.waiting import LIMIT


def append(path: Path, value: dict[str, object], end: str = "\n") -> None:
    with path.open("a") as file:
        file.write(json.dumps(value) + end)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = run_directory(tmp_path, metrics=[row(10, [2], train_loss=1.0)])
    (path / "lock.json").write_text(json.dumps(asdict(Holder.current())))
    return path


def test_a_run_is_given_when_it_changes_until_it_ends(run: Path) -> None:
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        match len(waits):
            case 1:
                append(run / "history.jsonl", added(10, [3], 0, 0.1))
            case 2:
                pass  # nothing new
            case 3:
                append(run / "metrics.jsonl", row(20, [3]), end="")  # torn
            case 4:
                append(run / "metrics.jsonl", {}, end="")
                (run / "metrics.jsonl").write_text("")
                append(run / "metrics.jsonl", row(20, [3]))
            case 5:
                (run / "summary.json").write_text('{"status": "finished"}')
                (run / "lock.json").unlink()

    found = list(changes(run, sleep))
    assert [(len(r.metrics), len(r.history), r.status) for r in found] == [
        (1, 0, "running"),
        (1, 1, "running"),
        (1, 1, "running"),  # the row of another step
        (1, 1, "finished"),
    ]
    assert len(waits) == 5
    assert min(waits) >= INTERVAL


def test_a_run_that_has_ended_is_given_once(run: Path) -> None:
    (run / "lock.json").unlink()
    assert [r.status for r in changes(run)] == ["interrupted"]


def test_news_are_in_their_order() -> None:
    first, second = row(10, [2], train_loss=1.0), row(20, [3], train_loss=0.5)
    before = replace(record(metrics=[first]), status="running")
    now = replace(
        record(
            metrics=[first, second],
            history=[added(10, [3], 0, 0.1), event(10, [3]), added(20, [4], 0, 0.1)],
        ),
        status="running",
    )
    assert news(before, now) == [
        "grown: step 10, layer 0 +1, now 3",
        "step 20, epoch 2, loss 0.5, hidden 3",
        "grown: step 20, layer 0 +1, now 4",
    ]
    assert news(before, now, rejected=True)[1] == "not grown: step 10, because"
    assert news(now, now) == []
    ended = replace(now, status="finished", summary={"test_accuracy": 0.5})
    assert news(now, ended) == ["end: finished, test accuracy 50.00%"]


def test_rows_that_a_resumption_cut_away_are_told() -> None:
    rows = [row(step, [2]) for step in (10, 20, 30)]
    again = row(20, [5])
    before, now = record(metrics=rows), replace(record(metrics=[rows[0], again]), status="running")
    assert news(before, now) == [
        "2 rows were cut away: the run was resumed before that",
        "step 20, epoch 2, hidden 5",
    ]


def test_the_load_is_a_tenth_at_most(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = follow.read_record
    clock = iter(range(0, 1000, 5))  # every look takes 5 seconds
    monkeypatch.setattr(follow.time, "monotonic", lambda: next(clock))  # made up
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        (run / "lock.json").unlink()

    list(changes(run, sleep))
    assert waits == [50.0]
    assert read is follow.read_record


def started(run: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "senn_cli", "inspect", str(run), "--follow"]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )


def test_as_a_process_lines_are_appended_and_the_end_is_0(run: Path) -> None:
    process = started(run)
    assert process.stdout is not None
    line = ""
    while not line.startswith("History"):  # the overview is out
        line = process.stdout.readline()
        assert line
    append(run / "history.jsonl", added(10, [3], 0, 0.1))
    (run / "summary.json").write_text('{"status": "finished", "test_accuracy": 0.75}')
    (run / "lock.json").unlink()
    out, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, err) == (0, "")
    assert out.splitlines()[-2:] == [
        "grown: step 10, layer 0 +1, now 3",
        "end: finished, test accuracy 75.00%",
    ]
    assert "\x1b" not in out


def test_ctrl_c_ends_with_130(run: Path) -> None:
    process = started(run)
    assert process.stdout is not None
    process.stdout.readline()  # it looks at the run
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert err == "Interrupted.\n"
