from __future__ import annotations

import pytest

from senn_cli.cli.words import duration, growth, measures, printable, widths


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (7.4, "0:07"), (59.6, "1:00"), (754, "12:34"), (3723, "1:02:03"), (-3, "0:00")],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(("hidden", "text"), [([], "none"), ((8,), "8"), ([16, 24], "16-24")])
def test_widths(hidden: list[int], text: str) -> None:
    assert widths(hidden) == text


def test_printable_keeps_letters_and_drops_control() -> None:
    assert printable("größe [bold]") == "größe [bold]"
    assert printable("a\x1b[31mb\nc\r\x9b") == "a?[31mb?c??"
    assert printable("größe 字", "ascii") == "gr\\xf6\\xdfe \\u5b57"


def test_measures_of_a_classification_and_of_a_regression() -> None:
    row = {"train_loss": 0.12345, "validation_accuracy": 0.9722, "hidden": [10], "eta": 0.01234}
    assert measures(row) == [
        "loss 0.1235",
        "validation accuracy 97.22%",
        "hidden 10",
        "eta 0.0123",
    ]
    assert measures({"train_loss": None, "validation_mse": 0.001}) == ["validation mse 0.001"]
    assert measures({}) == []


def test_growth_tells_what_it_knows() -> None:
    event = {
        "step": 120,
        "epoch": 2.0,
        "edit": "add_neurons",
        "accepted": True,
        "site": "hidden.0",
        "hidden": [14],
        "loss_before": 0.5,
        "loss_after": 0.5,
    }
    assert growth(event) == (
        "grown: step 120, epoch 2, added neurons at hidden.0, now 14, loss 0.5 to 0.5"
    )
    assert growth({"edit": "future_edit"}) == "grown: future_edit"


def test_a_pruning_tells_what_it_did_to_the_loss() -> None:
    event = {
        "step": 80, "edit": "prune_neurons", "site": "layer 1", "hidden": [3, 2],
        "predicted_change": -0.001, "realised_change": 0.0005,
    }  # fmt: skip
    assert growth(event) == (
        "grown: step 80, pruned neurons at layer 1, now 3-2, change of the loss +0.0005, "
        "predicted -0.001"
    )
