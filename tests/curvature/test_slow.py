"""Slow gradients against a plain loop over batches, row by row."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.curvature import slow
from senn_cli.curvature.slow import SlowGradient

SEEDS = st.integers(0, 2**32 - 1)


def loop(
    batches: list[np.ndarray], turns: list[int], rows: list[np.ndarray], rate: float
) -> tuple[np.ndarray, np.ndarray]:
    """Averages and ages, one row after the other."""
    n, m = batches[0].shape
    average, ages = np.zeros((2, n, m)), np.zeros((2, n), int)
    for gradient, turn, seen in zip(batches, turns, rows, strict=True):
        for row in range(n):
            if seen[row]:
                ages[turn, row] += 1
                weight = max(1 / ages[turn, row], rate)
                average[turn, row] = (1 - weight) * average[turn, row] + weight * gradient[row]
    return average, ages


def followed(
    batches: list[np.ndarray], turns: list[int], rows: list[np.ndarray], rate: float
) -> SlowGradient:
    state = slow.initial({"map": batches[0].shape})
    for gradient, turn, seen in zip(batches, turns, rows, strict=True):
        state = slow.seen(
            state,
            {"map": jnp.asarray(gradient, jnp.float32)},
            jnp.int32(turn),
            rate,
            {"map": jnp.asarray(seen)},
        )
    return state


@settings(max_examples=15)
@given(seed=SEEDS, rate=st.sampled_from([0.01, 0.2, 1.0]))
def test_it_is_the_loop(seed: int, rate: float) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 25))
    batches = list(rng.standard_normal((count, 4, 3)))
    turns = [int(t) for t in rng.integers(0, 2, count)]
    rows = list(rng.random((count, 4)) < 0.7)
    found = followed(batches, turns, rows, rate)
    average, ages = loop(batches, turns, rows, rate)
    np.testing.assert_allclose(found.averages["map"], average, atol=1e-5)
    np.testing.assert_array_equal(found.ages["map"], ages)
    assert found.averages["map"].dtype == jnp.float32 and found.ages["map"].dtype == jnp.int32


def test_nothing_is_seen_at_first() -> None:
    state = slow.initial({"one": (3, 2), "two": (5, 4)})
    assert state.averages["one"].shape == (2, 3, 2) and state.averages["two"].shape == (2, 5, 4)
    for leaf in jax.tree.leaves(state):
        assert not np.asarray(leaf).any()


def test_young_averages_are_means_and_old_ones_forget_at_the_rate() -> None:
    rng = np.random.default_rng(0)
    batches = list(rng.standard_normal((12, 2, 3)))
    everything = [np.ones(2, bool)] * 12
    # Ten batches at a rate of 1/100: the plain mean of all ten, for each turn its own.
    found = followed(batches[:10], [i % 2 for i in range(10)], everything[:10], 0.01)
    for turn in range(2):
        mean = np.mean(batches[turn:10:2], axis=0)
        np.testing.assert_allclose(found.averages["map"][turn], mean, atol=1e-6)
    # After 1/rate batches a batch k ago counts (1 - rate)^k times as much as the last one.
    rate, impulse = 0.25, np.zeros((1, 1))
    sequence = [impulse] * 8 + [impulse + 1.0] + [impulse] * 3
    late = followed(sequence, [0] * 12, [np.ones(1, bool)] * 12, rate)
    assert float(late.averages["map"][0, 0, 0]) == pytest.approx(rate * (1 - rate) ** 3, rel=1e-5)
    assert not np.asarray(late.averages["map"][1]).any()


def test_the_averages_of_equal_noise_are_unbiased_and_independent() -> None:
    rng = np.random.default_rng(1)
    draws, count, rate = 3000, 9, 0.2
    truth = np.array([[1.0, -2.0]])
    noise = rng.standard_normal((count, draws, 2))

    def one(gradients: jax.Array) -> Any:
        state = slow.initial({"map": (1, 2)})
        for number in range(count):
            gradient = {"map": jnp.asarray(truth, jnp.float32) + gradients[number][None]}
            every = {"map": jnp.ones(1, bool)}
            state = slow.seen(state, gradient, jnp.int32(number % 2), rate, every)
        return state.averages["map"][:, 0]

    found = np.asarray(jax.jit(jax.vmap(one, in_axes=1))(jnp.asarray(noise, jnp.float32)))
    for turn in range(2):
        error = 5 * found[:, turn].std(axis=0) / np.sqrt(draws)
        assert (np.abs(found[:, turn].mean(axis=0) - truth[0]) < error).all()
    product = (found[:, 0] * found[:, 1]).sum(axis=1)
    square = (found[:, 0] ** 2).sum(axis=1)
    # The product of both estimates |truth|^2 = 5; a square has the noise on top.
    assert abs(product.mean() - 5.0) < 5 * product.std() / np.sqrt(draws)
    assert square.mean() - 5.0 > 10 * square.std() / np.sqrt(draws)


def test_rows_that_a_batch_says_nothing_of_stay_even_beside_what_is_not_finite() -> None:
    state = followed([np.ones((2, 2))], [0], [np.ones(2, bool)], 0.1)
    gradient = {"map": jnp.asarray([[3.0, 3.0], [5.0, 5.0]])}
    after = slow.seen(state, gradient, jnp.int32(0), 0.1, {"map": jnp.asarray([True, False])})
    np.testing.assert_allclose(after.averages["map"][0], [[2.0, 2.0], [1.0, 1.0]])
    np.testing.assert_array_equal(after.ages["map"], [[2, 1], [0, 0]])
    np.testing.assert_array_equal(after.averages["map"][1], 0.0)
