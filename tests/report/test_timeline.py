from __future__ import annotations

from typing import Any

import pytest

from senn_cli.report.audit import audit
from senn_cli.report.record import Record
from senn_cli.report.timeline import KEYS, entry_of, merged, threshold_of, timeline
from tests.handmade import added, event, inserted, record


@pytest.fixture
def made() -> Record:
    return record(
        history=[
            event(10, [2], train_loss=1.0, ratio=0.25, site="layer 0", predicted_gain=0.1),
            event(20, [2], "enlarge_capacity", layer=0, capacity=16, train_loss=None),
            added(20, [3], 0, 0.25, train_loss=0.75, ratio=2.0),
            added(20, [4], 0, 0.125, train_loss=0.75, ratio=0.75),
            inserted(20, [4, 4], 1, 0.5, train_loss=0.75, ratio=None),
            event(20, [4, 4], train_loss=0.75),
            event(30, [4, 4], train_loss=0.5),
            event(40, [4, 3], "prune_neurons", layer=1, neuron=0),
        ]
    )


def test_the_round_s_gain_stands_on_its_last_edit(made: Record) -> None:
    found = timeline(made, audit(made))
    assert [e.edit for e in found] == [
        "enlarge_capacity",
        "add_neurons",
        "add_neurons",
        "insert_layer",
        "prune_neurons",
    ]
    assert [e.realised for e in found] == [None, None, None, 0.25, None]
    assert [e.until for e in found] == [None, None, None, 30, None]
    assert [e.predicted for e in found] == [None, 0.25, 0.125, 0.5, None]
    assert [e.neurons for e in found] == [0, 1, 1, 4, 1]
    assert [e.site for e in found] == ["layer 0", "layer 0", "layer 0", "map 1", "layer 1"]
    assert [e.ratios for e in found] == [(), (2.0,), (0.75,), (), ()]


def test_rejections_on_request(made: Record) -> None:
    found = timeline(made, audit(made), rejected=True)
    assert [e.accepted for e in found] == [False, True, True, True, True, False, False, True]
    assert (found[0].reason, found[0].ratios, found[0].realised) == ("because", (0.25,), None)


def test_like_edits_of_a_round_are_put_together(made: Record) -> None:
    found = merged(timeline(made, audit(made)))
    assert [(e.edit, e.neurons) for e in found] == [
        ("enlarge_capacity", 0),
        ("add_neurons", 2),
        ("insert_layer", 4),
        ("prune_neurons", 1),
    ]
    assert (found[1].predicted, found[1].ratios) == (0.375, (2.0, 0.75))
    assert (found[1].hidden, found[1].parameters) == ((4,), 40)


def test_edits_of_other_rounds_sites_and_kinds_stay_apart() -> None:
    events: list[dict[str, Any]] = [
        added(10, [3, 2], 0, 0.1),
        added(10, [3, 3], 1, 0.1),
        added(20, [3, 4], 1, 0.1),
        event(20, [3, 3], "prune_neurons", layer=1, neuron=0),
        event(30, [3, 3]),
        event(30, [3, 3]),
        inserted(40, [3, 3, 3], 1, 0.1),
        inserted(40, [3, 3, 3, 3], 1, 0.1),
    ]
    assert len(merged(map(entry_of, events))) == len(events)


def test_a_shared_threshold() -> None:
    entries = [entry_of(event(10, [2])), entry_of(event(20, [2], threshold=None))]
    assert threshold_of(entries) == 0.5
    assert threshold_of([*entries, entry_of(event(30, [2], threshold=0.25))]) is None
    assert threshold_of([]) is None


def test_the_json_form_has_all_keys_always() -> None:
    found = entry_of({"step": 10}).to_json()
    assert set(found) == {*KEYS, "realised_gain", "realised_until"}
    assert found["step"] == 10
    assert {value for key, value in found.items() if key != "step"} == {None}


def test_how_new_units_fare_is_a_mean_over_those_that_are_put_together() -> None:
    told = [(3, 0.5, 1.0), (1, 0.25, 0.0)]
    events = [
        added(10, [6], 0, 0.5, neurons=k, newborn={"gradient_ratio": ratio, "inactive": share})
        for k, ratio, share in told
    ]
    (entry,) = merged(map(entry_of, events))
    assert (entry.neurons, entry.starved, entry.inactive) == (4, 0.4375, 0.75)
    (entry,) = merged(map(entry_of, [events[0], added(10, [6], 0, 0.5)]))
    assert entry.starved is None
