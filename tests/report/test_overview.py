from __future__ import annotations

import json
from pathlib import Path

import pytest

from senn_cli.errors import RunError
from senn_cli.report.overview import CURVES, document, shape
from senn_cli.report.record import read_record
from tests.handmade import added, checkpoint, event, inserted, row, run_directory, weights


def test_a_checkpoint_as_new_as_the_history(tmp_path: Path) -> None:
    run = run_directory(tmp_path, history=[added(10, [3], 0, 0.1)], metrics=[row(20, [3])])
    checkpoint(run, 5, [(2, 8)])
    checkpoint(run, 15, [(3, 8)])
    found = shape(read_record(run))
    assert (found.source, found.step, found.parameters) == ("checkpoint", 20, 3 * 3 + 3 * 3 + 4 * 2)
    assert [(r.width, r.capacity) for r in found.rows] == [(3, 8), (2, 2)]


def test_an_older_checkpoint_gives_the_sizes_of_inputs_and_outputs_alone(tmp_path: Path) -> None:
    run = run_directory(
        tmp_path,
        activation="tanh",
        history=[
            added(20, [3], 0, 0.1),
            inserted(30, [2, 3], 0, 0.1, capacities=[8, 16], parameters=99),
        ],
    )
    checkpoint(run, 10, [(2, 8)], inputs=7, outputs=4)
    found = shape(read_record(run))
    assert (found.source, found.step, found.parameters) == ("history", 30, 99)
    # The inserted layer is rational, since it has to be the identity; the first one is the spec's.
    assert [r.activation for r in found.rows] == ["rational", "tanh", ""]
    assert [(r.inputs, r.width, r.capacity) for r in found.rows] == [
        (7, 2, 8),
        (2, 3, 16),
        (3, 4, 4),
    ]


def test_a_run_that_ends_with_its_best_network_has_the_architecture_of_that(
    tmp_path: Path,
) -> None:
    end = {"metric": "train_loss", "step": 10, "value": 0.5, "stopped": True, "restored": True}
    ending = event(30, [2], reason="stopped", end=end)
    run = run_directory(tmp_path, history=[added(20, [3], 0, 0.1), ending])
    checkpoint(run, 30, [(3, 8)])
    weights(run, [(2, 8)], inputs=3, outputs=2)
    record = read_record(run)
    assert [e["step"] for e in record.history] == [20]  # it is no decision
    found = shape(record)
    assert (found.source, found.step) == ("weights", 10)
    assert [r.width for r in found.rows] == [2, 2]
    # A run that was stopped without restoring anything has the last one.
    ending["end"] = end | {"restored": False}
    (run / "history.jsonl").write_text(json.dumps(ending) + "\n")
    assert shape(read_record(run)).source == "checkpoint"


def test_a_step_without_a_checkpoint_is_told_by_the_history(tmp_path: Path) -> None:
    history = [
        added(20, [3], 0, 0.1, capacities=[8]),
        inserted(30, [2, 3], 0, 0.1, capacities=[8, 16], parameters=99),
    ]
    run = run_directory(tmp_path, history=history, metrics=[row(40, [2, 3])], activation="tanh")
    checkpoint(run, 40, [(2, 8), (3, 16)], inputs=7, outputs=4)
    found = shape(read_record(run, 25))
    assert (found.source, found.step) == ("history", 25)
    assert [(r.inputs, r.width, r.capacity) for r in found.rows] == [(7, 3, 8), (3, 4, 4)]
    assert [r.activation for r in found.rows] == ["tanh", ""]
    assert [r.width for r in shape(read_record(run, 10)).rows] == [2, 4]  # as it began
    found = shape(read_record(run, 35))
    assert (found.parameters, [r.width for r in found.rows]) == (99, [2, 3, 4])


def test_a_larger_capacity_is_news_too(tmp_path: Path) -> None:
    enlarged = event(20, [2], "enlarge_capacity", layer=0, capacity=16, capacities=[16])
    run = run_directory(tmp_path, history=[enlarged])
    checkpoint(run, 10, [(2, 8)])
    assert [r.capacity for r in shape(read_record(run)).rows] == [16, 2]


def test_without_a_checkpoint_inputs_and_outputs_are_unknown(tmp_path: Path) -> None:
    run = run_directory(tmp_path, history=[added(10, [3], 0, 0.1)])
    found = shape(read_record(run))
    assert [(r.inputs, r.width, r.parameters) for r in found.rows] == [
        (None, 3, None),
        (3, None, None),
    ]
    assert found.parameters == 30


def test_a_run_that_has_just_started_has_the_spec_s_layers(tmp_path: Path) -> None:
    found = shape(read_record(run_directory(tmp_path, hidden=[4, 5], activation="silu")))
    assert (found.source, found.step, found.parameters) == ("history", 0, None)
    assert [(r.width, r.capacity, r.activation) for r in found.rows[:2]] == [
        (4, None, "silu"),
        (5, None, "silu"),
    ]


def test_weights_tell_where_no_checkpoint_does(tmp_path: Path) -> None:
    run = run_directory(tmp_path, metrics=[row(20, [3])])
    weights(run, [(3, 8)], inputs=6, outputs=5)
    found = shape(read_record(run))
    assert (found.source, found.rows[0].inputs, found.rows[1].width) == ("weights", 6, 5)
    (run / "weights" / "architecture.json").write_text("{}")
    with pytest.raises(RunError, match=r"weights/architecture\.json is damaged"):
        shape(read_record(run))


def test_evaluation_comes_before_growth_of_the_same_step(tmp_path: Path) -> None:
    run = run_directory(
        tmp_path, history=[added(10, [3], 0, 0.1)], metrics=[row(10, [2], parameters=1)]
    )
    assert shape(read_record(run)).rows[0].width == 3
    run = run_directory(tmp_path, metrics=[row(20, [4], parameters=1)])
    assert shape(read_record(run)).rows[0].width == 4


def test_another_step_has_that_of_its_checkpoint(tmp_path: Path) -> None:
    run = run_directory(tmp_path, history=[added(10, [3], 0, 0.1), added(20, [4], 0, 0.1)])
    checkpoint(run, 10, [(3, 8)])
    found = shape(read_record(run, 10))
    assert (found.source, found.step, found.rows[0].width) == ("checkpoint", 10, 3)


def test_the_document_of_a_run(tmp_path: Path) -> None:
    run = run_directory(
        tmp_path,
        history=[event(10, [2]), added(20, [3], 0, 0.1, train_loss=1.0)],
        metrics=[row(10, [2], train_loss=2.0, eta=0.5), row(20, [2], train_loss=1.0)],
        resumed=[{"step": 10, "time": "t", "overrides": [], "branched_from": None}],
    )
    found = document(read_record(run))
    assert list(found) == [
        "format", "path", "name", "status", "architecture", "last_step", "seed", "policy",
        "summary", "tracks", "curves", "resumed", "history", "audit",
    ]  # fmt: skip
    assert (found["name"], found["seed"], found["policy"]) == ("made", 3, "senn")
    assert list(found["curves"]) == ["step", *CURVES]
    assert found["curves"]["train_loss"] == [2.0, 1.0]
    assert found["curves"]["eta"] == [0.5, None]
    assert [e["step"] for e in found["history"]] == [20]
    assert [e["step"] for e in document(read_record(run), rejected=True)["history"]] == [10, 20]
    assert found["tracks"][0]["widths"] == (2, 3)
    assert found["resumed"][0]["step"] == 10
    assert found["audit"]["rounds"][0]["predicted"] == 0.1
    json.dumps(found, allow_nan=False)
