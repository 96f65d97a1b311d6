from __future__ import annotations

from dataclasses import replace

from senn_cli.report.page.seconds import seconds
from tests.handmade import added, event, record, row

SPENT = {"train": 4.0, "score": 1.0, "compile": 3.0, "surgery": 0.0, "total": 10.0}


def test_the_parts_of_a_summary_and_what_they_leave() -> None:
    found = seconds(replace(record(), summary={"seconds": SPENT}))
    assert found == {
        "parts": [
            ["training steps", 4.0],
            ["scoring proposals", 1.0],
            ["compiling", 3.0],
            ["everything else", 2.0],
        ],
        "total": 10.0,
        "note": "",
    }


def test_a_run_without_a_summary_tells_what_its_rows_do() -> None:
    made = record(
        history=[
            added(10, [3], 0, 0.1, seconds={"score": 1.0, "surgery": 0.5}),
            event(20, [3], seconds={"score": 2.0}),
            event(40, [3], seconds={"score": 8.0}),  # after the last row of metrics
        ],
        metrics=[row(10, [2], seconds=2.0), row(30, [3], seconds=6.0)],
    )
    found = seconds(made)
    assert found["parts"] == [["growth rounds", 3.5], ["everything between them", 2.5]]
    assert found["total"] == 6.0
    assert found["note"].startswith("Up to step 30.")


def test_a_step_before_the_end_does_not_show_the_seconds_of_the_whole() -> None:
    made = record(metrics=[row(10, [2], seconds=2.0)])
    found = seconds(replace(made, summary={"seconds": SPENT}, step=10))
    assert found["parts"] == [["training and all else", 2.0]]


def test_nothing_yet() -> None:
    assert seconds(record()) == {
        "parts": [],
        "total": None,
        "note": "No time has been recorded yet.",
    }
