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
