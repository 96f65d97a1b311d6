"""Recordings: which files a run leaves, what is in them, and that they change nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from senn_cli.errors import SpecError
from senn_cli.report.record import read_record
from senn_cli.runs.jsonl import read_rows
from senn_cli.spec import Duration, parse_spec
from senn_cli.training.resume import resume_run
from senn_cli.training.run import Run, train_run

REGRESSION = """
name: curve
data: {source: regression, train: 40, test: 60, validation: 0}
network: {kind: mlp, hidden: [1]}
optimizer: {learning_rate: 0.1, schedule: constant}
expansion:
  every: {steps: 10}
  threshold: 1e-3
  stop: 1e-9
  price: 0
  noise: 0
  score_on: searched
  max_hidden: 3
  depth: false
  width: {proposals: 16, polished: 2, steps: 3, per_round: 1}
training: {steps: 40, batch_size: full, evaluate: {steps: 20}}
"""

MOONS = """
name: moons
data: {source: moons, train: 100, test: 40, validation: 0}
network: {kind: mlp, hidden: []}
expansion:
  every: {steps: 10}
  threshold: 1e-6
  stop: 1e-9
  price: 0
  noise: 0
  max_hidden: 3
  depth: {proposals: 4, polished: 1, steps: 3, layer_cost: 1, max_layers: 1}
  width: {proposals: 16, polished: 2, steps: 3, per_round: 1}
training: {steps: 30, batch_size: full, evaluate: {steps: 10}}
"""


def train(text: str, place: Path, recorded: str) -> Run:
    return train_run(parse_spec(text + f"record: {{{recorded}}}\n"), run_directory=place)


def recordings(run: Run) -> dict[str, Any]:
    return {
        path.stem: dict(np.load(path, allow_pickle=False))
        for path in sorted((run.path / "recordings").iterdir())
    }


@pytest.fixture(scope="module")
def curve(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(REGRESSION, tmp_path_factory.mktemp("curve"), "landscape: true")


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(MOONS, tmp_path_factory.mktemp("plane"), "boundary: true")


def test_a_landscape_before_and_after_every_addition_and_at_the_end(curve: Run) -> None:
    added = {e["step"] for e in read_rows(curve.path / "history.jsonl") if e["edit"]}
    assert added  # otherwise there is nothing to see
    expected = {f"landscape-{s:08d}-{w}" for s in added for w in ("before", "after")}
    assert set(recordings(curve)) == expected | {"landscape-00000040-end"}


def test_the_accepted_neuron_is_marked_and_then_exists(curve: Run) -> None:
    shown = recordings(curve)
    for name, before in shown.items():
        if not name.endswith("before"):
            continue
        after = shown[name.replace("before", "after")]
        assert len(after["neurons"]) == len(before["neurons"]) + len(before["accepted"])
        new = after["neurons"][len(before["neurons"]) :]
        np.testing.assert_allclose(new, before["accepted"], rtol=1e-3, atol=1e-4)
        np.testing.assert_array_equal(before["line_y"], after["line_y"])  # the function is kept


def test_a_landscape_is_in_the_units_of_the_data(curve: Run) -> None:
    last = recordings(curve)["landscape-00000040-end"]
    low, high = last["train_x"].min(), last["train_x"].max()
    assert last["location"][0] < low and last["location"][-1] > high
    assert last["ratio"].shape == (len(last["scale"]), len(last["location"]))
    assert (last["line_x"][0], last["line_x"][-1]) == (low, high)
    assert (np.diff(last["target_x"]) >= 0).all()
    assert float(last["threshold"]) == pytest.approx(max(1e-3, 1e-9 / float(last["eta"])))


def test_the_recorded_function_has_the_summarys_error(curve: Run) -> None:
    last = recordings(curve)["landscape-00000040-end"]
    inside = (last["target_x"] > last["line_x"][0]) & (last["target_x"] < last["line_x"][-1])
    guess = np.interp(last["target_x"][inside], last["line_x"], last["line_y"])
    error = np.mean((guess - last["target_y"][inside]) ** 2)
    outside = np.mean(~inside)
    if outside == 0:
        assert error == pytest.approx(curve.summary["test_mse"], rel=0.05, abs=1e-4)
    assert error * (1 - outside) <= curve.summary["test_mse"] * 1.05 + 1e-4


def test_boundaries_at_the_start_before_insertions_and_at_the_end(plane: Run) -> None:
    steps = [
        e["step"] for e in read_rows(plane.path / "history.jsonl") if e["edit"] == "insert_layer"
    ]
    assert steps
    expected = {f"boundary-{step:08d}-before" for step in (0, *steps)}
    shown = recordings(plane)
    assert set(shown) == expected | {"boundary-00000030-end"}
    assert len(shown[f"boundary-{steps[0]:08d}-before"]["hidden"]) == 0
    assert len(shown["boundary-00000030-end"]["hidden"]) == 1


def test_boundaries_hold_probabilities_that_classify_as_the_run_does(plane: Run) -> None:
    last = recordings(plane)["boundary-00000030-end"]
    p = last["probabilities"].astype(np.float64)
    np.testing.assert_allclose(p.sum(axis=-1), 1, atol=2e-3)  # half precision
    column = np.abs(last["x"][:, None] - last["train_x"][:, 0]).argmin(axis=0)
    row = np.abs(last["y"][:, None] - last["train_x"][:, 1]).argmin(axis=0)
    hits = np.mean(p[row, column].argmax(axis=-1) == last["train_y"])
    assert hits > 0.7  # axes swapped or flipped would be at chance


def test_recording_changes_nothing_else(curve: Run, tmp_path: Path) -> None:
    other = train(REGRESSION, tmp_path / "plain", "landscape: false")
    assert not (other.path / "recordings").exists()
    mine, theirs = read_record(curve.path), read_record(other.path)

    def timeless(rows: Any) -> list[Any]:
        return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]

    assert timeless(mine.metrics) == timeless(theirs.metrics)
    assert timeless(mine.history) == timeless(theirs.history)


def test_a_resumed_run_records_the_same(curve: Run, tmp_path: Path) -> None:
    spec = parse_spec(REGRESSION + "record: {landscape: true}\n")
    # Past the last growth round, so that nothing of it is in memory any longer.
    part = train_run(spec, run_directory=tmp_path / "run", until=Duration(steps=35))
    found, wanted = recordings(resume_run(part.path)), recordings(curve)
    assert found.keys() == wanted.keys()
    for name, arrays in wanted.items():
        for symbol, array in arrays.items():
            np.testing.assert_array_equal(found[name][symbol], array)


@pytest.mark.parametrize(
    ("text", "wanted", "found"),
    [(MOONS, "landscape: true", "2 and 2"), (REGRESSION, "boundary: true", "a regression of 1")],
)
def test_data_without_such_a_picture_are_refused(
    text: str, wanted: str, found: str, tmp_path: Path
) -> None:
    with pytest.raises(SpecError, match=found):
        train(text, tmp_path / "run", wanted)
    assert not (tmp_path / "run").exists()
