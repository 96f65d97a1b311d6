"""A growth round in the loop: whole or not at all, and what is told of it in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from senn_cli.data.registry import load_dataset
from senn_cli.engine.programs import Aborted, Ledger
from senn_cli.spec import parse_spec
from senn_cli.training.assemble import assemble
from senn_cli.training.loop import Trainer
from senn_cli.training.observer import Observer
from senn_cli.training.snapshot import GrowthMemory, Moment, arrays_of
from tests.resuming import MOONS, Executables, shared_programs, steps

EXECUTABLES: Executables = {}
ROUND = 3  # the step of the first round, which inserts a layer; three steps an epoch


@pytest.fixture(autouse=True)
def programs() -> Iterator[None]:
    with shared_programs(EXECUTABLES):
        yield


def trainer(
    until: int = 6, *overrides: str, announce: Callable[[str, str], None] = print
) -> Trainer:
    spec = parse_spec(MOONS, overrides=overrides)
    ledger = Ledger(announce=announce)
    return assemble(spec, load_dataset(spec.data, 0), ledger, steps(until))


class Log(Observer):
    """Keeps what it is told, in order."""

    def __init__(self, *, stop: Callable[[], bool] = lambda: False) -> None:
        self.log: list[tuple[str, Any]] = []
        self.moments: list[tuple[Moment, Moment]] = []
        self.stop = stop

    def metrics(self, row: Mapping[str, Any]) -> None:
        self.log.append(("metrics", row["step"]))

    def round(self, events: Sequence[Mapping[str, Any]], before: Moment, after: Moment) -> None:
        self.log += [("event", event["edit"]) for event in events]
        self.log.append(("round", after.step))
        self.moments.append((before, after))

    def boundary(self, moment: Moment) -> None:
        self.log.append(("boundary", moment.step))

    def stops(self) -> bool:
        return self.stop()


def test_the_order_of_a_round() -> None:
    heard = Log()
    trainer(ROUND).run(heard)
    assert heard.log == [
        ("metrics", ROUND),
        ("event", "insert_layer"),
        ("round", ROUND),
        ("boundary", ROUND),
    ]


def test_the_moments_before_and_after() -> None:
    heard = Log()
    run = trainer(ROUND)
    run.run(heard)
    ((before, after),) = heard.moments
    assert (before.network.architecture.widths, after.network.architecture.widths) == ((), (2,))
    assert before.step == after.step == ROUND
    assert before.memory == GrowthMemory(None, 0, pending=True)
    looked = after.memory.kept
    assert [step for step, _ in looked] == [ROUND, ROUND]  # the lowest, and the newest
    assert after.memory == GrowthMemory(ROUND, 1, pending=False, kept=looked)
    assert after == run.moment
    # Both can be saved: nothing of them was donated to a program.
    for moment in (before, after):
        assert all(np.isfinite(a).all() for a in jax.device_get(list(arrays_of(moment).values())))


def called_off(phase: str, count: int) -> tuple[Trainer, Log]:
    """A run of six steps that is interrupted when it enters `phase` for the `count`th time."""
    entered: list[str] = []
    heard = Log(stop=lambda: entered.count(phase) >= count)
    run = trainer(announce=lambda name, what: entered.append(name))
    entered.clear()  # of its making
    run.run(heard)
    return run, heard


@pytest.mark.parametrize(("phase", "count"), [("score", 1), ("surgery", 1)])
def test_a_round_that_is_called_off_leaves_no_trace(phase: str, count: int) -> None:
    run, heard = called_off(phase, count)
    assert run.step == ROUND
    assert run.memory == GrowthMemory(None, 0, pending=True)
    assert run.network.architecture.widths == ()
    assert heard.log == [("metrics", ROUND), ("boundary", ROUND)]


def test_a_pending_round_comes_first() -> None:
    run, _ = called_off("surgery", 1)
    heard = Log()
    run.timetable = replace(run.timetable, until=ROUND)
    run.run(heard)
    # No second row of metrics for the same step.
    assert [name for name, _ in heard.log] == ["event", "round"]
    assert run.memory == GrowthMemory(ROUND, 1, pending=False, kept=run.memory.kept)
    whole = trainer(ROUND)
    whole.run(Log())
    for name, array in arrays_of(whole.moment).items():
        assert np.asarray(array).tobytes() == np.asarray(arrays_of(run.moment)[name]).tobytes()


def test_a_signal_between_rounds_is_no_part_of_one() -> None:
    heard = Log(stop=lambda: heard.log.count(("boundary", 3)) > 0)
    run = trainer(12, "checkpoints={every: {steps: 2}}")
    run.run(heard)
    assert [step for name, step in heard.log if name == "boundary"] == [2, 3]
    assert not run.memory.pending
    assert run.network.architecture.widths == (2,)


def test_a_round_that_adds_nothing_tells_no_growth() -> None:
    heard = Log()
    run = trainer(ROUND, "expansion.max_hidden=1")  # a layer would have two neurons
    run.run(heard)
    assert ("event", None) in heard.log
    ((before, after),) = heard.moments
    assert before.network is after.network
    assert run.memory == GrowthMemory(idle=1, kept=run.memory.kept, ended=ROUND)


@pytest.mark.parametrize(
    ("options", "found", "ended"),
    [
        ("patience: null, thin_to: 2 epochs", [3, 9], None),
        ("patience: 1, thin_to: 2 epochs", [3], ROUND),
        ("patience: null", [3, 6, 9, 12], None),
    ],
)
def test_rounds_that_add_nothing_become_rarer_and_end(
    options: str, found: list[int], ended: int | None
) -> None:
    """Also where a run goes on from the moment of another, as a resumed one does."""
    growth = f"expansion={{price: 1e9, {options}}}"  # which nothing can pay
    run, other, first, second = trainer(4, growth), trainer(15, growth), Log(), Log()
    run.run(first)
    other.go_to(run.moment)
    other.run(second)
    assert [step for name, step in first.log + second.log if name == "round"] == found
    assert other.memory.ended == ended


def test_work_that_is_called_off() -> None:
    ledger, stop = Ledger(), [False]
    ledger.check()
    with ledger.abortable(lambda: stop[0]):
        ledger.check()
        stop[0] = True
        with pytest.raises(Aborted), ledger.phase("score"):
            ledger.check()
    ledger.check()  # outside, nobody asks
    with pytest.raises(Aborted), ledger.abortable(lambda: True):
        ledger.check()
    ledger.check()
