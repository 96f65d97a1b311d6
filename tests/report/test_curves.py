from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from senn_cli.report.curves import axis_of, curve, main_curve, places
from senn_cli.report.record import Record
from tests.handmade import record


def run(*rows: tuple[float, float | None], key: str = "train_loss", **more: Any) -> Record:
    """A record with (epoch, value) rows, ten steps an epoch."""
    return record(
        metrics=[
            {"step": round(10 * epoch), "epoch": epoch, "hidden": [2], key: value, **more}
            for epoch, value in rows
        ]
    )


def means(records: Sequence[Record], at: Sequence[float]) -> tuple[float | None, ...]:
    return curve(records, "train_loss", "epoch", at).means


def test_what_was_last_measured_holds() -> None:
    one = run((1, 8.0), (2, 4.0), (4, 2.0))
    assert means([one], [0.5, 1, 1.5, 2, 3, 4]) == (None, 8.0, 8.0, 4.0, 4.0, 2.0)


def test_a_run_counts_as_far_as_it_has_come() -> None:
    found = curve([run((1, 8.0), (2, 4.0)), run((1, 4.0))], "train_loss", "epoch", [1, 2, 3])
    assert found.means == (6.0, 4.0, None)
    assert found.counts == (2, 1, 0)


def test_gaps_and_what_is_not_finite_are_no_measurements() -> None:
    assert means([run((1, 8.0), (2, None), (3, math.nan))], [1, 2, 3]) == (8.0, 8.0, 8.0)
    assert means([run((1, None), (2, 4.0))], [1, 2]) == (None, 4.0)


def test_by_steps_where_rows_tell_no_epochs() -> None:
    plain = record(metrics=[{"step": 10, "train_loss": 3.0}, {"step": 20, "train_loss": 1.0}])
    assert axis_of([plain, run((1, 2.0))]) == "step"
    assert places([plain], 4) == (5.0, 10.0, 15.0, 20.0)
    assert curve([plain], "train_loss", "step", places([plain], 4)).means == (None, 3.0, 3.0, 1.0)


def test_places_are_parts_of_the_longest_training() -> None:
    assert places([run((1, 1.0)), run((5, 1.0))]) == (
        0.5,
        1.0,
        1.5,
        2.0,
        2.5,
        3.0,
        3.5,
        4.0,
        4.5,
        5,
    )
    assert places([record()]) == ()


def test_the_last_place_is_the_end_for_any_length() -> None:
    for epochs in (0.1, 0.3, 7.7, 1 / 3, 49.0):
        one = run((epochs / 2, 2.0), (epochs, 1.0))
        for count in (3, 7, 10, 48):
            assert means([one], places([one], count))[-1] == 1.0


def test_the_validation_figure_only_where_all_runs_have_it() -> None:
    both = run((1, 1.0), validation_accuracy=0.5)
    loss = run((1, 1.0))
    assert main_curve([both, both], "accuracy") == "validation_accuracy"
    assert main_curve([both, loss], "accuracy") == "train_loss"
    assert main_curve([both, record()], "accuracy") == "validation_accuracy"  # one just started
    assert main_curve([run((1, 1.0), validation_mse=0.5)], "mse") == "validation_mse"
    assert main_curve([record()], None) is None
    assert main_curve([run((1, 1.0), key="eta")], None) is None
