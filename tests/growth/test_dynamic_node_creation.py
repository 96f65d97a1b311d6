"""Ash's problems: truth tables, which have no other examples than those that are learnt.

They, their smallest known hidden layers and the settings are those of `benchmarks/dnc.py`.
"""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from senn_cli.growth.policies.given import flatness
from senn_cli.spec.load import from_values
from senn_cli.training.run import train_run
from tests.resuming import rows

BENCHMARK = run_path(str(Path(__file__).parents[2] / "benchmarks" / "dnc.py"))
PROBLEMS, MORE = BENCHMARK["PROBLEMS"], BENCHMARK["MORE"]


def check(name: str, seeds: range, place: Path) -> None:
    found = [BENCHMARK["solved"](name, seed, place) for seed in seeds]
    assert all(right for right, _ in found)
    assert max(units for _, units in found) <= PROBLEMS[name][1] + MORE


@pytest.mark.parametrize("name", ["parity-2", "parity-3"])
def test_small_parities_are_solved(name: str, tmp_path: Path) -> None:
    check(name, range(1), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_is_solved_from_twenty_seeds(name: str, tmp_path: Path) -> None:
    check(name, range(20), tmp_path)


def test_a_unit_comes_when_the_loss_is_flat_and_growth_ends_with_it(tmp_path: Path) -> None:
    """Every decision follows from the losses in the history by Ash's criterion."""
    values = BENCHMARK["spec_of"]("parity-3", 1, tmp_path / "table.npz")
    window, flat = values["expansion"]["window"]["steps"], values["expansion"]["flat"]
    spec = from_values(values)
    train_run(spec, run_directory=tmp_path / "run")
    history = rows(tmp_path / "run" / "history.jsonl")
    assert [row["step"] for row in history][:3] == [50, 100, 150]
    kept: Any = ()
    for row in history:
        if row["reason"].startswith("max_hidden"):
            break
        found = flatness(kept, row["step"], row["train_loss"], window, flat)
        enough = row["reason"].startswith("mean_error")
        assert enough == (found.flat and row["train_loss"] <= 0.01)
        assert row["accepted"] == (found.flat and not enough)
        if row["accepted"]:
            assert row["keeps_function"] is False
            assert row["loss_after"] != row["loss_before"]
        kept = found.since if row["accepted"] else found.kept
    assert any(row["accepted"] for row in history)
