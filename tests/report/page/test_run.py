from __future__ import annotations

from senn_cli.report.page.numbers import short
from senn_cli.report.page.run import curves, steps_per_epoch
from tests.handmade import event, record, row


def test_curves_are_columns_and_empty_ones_are_left_out() -> None:
    made = record(
        metrics=[row(10, [2, 3], train_loss=0.123456), row(20, [4], train_loss=None, parameters=9)]
    )
    assert curves(made) == {
        "step": [10, 20],
        "train_loss": [0.12346, None],
        "parameters": [None, 9],
        "neurons": [5, 4],
    }
    assert curves(record()) == {}


def test_steps_in_an_epoch() -> None:
    assert steps_per_epoch(record()) is None
    assert steps_per_epoch(record(metrics=[row(30, [2])])) == 10.0
    assert steps_per_epoch(record(history=[event(6, [2], epoch=1.5)])) == 4.0


def test_short_numbers() -> None:
    assert [short(v) for v in (3, 123456, 1.23456789e-7, -0.0)] == [3, 123456, 1.2346e-7, 0.0]
    assert [short(v) for v in (None, float("nan"), float("-inf"), True, "x")] == [None] * 5
