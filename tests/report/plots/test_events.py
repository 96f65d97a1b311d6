from __future__ import annotations

from pathlib import Path

from senn_cli.report.plots.events import event_steps
from senn_cli.report.record import Record
from tests.report.plots.made import event, made_run


def test_steps_of_every_kind(record: Record) -> None:
    assert event_steps(record) == {
        "insert_layer": [20, 40],
        "add_neurons": [30],
        "prune_neurons": [50],
        "nothing": [10],
    }


def test_a_round_is_one_mark(tmp_path: Path) -> None:
    history = [
        event(5, "enlarge_capacity", [4], capacity=16),
        event(5, "add_neurons", [5], layer=0, neurons=1),
        event(5, "add_neurons", [6], layer=0, neurons=1),
        event(5, None, [6]),
        event(9, None, [6]),
        event(9, None, [6]),
    ]
    record = made_run(tmp_path / "r", history=history)
    assert event_steps(record) == {"add_neurons": [5], "nothing": [9]}
