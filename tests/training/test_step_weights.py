"""An example of weight 2 is to a step what two of weight 1 are; one of weight 0 is not there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.engine.arrays import drawn_rows
from senn_cli.engine.objective import CLASSIFICATION, REGRESSION, Objective
from senn_cli.training import natural
from senn_cli.training.optimizer import make_optimizer
from senn_cli.training.update import take_one
from tests.dense import double, network, widths_of
from tests.training.test_step import EXACT_X, LABELS, start
from tests.training.test_step_bounds import SPECS

ARCHITECTURE, PARAMS = network((3, 4, 2))
WEIGHTS = np.array([2.0, 0.0, 1.0, 3.0, 0.0, 1.0, 1.0, 0.0])
ROWS = np.repeat(np.arange(8), WEIGHTS.astype(int))
VALUES = np.random.default_rng(2).standard_normal((8, 2))


@pytest.fixture(scope="module", autouse=True)
def float64() -> Iterator[None]:
    yield from double()


@pytest.mark.parametrize("name", ["sgd", "cg", "kfac"])
@pytest.mark.parametrize("objective", [CLASSIFICATION, REGRESSION], ids=lambda o: o.loss)
def test_a_weighted_step_is_that_on_repeated_examples(
    name: str, objective: Objective, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Draws of repeated examples would differ: what is sampled is a function of the outputs.
    monkeypatch.setattr(natural, "sample_output_gradient", lambda _, y, key: jnp.sin(9 * y))
    optimizer = make_optimizer(SPECS[name], objective, 100, 1)
    y = LABELS if objective == CLASSIFICATION else VALUES

    @jax.jit
    def step(state: Any, x: Any, y: Any, weights: Any) -> Any:
        key, widths = jax.random.key(0), widths_of(ARCHITECTURE)
        shape = ARCHITECTURE.shape()
        return take_one(shape, objective, optimizer, state, widths, x, y, key, None, weights)

    state = start(ARCHITECTURE, PARAMS, optimizer, np.float64)
    weighted = step(state, EXACT_X, y, WEIGHTS)
    repeated = step(state, EXACT_X[ROWS], y[ROWS], None)
    assert len(ROWS) == len(WEIGHTS)
    for ours, theirs in zip(jax.tree.leaves(weighted), jax.tree.leaves(repeated), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_rows_are_drawn_as_often_as_they_count() -> None:
    drawn = drawn_rows(8, jnp.asarray(WEIGHTS), 40_000, jax.random.key(1))
    counts = np.bincount(drawn, minlength=8)
    # Five standard deviations of a count.
    np.testing.assert_allclose(counts, WEIGHTS * 5_000, atol=5 * np.sqrt(15_000))
    assert (counts[WEIGHTS == 0] == 0).all()
