from __future__ import annotations

from typing import Any

import pytest

from senn_cli.report.audit import audit
from senn_cli.report.numbering import Numbers, last_numbers
from senn_cli.report.page.decisions import decisions, what, where
from senn_cli.report.timeline import entry_of
from tests.handmade import added, event, inserted, record


def columns(*history: dict[str, Any]) -> dict[str, list[Any]]:
    made = record(history=history)
    return decisions(made, audit(made), last_numbers(made))


def test_every_line_is_in_every_column() -> None:
    found = columns(
        event(10, [2], site="layer 0", ratio=0.25, delta_eta=0.5, eta=2.0, train_loss=1.0),
        added(20, [3], 0, 0.125, train_loss=0.75, epoch=2.0, seconds={"score": 1.5, "surgery": 1}),
        event(30, [3], train_loss=0.5),
    )
    assert {len(values) for values in found.values()} == {3}
    assert found["step"] == [10, 20, 30]
    assert found["accepted"] == [False, True, False]
    assert found["what"] == ["nothing added", "added 1 neuron", "nothing added"]
    assert found["where"] == ["layer 0", "layer 0", ""]
    assert found["ratio"] == [0.25, None, None]
    assert found["predicted"] == [None, 0.125, None]
    assert found["realised"] == [None, 0.25, None]
    assert found["epoch"] == [None, 2.0, None]
    assert found["seconds"] == [None, 2.5, None]
    assert found["tau"] == [0.5, 0.5, 0.5]
    assert found["reason"] == ["because"] * 3


def test_what_forks_tell_stands_in_columns_of_its_own() -> None:
    told = {"fork": {"steps": 5, "loss": 1.0, "without": 0.75, "with": 0.5}}
    new = {"units": 1, "gradient_ratio": 0.125, "inactive": 0.0, "incumbents_inactive": 0.5}
    found = columns(
        added(20, [3], 0, 0.5, train_loss=1.0, **told, newborn=new),
        added(20, [4], 0, 0.25, train_loss=1.0, **told),  # with which the round ends
        event(30, [4], train_loss=0.5),
    )
    assert found["own"] == [None, 0.25, None]
    assert found["starved"] == [0.125, None, None]
    assert found["inactive"] == [0.0, None, None]


def test_a_run_without_decisions_has_empty_columns() -> None:
    assert all(values == [] for values in columns().values())


def test_numbers_are_short_and_never_nan() -> None:
    found = columns(event(10, [2], ratio=0.123456789, eta=float("nan"), delta_eta=float("inf")))
    assert (found["ratio"], found["eta"], found["delta_eta"]) == ([0.12346], [None], [None])


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (event(1, [2]), "nothing added"),
        (added(1, [2], 0, 0.1, neurons=3), "added 3 neurons"),
        (inserted(1, [4, 2], 0, 0.1), "inserted a layer of 4 neurons"),
        (event(1, [2], "prune_neurons", layer=0, neuron=5), "pruned 1 neuron"),
        (
            event(1, [2], "enlarge_capacity", layer=0, capacity=1024),
            "enlarged the capacity to 1,024",
        ),
        (event(1, [2], "turn_round"), "turn round"),
    ],
)
def test_what_was_done_in_words(line: dict[str, Any], text: str) -> None:
    assert what(entry_of(line)) == text


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (added(1, [2, 2], 0, 0.1), "layer 0"),
        (added(1, [2, 2], 1, 0.1), "layer 1 (layer 2 at the end)"),
        (inserted(1, [2, 2], 1, 0.1), "map 1 (layer 2 at the end)"),
        (event(1, [2, 2], site="layer 1"), "layer 1 (layer 2 at the end)"),
        (event(1, [2, 2], site="map 1"), "map 1"),
        (event(1, [2, 2], site="map 2"), "map 2"),
        (event(1, [2, 2]), ""),
    ],
)
def test_the_site_tells_the_last_number_of_its_layer(line: dict[str, Any], text: str) -> None:
    assert where(entry_of(line), Numbers((0, 2), (0, 2))) == text
