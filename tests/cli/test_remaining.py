"""The time left: of training alone, none before there is one, and no jumps."""

from __future__ import annotations

from itertools import pairwise

import pytest

from senn_cli.cli.remaining import RISE, Remaining
from tests.cli.test_live import Clock


def remaining(clock: Clock, *, total: int | None = 1000, per_epoch: int = 10) -> Remaining:
    made = Remaining(clock)
    made.start(0, total, per_epoch)
    return made


def train(made: Remaining, clock: Clock, step: int, seconds: float) -> None:
    made.phase("train")
    clock.time += seconds
    made.reached(step)


@pytest.mark.parametrize("phase", ["compile", "score", "surgery"])
def test_training_alone_counts(phase: str) -> None:
    clock = Clock()
    made = remaining(clock)
    train(made, clock, 50, 1.0)
    made.phase(phase)
    clock.time += 300
    train(made, clock, 100, 1.0)
    assert made.left() == pytest.approx(18.0)
    made.phase(phase)
    clock.time += 300
    assert made.left() == pytest.approx(18.0)


def test_absent_until_two_epochs_or_five_seconds() -> None:
    clock = Clock()
    made = remaining(clock)
    assert made.left() is None
    train(made, clock, 19, 1.0)
    assert made.left() is None
    train(made, clock, 20, 0.1)
    assert made.left() is not None
    slow = remaining(clock)
    train(slow, clock, 1, 4.9)
    assert slow.left() is None
    train(slow, clock, 2, 0.1)
    assert slow.left() is not None


def test_five_seconds_of_compilation_are_none_of_training() -> None:
    clock = Clock()
    made = remaining(clock)
    made.phase("compile")
    clock.time += 60
    train(made, clock, 5, 1.0)
    assert made.left() is None


def test_no_length_in_steps_no_time_left() -> None:
    clock = Clock()
    made = remaining(clock, total=None)
    train(made, clock, 500, 10.0)
    assert made.left() is None


def test_nothing_is_left_at_the_end() -> None:
    clock = Clock()
    made = remaining(clock)
    train(made, clock, 1000, 10.0)
    assert made.left() is None


def test_it_counts_from_where_a_resumed_run_starts() -> None:
    clock = Clock()
    made = Remaining(clock)
    made.start(600, 1000, 10)
    train(made, clock, 700, 10.0)
    assert made.left() == pytest.approx(30.0)


def test_it_counts_down_between_two_reports_as_far_as_these_are_apart() -> None:
    clock = Clock()
    made = remaining(clock)
    for step in (100, 200):
        train(made, clock, step, 10.0)
    assert made.left() == pytest.approx(80.0)
    clock.time += 4
    assert made.left() == pytest.approx(76.0)
    clock.time += 60  # longer than the steps before: nobody knows how far it is
    assert made.left() == pytest.approx(70.0)


def test_the_pace_is_that_of_the_second_half() -> None:
    """A network that has grown takes longer for a step than at the start."""
    clock = Clock()
    made = remaining(clock)
    for step in range(50, 401, 50):
        train(made, clock, step, 1.0 if step <= 200 else 3.0)
    # Twelve reports are missing, of 3 s each.
    assert made._estimate() == pytest.approx(36.0)


def test_a_slow_moment_makes_no_jump() -> None:
    clock = Clock()
    made = remaining(clock)
    shown: list[float] = []
    for step in range(10, 1001, 10):
        made.phase("train")
        if step == 300:  # everything stands still for two minutes
            made.phase("evaluate")
            for _ in range(120):
                clock.time += 1
                shown.append(made.left() or 0.0)
        clock.time += 1
        made.reached(step)
        left = made.left()
        shown += [] if left is None else [left]
    rises = [now - before for before, now in pairwise(shown)]
    assert max(rises) <= RISE + 1e-9  # a second has passed between two
    assert shown[0] == pytest.approx(98.0)
    # Half of the steps later it has left the window, and the truth is shown.
    assert shown[-1 - 10] == pytest.approx(10.0, rel=0.15)
    assert max(shown) < 160


def test_it_never_grows_by_the_minute() -> None:
    """A pace that turns out ten times slower is caught up with, but not at once."""
    clock = Clock()
    made = remaining(clock)
    shown = []
    for step in range(10, 1001, 10):
        for _ in range(1 if step <= 100 else 10):
            made.phase("train")
            clock.time += 1
            shown.append(made.left())
        made.reached(step)
    known = [value for value in shown if value is not None]
    minutes = zip(known, known[60:], strict=False)
    assert all(now - before < 60 for before, now in minutes)
