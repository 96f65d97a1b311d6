from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from senn_cli.growth.policies.dormant_round import within
from senn_cli.growth.standing import StandingSettings, last_redraws, standing
from senn_cli.nets.architecture import Layer
from senn_cli.nets.mlp import MlpArchitecture

SETTINGS = StandingSettings(neurons=50, activate=0.1, prune=0.1, redraw=0.3)
NET = MlpArchitecture(4, 2, (Layer(5, 8, "rational"), Layer(3, 8, "tanh")))


def likely(count: int, trials: int, probability: float) -> bool:
    """Whether a binomial count is within bounds that it leaves once in a billion times."""
    low, high = stats.binom.interval(1 - 1e-9, trials, probability)
    return bool(low <= count <= high)


def test_probability_within_some_steps() -> None:
    assert within(0.25, 1) == 0.25
    assert within(0.5, 3) == 0.875
    assert (within(0.0, 9), within(1.0, 9)) == (0.0, 1.0)


@pytest.mark.parametrize("probability", [0.1, 0.7])
def test_slots_are_drawn_anew_with_the_given_probability_an_epoch(probability: float) -> None:
    at = [
        np.stack([last_redraws(seed, 0, 40, epoch, probability) for epoch in range(8)])
        for seed in range(60)
    ]
    redrawn = sum(int(np.sum(now[1:] == np.arange(1, 8)[:, None])) for now in at)
    assert likely(redrawn, 60 * 7 * 40, probability)
    for now in at:
        # What has not been redrawn stays what it was.
        same = now[1:] != np.arange(1, 8)[:, None]
        np.testing.assert_array_equal(now[1:][same], now[:-1][same])
        np.testing.assert_array_equal(now[0], 0)


def test_never_and_always() -> None:
    np.testing.assert_array_equal(last_redraws(0, 0, 5, 1000, 0.0), 0)
    np.testing.assert_array_equal(last_redraws(0, 0, 5, 7, 1.0), 7)


def test_layers_and_seeds_have_their_own() -> None:
    one = last_redraws(0, 0, 50, 9, 0.3)
    assert np.any(one != last_redraws(0, 1, 50, 9, 0.3))
    assert np.any(one != last_redraws(1, 0, 50, 9, 0.3))


def test_proposals_stand_until_they_are_redrawn() -> None:
    before, after = (standing(SETTINGS, NET, 0, 0, epoch) for epoch in (4, 5))
    redrawn = last_redraws(0, 0, 50, 5, 0.3) == 5
    assert 0 < redrawn.sum() < 50
    same = np.all(before.weights == after.weights, axis=1)
    np.testing.assert_array_equal(same, ~redrawn)
    np.testing.assert_array_equal(np.all(before.coefficients == after.coefficients, axis=1), same)


def test_proposals_come_from_the_initial_distribution() -> None:
    many = standing(replace(SETTINGS, neurons=2000), NET, 3, 0, 0)
    assert many.weights.shape == (2000, 5) and many.coefficients.shape == (2000, 3)
    # LeCun normal kernels on 4 inputs, unit normal biases and coefficients.
    assert many.weights[:, 1:].std() == pytest.approx(0.5, rel=0.05)
    assert many.weights[:, 0].std() == pytest.approx(1.0, rel=0.05)
    assert many.coefficients.std() == pytest.approx(1.0, rel=0.05)
    assert len(np.unique(many.weights[:, 0])) == 2000
    tanh = standing(SETTINGS, NET, 3, 1, 0)
    assert tanh.weights.shape == (50, 6)
    assert not tanh.weights[:, 0].any() and not tanh.coefficients.any()


def test_capacity_does_not_matter_and_widths_do() -> None:
    def weights(architecture: MlpArchitecture) -> np.ndarray:
        return np.asarray(standing(SETTINGS, architecture, 0, 0, 3).weights)

    np.testing.assert_array_equal(weights(NET), weights(NET.with_layer(0, capacity=20)))
    np.testing.assert_array_equal(weights(NET), weights(NET.with_layer(1, width=4)))
    assert np.all(weights(NET) != weights(NET.with_layer(0, width=6)))
