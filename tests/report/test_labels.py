from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from senn_cli.report.labels import labels
from senn_cli.report.record import Record
from tests.handmade import record, row


def run(path: str, name: str = "a", seed: int = 0) -> Record:
    spec = {"name": name, "seed": seed, "network": {"hidden": [2]}}
    return replace(record(metrics=[row(10, [2])]), path=Path(path), spec=spec)


def test_names_are_as_short_as_they_can_be() -> None:
    assert labels([run("/x/1", "a"), run("/x/2", "b")]) == ["a", "b"]
    assert labels([run("/x/1", seed=1), run("/x/2", seed=2)]) == ["a, seed 1", "a, seed 2"]
    assert labels([run("/x/1"), run("/x/2")]) == ["1", "2"]
    assert labels([run("/x/r"), run("/y/r")]) == ["/x/r, step 10", "/y/r, step 10"]
    assert labels([run("/x/r")]) == ["a"]


def test_a_name_that_all_share_can_be_left_out() -> None:
    several = [run("/x/1", seed=1), run("/x/2", seed=2)]
    assert labels(several, seeds_alone=True) == ["seed 1", "seed 2"]
    assert labels([run("/x/1")], seeds_alone=True) == ["a"]
    assert labels([*several, run("/x/3", "b")], seeds_alone=True) == [
        "a, seed 1", "a, seed 2", "b, seed 0",
    ]  # fmt: skip
