"""What trackers are told of rows, events and summaries."""

from __future__ import annotations

import math

import pytest

from senn_cli.tracking.curves import event_curves, event_text, row_curves, summary_curves


def test_a_row() -> None:
    row = {
        "step": 30,
        "epoch": 1.5,
        "train_loss": 0.5,
        "validation_loss": 0.75,
        "validation_accuracy": 0.25,
        "eta": 2.0,
        "learning_rate": 0.1,
        "hidden": [5, 3],
        "parameters": 65,
        "seconds": 4.0,
    }
    assert row_curves(row) == {
        "loss/train": 0.5,
        "loss/validation": 0.75,
        "accuracy/validation": 0.25,
        "eta": 2.0,
        "learning_rate": 0.1,
        "hidden/0": 5.0,
        "hidden/1": 3.0,
        "hidden/total": 8.0,
        "parameters": 65.0,
        "epoch": 1.5,
        "seconds": 4.0,
    }


def test_a_linear_network_has_no_layer_but_a_total() -> None:
    assert row_curves({"step": 1, "hidden": []}) == {"hidden/total": 0.0}


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_what_is_no_finite_number_has_no_point(value: float | None) -> None:
    assert row_curves({"step": 1, "eta": value, "train_loss": 1.0}) == {"loss/train": 1.0}


def test_the_figure_of_a_regression() -> None:
    assert row_curves({"validation_mse": 2.0}) == {"mse/validation": 2.0}
    assert summary_curves({"test_mse": 3.0, "events": 4, "status": "finished"}) == {
        "mse/test": 3.0,
        "growth/events": 4.0,
    }


def test_an_event() -> None:
    event = {"step": 3, "delta_eta": 0.5, "ratio": 0.25, "eta": 2.0, "bound": None}
    assert event_curves(event) == {"growth/delta_eta": 0.5, "growth/ratio": 0.25}
    assert event_curves({"step": 3, "edit": "enlarge_capacity"}) == {}


def test_events_in_words() -> None:
    grown = {"edit": "add_neurons", "accepted": True, "site": "layer 0", "hidden": [4, 2]}
    assert (
        event_text(grown | {"reason": "ratio 2 > tau"})
        == "add_neurons at layer 0, now 4-2: ratio 2 > tau"
    )
    rejected = {"edit": None, "accepted": False, "site": "map 0", "reason": "noise"}
    assert event_text(rejected) == "rejected at map 0: noise"
    assert event_text({"accepted": False}) == "rejected: no reason given"
