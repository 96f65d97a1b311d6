from __future__ import annotations

from dataclasses import replace

import pytest

from senn_cli.report.page.head import facts, final_widths, note, sentence
from senn_cli.report.record import Record, Status
from tests.handmade import added, event, inserted, record, row


def grown() -> Record:
    return record(
        hidden=[],
        history=[
            event(10, [], epoch=1.0),
            inserted(20, [2], 0, 0.1),
            added(30, [3], 0, 0.1),
            added(30, [5], 0, 0.1, neurons=2),
            event(30, [5]),
            event(40, [4], "prune_neurons", layer=0, neuron=1),
        ],
        metrics=[row(10, []), row(40, [5], train_loss=0.25, validation_accuracy=0.5)],
    )


def test_what_grew_in_a_sentence() -> None:
    assert sentence(grown()) == (
        "It grew from no hidden layer to 4 between steps 20 and 40: 1 layer inserted, 3 neurons "
        "added, 1 neuron pruned. Of 4 growth rounds, 3 changed the network."
    )


def test_a_run_that_ends_with_its_best_network_has_the_sizes_of_that() -> None:
    best = {"metric": "validation_loss", "step": 20, "value": 0.25}
    ending = event(40, [2], reason="stopped, as it should", end=best | {"restored": True})
    summary = {"best": best, "weights_step": 20, "steps": 40}
    found = dict(map(tuple, facts(replace(grown(), ending=ending, summary=summary))))
    assert (found["hidden sizes"], found["end"]) == ("2", "stopped, as it should")
    told = "validation_loss 0.25 at step 20, whose weights the run ends with"
    assert found["best evaluation"] == told


def test_a_single_edit() -> None:
    assert sentence(record(history=[added(1000, [3], 0, 0.1)])) == (
        "It grew from hidden sizes 2 to 3 at step 1,000: 1 neuron added. Of 1 growth round, 1 "
        "changed the network."
    )


def test_sentences_of_runs_that_did_not_grow() -> None:
    assert sentence(record()) == "Nothing has been decided yet; its hidden sizes are 2."
    tried = record(history=[event(10, [2]), event(20, [2]), event(20, [2])])
    assert sentence(tried) == (
        "It has not grown: 2 growth rounds added nothing, and its hidden sizes are 2."
    )
    fixed = replace(record(), spec={"network": {"hidden": [4]}, "expansion": {"policy": "none"}})
    assert "fixed size, hidden sizes 4" in sentence(fixed)


def test_figures_of_a_run_that_goes_on() -> None:
    assert facts(grown()) == [
        ["validation accuracy", "50.00%"],
        ["training loss", "0.25"],
        ["hidden sizes", "4"],
        ["parameters", "40"],
        ["growth", "4 edits"],
        ["steps", "40"],
        ["epochs", "4"],
    ]


def test_figures_of_a_finished_run() -> None:
    summary = {
        "test_accuracy": 0.912,
        "parameters": 86,
        "steps": 3600,
        "epochs": 36.0,
        "seconds": {"total": 83.4},
    }
    found = dict(facts(replace(grown(), summary=summary, status="finished")))
    assert found["test accuracy"] == "91.20%"
    assert (found["parameters"], found["steps"], found["epochs"]) == ("86", "3,600", "36")
    assert found["time"] == "1:23"
    # Up to an earlier step, the result at the end is none of it.
    assert "test accuracy" not in dict(facts(replace(grown(), summary=summary, step=40)))


def test_a_regression() -> None:
    made = replace(record(metrics=[row(10, [2], validation_mse=0.5)]), summary={"test_mse": 0.125})
    found = dict(facts(made))
    assert found["test mean squared error"] == "0.125"
    assert found["validation mean squared error"] == "0.5"


def test_widths_after_the_last_evaluation() -> None:
    late = record(history=[added(10, [3], 0, 0.1)], metrics=[row(10, [2])])
    assert final_widths(late) == [3]  # growth comes after the evaluation of its step
    assert final_widths(record(hidden=[5, 6])) == [5, 6]


@pytest.mark.parametrize(
    ("status", "text"),
    [("running", "still running"), ("interrupted", "senn resume"), ("diverged", "diverged")],
)
def test_a_note_on_a_run_that_did_not_finish(status: Status, text: str) -> None:
    assert text in note(replace(grown(), status=status))


def test_notes_of_a_finished_run() -> None:
    assert note(replace(grown(), status="finished")) == ""
    assert "after step 20 is left out" in note(replace(grown(), status="finished", step=20))
