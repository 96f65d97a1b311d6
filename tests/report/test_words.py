from __future__ import annotations

import pytest

from senn_cli.report.words import duration, grown, measures, printable, rounds, widths


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
        "η 0.0123",
    ]
    assert measures({"train_loss": None, "validation_mse": 0.001}) == ["validation mse 0.001"]
    assert measures({}) == []


def test_a_score_where_eta_cannot_be_shown() -> None:
    assert measures({"eta": 0.01234}, "ascii") == ["score 0.0123"]
    assert measures({"eta": 0.01234}, "cp1252") == ["score 0.0123"]
    assert measures({"eta": 0.01234}, "iso8859-7") == ["η 0.0123"]  # Greek


def added(step: int, site: str, hidden: list[int], **more: object) -> dict[str, object]:
    event = {"step": step, "edit": "add_neurons", "accepted": True, "site": site, "hidden": hidden}
    return {**event, "neurons": 1, **more}


def test_a_round_that_grew_is_one_line() -> None:
    losses = {"loss_before": 0.7288, "loss_after": 0.7288}
    events = [added(10, "layer 0", [width], **losses) for width in (5, 6, 7, 8)]
    rejected = {"step": 10, "edit": None, "accepted": False, "reason": "below tau"}
    assert grown([*events, rejected]) == "grown: step 10, layer 0 +4, now 8, loss 0.7288"
    assert grown([rejected]) is None
    assert grown([]) is None


def test_a_round_at_several_sites() -> None:
    layer = {
        "step": 270, "edit": "insert_layer", "accepted": True, "site": "map 1", "neurons": 2,
        "hidden": [6, 2, 3],
    }  # fmt: skip
    events = [added(270, "layer 0", [5, 2]), added(270, "layer 1", [5, 3], neurons=2)]
    events += [added(270, "layer 0", [6, 3]), layer]
    assert grown(events) == (
        "grown: step 270, layer 0 +2, layer 1 +2, map 1 +layer of 2, now 6-2-3"
    )


def test_a_round_that_changes_the_function_shows_both_losses() -> None:
    losses = {"loss_before": 0.5, "loss_after": 0.5123}
    pruned = {
        "step": 80, "edit": "prune_neurons", "accepted": True, "site": "layer 1", "hidden": [3, 2],
    } | losses  # fmt: skip
    again = pruned | {"hidden": [3, 1]}
    assert grown([pruned, again]) == "pruned: step 80, layer 1 -2, now 3-1, loss 0.5 to 0.5123"
    both = [added(80, "layer 0", [4, 3], **losses), {**pruned, "hidden": [4, 2]}]
    assert grown(both) == "grown: step 80, layer 0 +1, layer 1 -1, now 4-2, loss 0.5 to 0.5123"


def test_prunings_with_losses_of_their_own() -> None:
    """In a DenseNet the loss is measured around every single pruning."""
    first = {
        "step": 80, "edit": "prune_neurons", "accepted": True, "site": "block 0 layer 1",
        "hidden": [8, 7], "loss_before": 1.5, "loss_after": 1.25,
    }  # fmt: skip
    second = first | {"hidden": [8, 6], "loss_before": 1.25, "loss_after": 1.75}
    assert grown([first, second]) == (
        "pruned: step 80, block 0 layer 1 -2, now 8-6, loss 1.5 to 1.75"
    )


def test_room_is_told_only_where_nothing_else_happened() -> None:
    room = {
        "step": 40, "edit": "enlarge_capacity", "accepted": True, "layer": 0, "capacity": 12,
        "hidden": [8],
    }  # fmt: skip
    assert grown([room]) == "enlarged: step 40, layer 0 room for 12, now 8"
    assert grown([room, added(40, "layer 0", [9])]) == "grown: step 40, layer 0 +1, now 9"
    assert grown([{"edit": "future_edit", "accepted": True, "map": 1}]) == (
        "enlarged: map 1 future_edit"
    )


def test_the_events_of_a_round_share_their_step() -> None:
    events = [added(10, "layer 0", [5]), added(10, "layer 0", [6]), added(20, "layer 0", [7])]
    assert rounds(events) == [events[:2], events[2:]]
