from __future__ import annotations

import numpy as np
import pytest

from senn_cli.data import regression
from senn_cli.data.dataset import Part


def load(train: int = 50, test: int = 1000, noise: float = 0.0, seed: int = 0) -> tuple[Part, Part]:
    source = regression.load(train, test, noise, [16] * 4, seed=seed)
    assert source.test is not None
    return source.train, source.test


@pytest.mark.parametrize("seed", range(5))
def test_targets_have_mean_zero_and_variance_one(seed: int) -> None:
    _, test = load(test=100_000, seed=seed)
    # A sample of this size estimates both to about 1%.
    assert abs(float(test.y.mean())) < 0.02
    assert abs(float(test.y.var()) - 1) < 0.05
    assert abs(float(test.x.mean())) < 0.02
    assert abs(float(test.x.var()) - 1) < 0.02


def test_shapes_types_and_ids() -> None:
    train, test = load()
    assert train.x.shape == train.y.shape == (50, 1)
    assert train.x.dtype == train.y.dtype == np.float32
    assert train.ids.tolist() == list(range(50))
    assert test.ids.tolist() == list(range(50, 1050))


def test_without_noise_targets_are_one_function_of_the_inputs() -> None:
    few, _ = load(train=50)
    many, _ = load(train=100)
    # The same seed has the same function and the same first points.
    assert np.array_equal(many.x[:50], few.x)
    assert np.array_equal(many.y[:50], few.y)
    train, test = load(train=20_000, test=20_000)
    order = np.argsort(train.x[:, 0])
    inner = np.abs(test.x[:, 0]) < 2
    between = np.interp(test.x[inner, 0], train.x[order, 0], train.y[order, 0])
    # Interpolating a smooth function between 20,000 points of it leaves next to nothing.
    assert np.mean((between - test.y[inner, 0]) ** 2) < 1e-4


def test_noise_has_its_standard_deviation_and_leaves_the_function() -> None:
    clean, clean_test = load(train=20_000, test=20_000)
    noisy, noisy_test = load(train=20_000, test=20_000, noise=0.1)
    assert np.array_equal(clean.x, noisy.x)
    assert abs(float((noisy.y - clean.y).std()) - 0.1) < 0.003
    assert abs(float((noisy_test.y - clean_test.y).std()) - 0.1) < 0.003


def test_seeds_have_different_functions() -> None:
    assert not np.allclose(load(seed=0)[0].y, load(seed=1)[0].y)


def test_a_neuron_by_hand() -> None:
    # sigma(2) with l = 1, v = 2, c = 2: (2 + (8 + 2) / 5) / 3 = 4/3, then 3 * 4/3 + 1 = 5
    layers = [
        regression._Layer(np.ones((1, 1)), np.zeros(1), np.array([[1.0], [2.0], [2.0]])),
        regression._Layer(np.full((1, 1), 3.0), np.ones(1), None),
    ]
    np.testing.assert_allclose(regression._evaluate(layers, np.array([2.0])), [5.0], rtol=1e-8)


def test_no_hidden_layer_is_a_straight_line() -> None:
    source = regression.load(50, 10, 0.0, [], seed=0)
    slope = source.train.y / source.train.x
    np.testing.assert_allclose(np.abs(slope), 1, atol=1e-3)
