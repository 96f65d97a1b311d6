from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.growth import ascent

pytestmark = pytest.mark.usefixtures("double")


def starts(count: int, seed: int = 0, scale: float = 1.0) -> dict[str, np.ndarray]:
    """Proposals as a tree with leaves of different ranks."""
    rng = np.random.default_rng(seed)
    return {
        "w": scale * rng.standard_normal((count, 2, 2)),
        "b": scale * rng.standard_normal((count, 3)),
    }


def distance(p: Any, centre: float) -> jax.Array:
    return jnp.sum((p["w"] - centre) ** 2, axis=(1, 2)) + jnp.sum((p["b"] - centre) ** 2, axis=1)


def hilly(p: Any) -> jax.Array:
    return jnp.sin(5 * distance(p, 0.3)) - 0.2 * distance(p, 1.0)


def test_adam_climbs_to_the_top() -> None:
    def score(p: Any) -> jax.Array:
        return 1e-3 * (7.0 - distance(p, 0.5))

    start = starts(5)
    end, told = jax.jit(partial(ascent.adam, score, steps=300, learning_rate=0.1))(start)
    np.testing.assert_allclose(told, score(end), rtol=1e-10)
    assert np.all(np.asarray(score(end)) > np.asarray(score(start)))
    for leaf in end.values():
        np.testing.assert_allclose(leaf, 0.5, atol=0.01)


def test_adam_treats_proposals_independently() -> None:
    start = starts(4)
    run = jax.jit(partial(ascent.adam, hilly, steps=20, learning_rate=0.05))
    whole, _ = run(start)
    alone, _ = run({k: v[1:2] for k, v in start.items()})
    for name, leaf in alone.items():
        np.testing.assert_allclose(whole[name][1:2], leaf, rtol=1e-10)


def test_proposals_that_are_scored_in_turn_climb_as_together() -> None:
    start = starts(4)

    def alone(p: Any) -> jax.Array:
        return hilly(jax.tree.map(lambda x: x[None], p))[0]

    ends = [
        jax.jit(partial(ascent.adam, objective, steps=20, learning_rate=0.05))(start)
        for objective in (hilly, ascent.InTurn(alone))
    ]
    for ours, theirs in zip(*map(jax.tree.leaves, ends), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8)


@pytest.mark.parametrize("learning_rate", [0.01, 1.0, 100.0])
def test_gradient_ascent_never_lowers_a_score(learning_rate: float) -> None:
    start = starts(20)
    values = [np.asarray(hilly(start))]
    for steps in (1, 2, 5, 30):
        run = partial(ascent.gradient_ascent, hilly, steps=steps, learning_rate=learning_rate)
        # A longer run begins like a shorter one, so these are moments of the same ascent.
        values.append(np.asarray(hilly(jax.jit(run)(start))))
    assert np.all(np.diff(values, axis=0) >= 0)
    assert np.all(values[-1] > values[0])


def test_gradient_ascent_divides_the_rate_by_three_after_a_bad_step() -> None:
    # -x^2 with rate r: x -> (1 - 2 r) x. Rate 3.3 overshoots, so does 1.1; 3.3 / 9 does not.
    def score(p: jax.Array) -> jax.Array:
        return -jnp.sum(p**2, axis=1)

    ends = [
        float(ascent.gradient_ascent(score, jnp.ones((1, 1)), steps=n, learning_rate=3.3)[0, 0])
        for n in (1, 2, 3, 4)
    ]
    shrink = 1 - 2 * 3.3 / 9
    np.testing.assert_allclose(ends, [1.0, 1.0, shrink, shrink**2], rtol=1e-12)


def test_gradient_ascent_survives_a_score_that_is_not_a_number() -> None:
    def score(p: jax.Array) -> jax.Array:
        return jnp.log(2.0 - p[:, 0]) + 5.0 * p[:, 0]

    end = ascent.gradient_ascent(score, jnp.zeros((1, 1)), steps=60, learning_rate=1.0)
    assert float(end[0, 0]) == pytest.approx(1.8, abs=0.05)


CHAINS = 4000


@pytest.mark.parametrize(
    ("stiffness", "centre", "temperature"), [(0.0, 0.0, 1.0), (3.0, 1.0, 1.0), (6.0, -1.0, 2.0)]
)
def test_mala_samples_the_posterior_of_a_gaussian(
    stiffness: float, centre: float, temperature: float
) -> None:
    def score(p: Any) -> jax.Array:
        return -0.5 * stiffness * distance(p, centre)

    start = jax.tree.map(lambda x: x + 2.0, starts(CHAINS, seed=1, scale=0.1))
    run = partial(ascent.mala, score, steps=150, temperature=temperature)
    end = jax.jit(run)(start, jax.random.key(0))
    precision = 1.0 + stiffness / temperature
    mean = stiffness / temperature * centre / precision
    for leaf in end.values():
        values = np.asarray(leaf).reshape(CHAINS, -1)
        error = np.sqrt(1 / precision / values.size)
        # The step size adapts all the time, which bends the distribution a little.
        assert abs(values.mean() - mean) < 5 * error + 0.02 / np.sqrt(precision)
        assert values.var() == pytest.approx(1 / precision, rel=0.08)


def test_mala_drifts_uphill() -> None:
    # A sampler with the drift's sign turned would still be right in the end, only slow.
    # One step from x: E[x' - x] by quadrature over the proposal, acceptance included.
    eps, x, chains = 0.3, 2.0, 200_000

    def log_density(y: np.ndarray) -> np.ndarray:
        return -2.0 * y**2 - 0.5 * y**2  # score -4 y^2 at temperature 2, and the prior

    def mean(y: np.ndarray) -> np.ndarray:
        return y + 0.5 * eps**2 * (-5.0 * y)

    y = np.linspace(mean(x) - 8 * eps, mean(x) + 8 * eps, 20_001)
    forward = -((y - mean(x)) ** 2) / (2 * eps**2)
    backward = -((x - mean(y)) ** 2) / (2 * eps**2)
    accept = np.minimum(1.0, np.exp(log_density(y) - log_density(x) + backward - forward))
    weight = np.exp(forward) / np.exp(forward).sum()
    expected = np.sum(weight * accept * (y - x))
    assert expected < -0.3

    run = partial(
        ascent.mala, lambda p: -4.0 * p[:, 0] ** 2, steps=1, temperature=2.0, step_size=eps
    )
    end = jax.jit(run)(jnp.full((chains, 1), x), jax.random.key(1))
    moved = np.asarray(end)[:, 0] - x
    assert moved.mean() == pytest.approx(expected, abs=5 * moved.std() / np.sqrt(chains))
    assert np.mean(moved != 0) == pytest.approx(np.sum(weight * accept), abs=0.01)


def test_mala_is_a_function_of_its_key() -> None:
    run = jax.jit(partial(ascent.mala, hilly, steps=20, temperature=1.0))
    start = starts(3)
    first, again = run(start, jax.random.key(0)), run(start, jax.random.key(0))
    other = run(start, jax.random.key(1))
    for name in start:
        np.testing.assert_array_equal(first[name], again[name])
        assert np.any(first[name] != other[name])
