from __future__ import annotations

from typing import Any

from senn_cli.report.audit import audit
from senn_cli.report.numbering import last_numbers
from senn_cli.report.page.growth import layers, rounds
from tests.handmade import added, event, inserted, record, row


def rounds_of(*history: dict[str, Any]) -> list[dict[str, Any]]:
    made = record(history=history)
    return rounds(made, audit(made), last_numbers(made))


def test_layers_keep_their_last_name() -> None:
    made = record(
        history=[added(10, [3], 0, 0.1), inserted(20, [4, 3], 0, 0.1)], metrics=[row(30, [4, 3])]
    )
    assert layers(made) == [
        {"name": "layer 0", "steps": [20, 30], "widths": [4, 4]},
        {"name": "layer 1", "steps": [0, 10, 30], "widths": [2, 3, 3]},
    ]


def test_like_edits_of_a_round_are_one_line() -> None:
    (found,) = rounds_of(
        event(10, [2], "enlarge_capacity", layer=0, capacity=16),
        added(10, [3], 0, 0.25, ratio=4.0),
        added(10, [4], 0, 0.125, ratio=2.0),
        event(10, [4]),
    )
    assert found["edits"] == [
        {
            "what": "added 2 neurons",
            "where": "layer 0",
            "ratios": [2.0, 4.0],
            "tau": 0.5,
            "reason": "because",
            "predicted": None,
            "realised": None,
        }
    ]
    assert (found["step"], found["marks"], found["hidden"]) == (10, ["neurons"], [4])


def test_what_a_round_promised_and_gained() -> None:
    found = rounds_of(
        added(10, [3], 0, 0.25, train_loss=2.0),
        inserted(10, [2, 3], 0, 0.5, train_loss=2.0),
        event(20, [2, 3], "prune_neurons", layer=1, neuron=0, train_loss=1.5),
    )
    assert [each["marks"] for each in found] == [["layer", "neurons"], ["pruned"]]
    assert [each["predicted"] for each in found] == [0.75, None]
    assert [each["realised"] for each in found] == [0.5, None]
    assert [each["until"] for each in found] == [20, None]
    assert [edit["where"] for edit in found[0]["edits"]] == [
        "layer 0 (layer 1 at the end)",
        "map 0 (layer 0 at the end)",
    ]


def test_nothing_was_added() -> None:
    assert rounds_of(event(10, [2]), event(20, [2], "enlarge_capacity", layer=0)) == []
