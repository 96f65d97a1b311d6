from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from senn_cli.spec import parse_spec
from senn_cli.training.assemble import make_timetable
from senn_cli.training.snapshot import GrowthMemory
from senn_cli.training.timetable import Timetable

TABLE = Timetable(
    total=100,
    minutes=None,
    per_epoch=10,
    evaluate=10,
    grow=15,
    grow_start=30,
    grow_until=75,
    layer_every=40,
)

tables = st.builds(
    Timetable,
    total=st.none() | st.integers(1, 60),
    minutes=st.none(),
    per_epoch=st.just(7),
    evaluate=st.integers(1, 20),
    grow=st.integers(1, 20),
    grow_start=st.integers(0, 30),
    grow_until=st.none() | st.integers(0, 60),
    layer_every=st.just(0),
)


def test_stops_by_hand() -> None:
    assert TABLE.next_stop(0, 4096) == 10
    assert TABLE.next_stop(10, 4096) == 15
    assert TABLE.next_stop(10, 2) == 12
    assert TABLE.next_stop(90, 4096) == 100
    assert replace(TABLE, total=93).next_stop(90, 4096) == 93
    assert replace(TABLE, total=None).next_stop(100, 4096) == 105


def test_rows_of_metrics() -> None:
    assert [s for s in range(1, 101) if TABLE.evaluates(s)] == list(range(10, 101, 10))
    # The last step has a row even where none is due.
    assert [s for s in range(1, 24) if replace(TABLE, total=23).evaluates(s)] == [10, 20, 23]


def test_growth_rounds() -> None:
    assert [s for s in range(1, 101) if TABLE.grows(s)] == [30, 45, 60, 75]
    free = replace(TABLE, grow_start=0, grow_until=None)
    assert [s for s in range(1, 101) if free.grows(s)] == [15, 30, 45, 60, 75, 90]
    assert not replace(free, total=90).grows(90), "what is added last could not be trained"


@pytest.mark.parametrize(("until", "last"), [("null", 7), ("2 epochs", 2), ("9 epochs", 7)])
def test_nothing_grows_while_the_rate_of_wsd_falls(until: str, last: int) -> None:
    spec = parse_spec(
        "data: digits\nnetwork: mlp\noptimizer: {schedule: {kind: wsd, decay: 0.25}}\n"
        f"expansion: {{until: {until}}}\ntraining: {{epochs: 10}}\n"
    )
    table = make_timetable(spec, per_epoch=4)
    assert [s for s in range(1, 41) if table.grows(s)] == list(range(4, 4 * last + 1, 4))


def rounds(table: Timetable, added: set[int], end: int = 200) -> list[int]:
    """The rounds up to a step, of which those at `added` add something."""
    found, idle, rest = list[int](), 0, 0
    for step in range(1, end + 1):
        if table.due(step, rest, None):
            found.append(step)
            idle = 0 if step in added else idle + 1
            rest = step + table.rest(idle)
    return found


def test_rounds_that_add_nothing_become_rarer() -> None:
    """Twice the way after each, up to `thin_to`; as at first after one that adds something."""
    table = replace(TABLE, total=None, grow=5, grow_start=0, grow_until=None, thin_to=40)
    assert rounds(table, {5, 10}) == [5, 10, 15, 25, 45, 85, 125, 165]
    assert rounds(table, {5, 45}) == [5, 10, 20, 40, 80, 120, 160, 200]
    assert rounds(table, {5, 40}) == [5, 10, 20, 40, 45, 55, 75, 115, 155, 195]
    # No multiple: not beyond it. Shorter than `grow`, or none: always the same.
    assert rounds(replace(table, thin_to=14), set(), 60) == [5, 15, 25, 35, 45, 55]
    for every in (3, None):
        assert rounds(replace(table, thin_to=every), set(), 30) == [5, 10, 15, 20, 25, 30]


def test_the_next_round() -> None:
    """The first that is due, none where growth or the run has ended before."""
    assert [TABLE.next_round(s, 0, None) for s in (0, 30, 44, 60, 75)] == [30, 45, 45, 75, None]
    assert TABLE.next_round(30, 61, None) == 75
    assert TABLE.next_round(30, 76, None) is None
    assert TABLE.next_round(30, 0, 30) is None
    assert replace(TABLE, after_end=True).next_round(30, 0, 30) == 45  # to take units out
    assert replace(TABLE, grow_until=None, total=80).next_round(75, 0, None) is None
    assert replace(TABLE, grow=None).next_round(0, 0, None) is None


def test_the_last_look_before_a_step() -> None:
    table = replace(TABLE, track=20)  # and before every round: 30, 45, 60, 75
    assert [table.looked(s) for s in (1, 20, 21, 30, 31, 40, 46, 80)] == [
        0, 0, 20, 20, 30, 30, 45, 75,
    ]  # fmt: skip


@given(tables, st.integers(1, 9))
def test_going_from_stop_to_stop_misses_nothing(table: Timetable, most: int) -> None:
    end = table.total or 60
    step, stops = 0, []
    while step < end:
        before, step = step, table.next_stop(step, most)
        assert before < step <= before + most
        stops.append(step)
    if table.total is not None:
        assert step == table.total
    due = [s for s in range(1, end + 1) if table.evaluates(s) or table.grows(s)]
    assert set(due) <= set(stops)


def test_the_cooldown_of_layers() -> None:
    memory = GrowthMemory()
    assert memory.layer_allowed(0, 40)
    memory = GrowthMemory(last_layer_step=30)
    assert [s for s in (30, 69, 70, 71) if memory.layer_allowed(s, 40)] == [70, 71]
    assert memory.layer_allowed(30, 0)
