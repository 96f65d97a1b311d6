from __future__ import annotations

import io

import pytest
from rich.console import Console

from senn_cli.cli.summary import print_summary, result_rows, second_rows

SECONDS = {"train": 10.0, "score": 5.0, "surgery": 0.5, "compile": 2.5, "evaluate": 1.0}
SUMMARY = {
    "name": "größe [bold]x",
    "status": "finished",
    "test_accuracy": 0.97222,
    "test_loss": 0.123456,
    "hidden": [16, 24],
    "parameters": 12345,
    "events": 4,
    "compilations": 9,
    "steps": 1200,
    "epochs": 20.0,
    "seconds": {**SECONDS, "total": 20.0},
    "run_directory": "runs/a-20250102-030405-abcdef",
}


def shown(summary: dict[str, object], **options: object) -> str:
    file = io.StringIO()
    print_summary(summary, Console(file=file, **options))  # type: ignore[arg-type]
    return file.getvalue()


def test_the_results_in_words() -> None:
    assert result_rows(SUMMARY) == [
        ("run", "größe [bold]x"),
        ("status", "finished"),
        ("test accuracy", "97.22%"),
        ("test loss", "0.1235"),
        ("hidden sizes", "16-24"),
        ("parameters", "12,345"),
        ("growth events", "4"),
        ("compilations", "9"),
        ("trained for", "1,200 steps, 20 epochs"),
        ("run directory", "runs/a-20250102-030405-abcdef"),
    ]


def test_a_regression_and_missing_values() -> None:
    rows = result_rows({"test_mse": 0.00089, "test_loss": None, "hidden": [], "events": 0})
    assert rows == [("test mse", "0.00089"), ("hidden sizes", "none"), ("growth events", "0")]
    assert result_rows({}) == []


def test_what_the_cache_spared() -> None:
    rows = dict(result_rows({"compilations": 1017, "cache_hits": 12}))
    assert rows["compilations"] == "1,017, 12 of them from the cache"


def test_the_best_evaluation_and_an_early_stop() -> None:
    best = {"metric": "validation_loss", "step": 1100, "value": 0.21934}
    found = dict(result_rows(SUMMARY | {"best": best, "stopped_early": True, "weights_step": 1100}))
    assert found["status"] == "finished, stopped early"
    told = "validation_loss 0.2193 at step 1,100"
    assert found["best"] == f"{told}, whose weights the run ends with"
    kept = SUMMARY | {"best": best, "stopped_early": False, "weights_step": 1200}
    assert dict(result_rows(kept))["best"] == told
    assert dict(result_rows(kept))["status"] == "finished"


def test_shares_of_the_time() -> None:
    assert second_rows({**SECONDS, "total": 20.0}) == [
        ("train", "10.0", "50.0%"),
        ("score", "5.0", "25.0%"),
        ("surgery", "0.5", "2.5%"),
        ("compile", "2.5", "12.5%"),
        ("evaluate", "1.0", "5.0%"),
        ("other", "1.0", "5.0%"),
        ("total", "20.0", "100.0%"),
    ]


def test_nothing_else_is_no_line() -> None:
    assert [row[0] for row in second_rows({"train": 90.0, "total": 90.01})] == [
        "train",
        "total (1:30)",
    ]


def test_no_time_at_all_has_no_shares() -> None:
    assert second_rows({"train": 0.0, "total": 0.0}) == [("train", "0.0", ""), ("total", "0.0", "")]


def test_a_pipe_gets_plain_text() -> None:
    text = shown(SUMMARY)
    assert "\x1b" not in text
    assert "größe [bold]x" in text
    assert "97.22%" in text


@pytest.mark.parametrize("width", [30, 60])
def test_narrow_terminals(width: int) -> None:
    text = shown(SUMMARY, width=width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert "…" not in text


def test_ascii() -> None:
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict")
    print_summary(SUMMARY, Console(file=file, width=40))
    file.flush()
    assert isinstance(file.buffer, io.BytesIO)
    text = file.buffer.getvalue().decode("ascii")
    assert "gr\\xf6\\xdfe" in text
    assert "50.0%" in text


def test_an_unfinished_run_has_no_table_of_seconds() -> None:
    assert "share" not in shown({"name": "a", "status": "diverged"})
