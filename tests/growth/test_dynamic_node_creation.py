"""Ash's problems: truth tables, which have no other examples than those that are learnt.

A problem counts as solved where every output of every row is right. Known minima of the hidden
layer are Ash's: n for the parity of n bits, 2 for symmetry, 3 for the sum of two numbers of 2 bits
and 3 for the encoder.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from senn_cli.growth.policies.given import flatness
from tests.resuming import go, rows

MORE = 3
"""Units above the known minimum that a solution may take."""


def parity(n: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.array(list(product((0, 1), repeat=n)))
    return x, x.sum(axis=1) % 2


def symmetry(n: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.array(list(product((0, 1), repeat=n)))
    return x, (x == x[:, ::-1]).all(axis=1).astype(int)


def addition() -> tuple[np.ndarray, np.ndarray]:
    x = np.array(list(product((0, 1), repeat=4)))
    total = x @ np.array([2, 1, 2, 1])
    return x, np.stack([total >> bit & 1 for bit in (2, 1, 0)], axis=1)


def encoder() -> tuple[np.ndarray, np.ndarray]:
    x = np.eye(8, dtype=int)
    return x, x


PROBLEMS: dict[str, tuple[tuple[np.ndarray, np.ndarray], int]] = {
    **{f"parity-{n}": (parity(n), n) for n in range(2, 7)},
    "symmetry-6": (symmetry(6), 2),
    "addition-2-2": (addition(), 3),
    "encoder-8-3-8": (encoder(), 3),
}


def solved(name: str, seed: int, place: Path) -> tuple[float, int, Path]:
    """The share of outputs that are right, the hidden units, and the run."""
    (x, y), least = PROBLEMS[name]
    place.mkdir(exist_ok=True)
    np.savez(place / "table.npz", x=2.0 * x - 1, y=y)
    task = "classification" if y.ndim == 1 else "multilabel"
    table = place / "table.npz"
    text = f"""
name: {name}
seed: {seed}
data: {{source: npz, path: "{table}", test_path: "{table}", validation: 0, normalize: none,
  task: {task}}}
network: {{kind: mlp, hidden: [1], activation: tanh, capacity: {{initial: [10]}}}}
optimizer: {{kind: adam, learning_rate: 1e-2, schedule: constant}}
expansion:
  policy: dynamic_node_creation
  every: 50 steps
  window: 500 steps
  flat: 0.05
  mean_error: 0.01
  max_error: 0.2
  max_hidden: {least + MORE}
  scale: 0.5
training: {{steps: 20000, batch_size: {len(x)}, evaluate: 5000 steps}}
checkpoints: false
"""
    run = go(text, place / f"run-{seed}")
    return run.summary["test_accuracy"], sum(run.architecture.widths), place / f"run-{seed}"


def check(name: str, seeds: range, place: Path) -> None:
    found = [solved(name, seed, place)[:2] for seed in seeds]
    assert [share for share, _ in found] == [1.0] * len(seeds)
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
    _, _, run = solved("parity-3", 1, tmp_path)
    history = rows(run / "history.jsonl")
    assert [row["step"] for row in history][:3] == [50, 100, 150]
    kept: Any = ()
    for row in history:
        if row["reason"].startswith("max_hidden"):
            break
        found = flatness(kept, row["step"], row["train_loss"], 500, 0.05)
        enough = row["reason"].startswith("mean_error")
        assert enough == (found.flat and row["train_loss"] <= 0.01)
        assert row["accepted"] == (found.flat and not enough)
        if row["accepted"]:
            assert row["keeps_function"] is False
            assert row["loss_after"] != row["loss_before"]
        kept = found.since if row["accepted"] else found.kept
    assert any(row["accepted"] for row in history)
