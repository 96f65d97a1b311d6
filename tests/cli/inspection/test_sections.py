from __future__ import annotations

from pathlib import Path

from senn_cli.cli.inspection import sections
from senn_cli.cli.inspection.screen import Line, Screen
from senn_cli.report.record import read_record
from tests.handmade import event, inserted, record, row, run_directory

WIDE = Screen(1000, "utf-8")


def texts(lines: list[Line]) -> list[str]:
    return [text.rstrip() for text, _ in lines]


def test_curves_of_widths_begin_where_the_layer_does() -> None:
    made = record(
        history=[inserted(50, [4, 2], 0, 0.1)],
        metrics=[row(50, [2], train_loss=2.0), row(100, [4, 2], train_loss=1.0)],
    )
    first, second, loss = texts(sections.curves(made, WIDE))
    # 48 columns over 100 steps: the 24th ends at step 50.
    assert first == "layer 0  " + " " * 23 + "█" * 25 + "  4 → 4, since step 50"
    assert second == "layer 1  " + "█" * 48 + "  2 → 2"
    assert loss == "loss     " + "█" * 24 + "▁" * 24 + "  2 → 1"


def test_a_run_without_rows_has_no_curves() -> None:
    assert sections.curves(record(), WIDE) == []
    assert sections.curves(record(metrics=[row(10, [2])]), Screen(30, "utf-8")) == []


def test_the_heading_tells_where_a_run_comes_from(tmp_path: Path) -> None:
    resumed = [
        {"step": 10, "time": "2026-01-01", "overrides": ["a=b"], "branched_from": "/runs/one"}
    ]
    run = run_directory(tmp_path, name="'[red]é'", resumed=resumed)
    lines = texts(sections.head(read_record(run), WIDE))
    assert lines[0] == "run        [red]é"
    assert "resumed    at step 10, 2026-01-01, branched from /runs/one, with a=b" in lines
    assert lines[-1] == f"directory  {run}"


def test_the_heading_tells_the_best_evaluation_and_why_a_run_ended(tmp_path: Path) -> None:
    best = {"metric": "train_loss", "step": 10, "value": 0.5}
    summary = {"status": "finished", "steps": 30, "best": best, "weights_step": 30}
    run = run_directory(tmp_path / "a", summary=summary, metrics=[row(30, [2])])
    assert "best       train_loss 0.5 at step 10" in texts(sections.head(read_record(run), WIDE))
    end = event(30, [2], reason="stopped, as it should", end=best | {"restored": False})
    run = run_directory(tmp_path / "b", summary=summary, history=[end])
    lines = texts(sections.head(read_record(run), WIDE))
    assert "end        stopped, as it should" in lines
    assert not any(line.startswith("best ") for line in lines)


def test_the_result_is_left_out_before_the_end(tmp_path: Path) -> None:
    summary = {"status": "finished", "steps": 20, "test_mse": 0.25, "epochs": 2.0}
    rows = [row(10, [2], train_loss=1.0), row(20, [2], train_loss=0.5)]
    run = run_directory(tmp_path, metrics=rows, summary=summary)
    assert "test       mse 0.25" in texts(sections.head(read_record(run), WIDE))
    early = texts(sections.head(read_record(run, 10), WIDE))
    assert not [line for line in early if line.startswith("test")]
    assert [line for line in early if "as of step 10; finished at step 20" in line]
    assert [line for line in early if line.startswith("step 10") and "loss 1" in line]
