from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from senn_cli.errors import RunError
from senn_cli.runs.growing import GrowingRun
from tests.counting import documents_read
from tests.handmade import added, row, run_directory


def write(path: Path, *rows: dict[str, Any], mode: str = "a", end: str = "\n") -> None:
    with path.open(mode) as file:
        file.write("\n".join(map(json.dumps, rows)) + end)


@pytest.fixture
def run(tmp_path: Path) -> GrowingRun:
    rows = [row(10 * k, [2]) for k in range(1, 4)]
    return GrowingRun(run_directory(tmp_path, metrics=rows, history=[added(10, [3], 0, 0.5)]))


def steps(run: GrowingRun) -> list[int]:
    return [found["step"] for found in run.metrics()]


def test_every_row_is_read_once(run: GrowingRun) -> None:
    first = run.metrics()
    write(run.metrics_path, row(40, [2]))
    with documents_read() as read:
        assert steps(run) == [10, 20, 30, 40]
        assert run.metrics() == run.metrics()
    assert len(read) == 1
    assert all(a is b for a, b in zip(first, run.metrics(), strict=False))
    assert [event["step"] for event in run.history()] == [10]


def test_a_torn_line_is_left_out_until_it_is_whole(run: GrowingRun) -> None:
    text = json.dumps(row(40, [2]))
    assert steps(run) == [10, 20, 30]
    with run.metrics_path.open("a") as file:
        file.write(text[:7])
    assert steps(run) == [10, 20, 30]
    with run.metrics_path.open("a") as file:
        file.write(text[7:] + "\n")
    assert steps(run) == [10, 20, 30, 40]


def test_what_a_resumption_cut_away_is_gone(run: GrowingRun) -> None:
    assert steps(run) == [10, 20, 30]
    lines = run.metrics_path.read_text().splitlines(keepends=True)
    run.metrics_path.write_text(lines[0])
    assert steps(run) == [10]
    # Longer than before, but with other lines.
    write(run.metrics_path, *(row(step, [2, 2]) for step in (15, 25, 35, 45)))
    assert steps(run) == [10, 15, 25, 35, 45]


def test_another_file_of_the_same_beginning_is_read_anew(run: GrowingRun) -> None:
    rows = run.metrics()
    aside = run.metrics_path.with_suffix(".new")
    write(aside, row(5, [2]), *rows[1:])
    os.replace(aside, run.metrics_path)
    assert steps(run) == [5, 20, 30]


def test_a_file_that_is_missing_has_no_rows(run: GrowingRun) -> None:
    assert steps(run) == [10, 20, 30]
    run.metrics_path.unlink()
    assert steps(run) == []
    write(run.metrics_path, row(50, [2]))
    assert steps(run) == [50]


def test_a_fault_names_its_line(run: GrowingRun) -> None:
    assert steps(run) == [10, 20, 30]
    write(run.metrics_path, {"epoch": 4.0})
    with pytest.raises(RunError, match=r"metrics\.jsonl:4: step"):
        run.metrics()
    run.metrics_path.write_text("no JSON\n")
    with pytest.raises(RunError, match=r"metrics\.jsonl:1: not a line of JSON"):
        run.metrics()
