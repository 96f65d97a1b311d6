"""Observers: everyone is told everything in the documented order, and may stop the run."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from senn_cli.training.observer import Observer, Observers
from senn_cli.training.snapshot import Moment
from tests.resuming import MOONS, check_same, go, resume, rows, store_of, timeless

MOMENTS = [name for name in vars(Observer) if not name.startswith("_")]


@pytest.mark.parametrize("moment", MOMENTS)
def test_everything_is_passed_on_in_order(moment: str) -> None:
    calls: list[tuple[int, tuple[Any, ...]]] = []
    members = [Observer(), Observer()]
    for number, member in enumerate(members):
        setattr(member, moment, lambda *args, number=number: calls.append((number, args)))
    whole = Observers([Observers(members[:1]), members[1]])
    names = list(inspect.signature(getattr(whole, moment)).parameters)
    getattr(whole, moment)(*names)
    assert calls == [(0, tuple(names)), (1, tuple(names))]


@pytest.mark.parametrize("asking", [0, 1])
def test_any_of_them_may_stop_the_run(asking: int) -> None:
    class Asks(Observer):
        def stops(self) -> bool:
            return True

    members = [Observer(), Observer()]
    assert not Observers(members).stops()
    members[asking] = Asks()
    assert Observers(members).stops()


class Looks(Observer):
    """Looks into the run directory whenever it is told something; may ask the run to stop."""

    def __init__(self, path: Path, last: int = 99) -> None:
        self.path, self.last, self.step = path, last, 0
        self.told: list[str] = []

    def metrics(self, row: Mapping[str, Any]) -> None:
        assert rows(self.path / "metrics.jsonl")[-1] == row
        self.told.append("metrics")

    def improved(self, moment: Moment) -> None:
        assert rows(self.path / "metrics.jsonl")[-1]["step"] == moment.step
        self.told.append("improved")

    def round(self, events: Sequence[Mapping[str, Any]], before: Moment, after: Moment) -> None:
        assert rows(self.path / "history.jsonl")[-len(events) :] == list(events)
        assert before.step == after.step
        self.told.append("round")

    def boundary(self, moment: Moment) -> None:
        # A save at every step begins when the one before is on the disk.
        assert set(range(1, moment.step)) <= set(store_of(self.path).steps())
        self.step = moment.step
        self.told.append("boundary")

    def stops(self) -> bool:
        return self.step >= self.last

    def halted(self, moment: Moment, how: str) -> None:
        assert store_of(self.path).steps()[-1] == moment.step
        self.told.append(how)

    def result(self, network: Any) -> None:
        assert not (self.path / "weights").exists()
        self.told.append("result")

    def end(self, summary: Mapping[str, Any]) -> None:
        assert (self.path / "weights").is_dir() and (self.path / "summary.json").is_file()
        self.told.append("end")

    def close(self) -> None:
        self.told.append("close")


EVERY = "checkpoints={every: {steps: 1}, growth: true, keep: 99}"


def test_who_is_told_finds_it_written_and_may_stop_a_run_that_goes_on(tmp_path: Path) -> None:
    whole = Looks(tmp_path / "whole")
    go(MOONS, whole.path, EVERY, "checkpoints.best=train_loss", observers=[whole])
    assert whole.told[:4] == ["boundary", "boundary", "metrics", "improved"]
    assert whole.told[4:6] == ["round", "boundary"]
    assert whole.told[-4:] == ["finished", "result", "end", "close"]

    part = Looks(tmp_path / "part", last=4)
    run = go(MOONS, part.path, EVERY, "checkpoints.best=train_loss", observers=[part])
    assert (run.summary["status"], run.summary["steps"]) == ("stopped", 4)
    assert part.told[-2:] == ["stopped", "close"]
    resume(part.path)
    check_same(part.path, whole.path)
    assert timeless(part.path / "history.jsonl") == timeless(whole.path / "history.jsonl")
