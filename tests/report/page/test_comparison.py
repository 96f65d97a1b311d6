from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from senn_cli.report.page.comparison import comparison, differences
from senn_cli.report.record import Record
from tests.handmade import record, row


def run(path: str, name: str = "a", seed: int = 0, **more: Any) -> Record:
    spec = {"name": name, "seed": seed, "network": {"hidden": [2]}}
    return replace(record(metrics=[row(10, [2])]), path=Path(path), spec=spec, **more)


def test_the_table_has_every_figure_that_some_run_has() -> None:
    finished = {"test_accuracy": 0.5, "seconds": {"total": 4.0}}
    records = [run("/1", seed=1, summary=finished, status="finished"), run("/2", seed=2)]
    found = comparison(records, [{"status": "finished"}, {"status": "deleted"}], ["one", "two"])
    assert found["columns"] == [
        "run", "status", "test accuracy", "hidden sizes", "growth", "steps", "epochs", "time",
    ]  # fmt: skip
    assert found["rows"] == [
        ["one", "finished", "50.00%", "2", "no edits", "10", "1", "4.0 s"],
        ["two", "deleted", "", "2", "no edits", "10", "1", ""],
    ]
    assert found["differences"] == [{"option": "seed", "values": ["1", "2"]}]


def test_where_specs_differ() -> None:
    first = {"a": {"b": 1, "c": [1, 2]}, "every": {"epochs": 1}, "same": {}, "only": None}
    second = {"a": {"b": 1, "c": [1]}, "every": {"steps": 30}, "same": {}}
    assert differences([first, second]) == [
        {"option": "a.c", "values": ["[1, 2]", "[1]"]},
        {"option": "every", "values": ["1 epochs", "30 steps"]},
        {"option": "only", "values": ["null", ""]},
    ]
    assert differences([first, first]) == []
