"""Callbacks: the moments that they are told of, and stopping a run from one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import senn_cli
from senn_cli.errors import UsageError
from senn_cli.runs.weights import load_weights
from senn_cli.training.observer import Start
from senn_cli.training.snapshot import Moment

SPEC: dict[str, Any] = {
    "data": {"source": "moons", "train": 40, "test": 20, "validation": 0},
    "network": {"kind": "mlp", "hidden": [2], "activation": "tanh"},
    "optimizer": {"kind": "adam", "learning_rate": 1e-2},
    "training": {"steps": 8, "batch_size": 20, "evaluate": {"steps": 2}},
    "expansion": {
        "depth": False,
        "every": {"steps": 4},
        "width": {"proposals": 2, "polished": 1, "steps": 1},
    },
}


class Diary(senn_cli.Callback):
    """Writes down what it is told, and stops at a step."""

    def __init__(self, until: int | None = None) -> None:
        self.told: list[tuple[str, Any]] = []
        self.until = until

    def start(self, start: Start) -> None:
        self.told.append(("start", start.step))

    def metrics(self, row: Mapping[str, Any]) -> None:
        self.told.append(("row", dict(row)))

    def round(self, events: Sequence[Mapping[str, Any]], before: Moment, after: Moment) -> None:
        self.told.append(("round", [dict(event) for event in events]))

    def boundary(self, moment: Moment) -> None:
        self.told.append(("boundary", moment.step))
        if self.until is not None and moment.step >= self.until:
            self.stop()

    def end(self, summary: Mapping[str, Any]) -> None:
        self.told.append(("end", dict(summary)))

    def of(self, kind: str) -> list[Any]:
        return [value for name, value in self.told if name == kind]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[senn_cli.Run, Diary]:
    diary = Diary()
    return senn_cli.train(SPEC, root=tmp_path_factory.mktemp("whole"), callbacks=[diary]), diary


def test_what_a_callback_is_told_is_what_is_written(whole: tuple[senn_cli.Run, Diary]) -> None:
    run, diary = whole
    assert diary.told[0] == ("start", 0) and diary.told[-1] == ("end", run.summary)
    assert diary.of("row") == run.rows and [row["step"] for row in run.rows] == [2, 4, 6, 8]
    told = [event for events in diary.of("round") for event in events]
    assert told == run.events and {event["step"] for event in told} == {4}
    assert diary.of("boundary") == sorted(set(diary.of("boundary")))
    assert diary.of("boundary")[-1] == 8


def test_a_callback_stops_a_run_that_goes_on_as_if_it_had_not(
    whole: tuple[senn_cli.Run, Diary], tmp_path: Path
) -> None:
    run = senn_cli.train(SPEC, run_directory=tmp_path / "run", callbacks=[diary := Diary(4)])
    assert (run.summary["status"], run.summary["steps"]) == ("stopped", 4)
    assert diary.of("boundary")[-1] == 4 and diary.of("end") == []
    assert run.predict([[0.0, 0.0]]).shape == (1,)  # it is a network already
    # The same callback asks anew: it stopped the run before.
    ended = senn_cli.resume(run, callbacks=[diary := Diary()])
    assert diary.of("start") == [4] and ended.summary["status"] == "finished"
    (_, expected), (_, found) = (load_weights(one.path / "weights") for one in (whole[0], ended))
    for name, leaves in expected.items():
        for leaf, array in leaves.items():
            assert (found[name][leaf] == array).all(), f"{name} {leaf}"


def test_a_callback_may_serve_again_after_it_has_stopped_a_run(tmp_path: Path) -> None:
    diary = Diary(2)
    fixed = {**SPEC, "expansion": "none", "training": {"steps": 4, "batch_size": 20, "evaluate": 2}}
    fixed["training"]["evaluate"] = {"steps": 2}
    first = senn_cli.train(fixed, run_directory=tmp_path / "a", callbacks=[diary])
    diary.until = None
    second = senn_cli.train(fixed, run_directory=tmp_path / "b", callbacks=[diary])
    assert (first.summary["status"], second.summary["status"]) == ("stopped", "finished")


def test_what_a_callback_raises_ends_the_run(tmp_path: Path) -> None:
    class Fails(senn_cli.Callback):
        def metrics(self, row: Mapping[str, Any]) -> None:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        senn_cli.train({**SPEC, "expansion": "none"}, root=tmp_path, callbacks=[Fails()])


def test_what_is_no_callback_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"callbacks\[1\] is a function") as caught:
        senn_cli.train(SPEC, root=tmp_path, callbacks=[Diary(), print_row])  # type: ignore[list-item]
    assert caught.value.hint is not None and "senn_cli.Callback" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def print_row(row: Mapping[str, Any]) -> None:
    print(row)
