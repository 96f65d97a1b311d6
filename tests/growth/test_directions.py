"""Directions of new units against dense algebra and finite differences, in float64."""

from __future__ import annotations

import numpy as np
import pytest

from senn_cli.growth.directions import bottleneck, steepest

N, INPUTS, HIDDEN, OUTPUTS = 300, 5, 3, 4


class Regression:
    """A tanh network with a least-squares output layer, so that its residuals are all that is left.

    The loss is E|f - y|^2 / 2; g = f - y.
    """

    def __init__(self, fitted: bool = True) -> None:
        rng = np.random.default_rng(3)
        self.x = np.hstack([np.ones((N, 1)), rng.standard_normal((N, INPUTS))])
        self.y = rng.standard_normal((N, OUTPUTS)) + np.sin(self.x @ rng.normal(size=(6, OUTPUTS)))
        self.h = np.hstack([np.ones((N, 1)), np.tanh(self.x @ rng.normal(size=(6, HIDDEN)))])
        self.w = rng.standard_normal((1 + HIDDEN, OUTPUTS))
        if fitted:
            self.w = np.linalg.lstsq(self.h, self.y, rcond=None)[0]
        self.g = self.h @ self.w - self.y
        self.a, self.moment = self.x.T @ self.x / N, self.x.T @ self.g / N

    def loss(self, incoming: np.ndarray, outgoing: np.ndarray) -> float:
        yielded = self.h @ self.w + np.tanh(self.x @ incoming) @ outgoing
        return float(np.mean(np.sum((yielded - self.y) ** 2, axis=1)) / 2)

    def gradient(self, outgoing: np.ndarray) -> np.ndarray:
        """That of the input weights of units that read nothing, by differences; `(n, k)`."""
        incoming = np.zeros((len(self.a), len(outgoing)))
        found = np.zeros_like(incoming)
        for place in np.ndindex(*found.shape):
            step = np.zeros_like(incoming)
            step[place] = 1e-5
            found[place] = (self.loss(step, outgoing) - self.loss(-step, outgoing)) / 2e-5
        return found


def test_gradients_of_units_are_the_singular_values() -> None:
    """Length by length, so that their sum is that of the values, and that of squares theirs."""
    problem = Regression(fitted=False)
    omega, values = steepest(problem.moment, 3)
    np.testing.assert_allclose(omega @ omega.T, np.eye(3), atol=1e-12)
    wanted = np.sqrt(np.linalg.eigvalsh(problem.moment.T @ problem.moment)[::-1][:3])
    lengths = np.linalg.norm(problem.gradient(0.7 * omega), axis=0)
    np.testing.assert_allclose(lengths, 0.7 * wanted, rtol=1e-7)
    np.testing.assert_allclose(values, wanted, rtol=1e-10)
    together = np.linalg.norm(problem.gradient(0.7 * omega)) ** 2
    assert together == pytest.approx(0.49 * np.sum(wanted**2), rel=1e-7)


def test_no_orthogonal_directions_have_longer_gradients() -> None:
    problem, rng = Regression(fitted=False), np.random.default_rng(0)
    _, values = steepest(problem.moment, 2)
    for _ in range(200):
        drawn, _ = np.linalg.qr(rng.standard_normal((OUTPUTS, 2)))
        assert np.linalg.norm(problem.moment @ drawn) ** 2 <= np.sum(values**2) * (1 + 1e-12)


def test_there_are_no_more_directions_than_the_rank() -> None:
    moment = np.outer(np.arange(1.0, 7), [1.0, 0, 2]) + np.outer(np.ones(6), [0, 1.0, 0])
    omega, values = steepest(moment, 3)
    assert omega.shape == (2, 3) and values.shape == (2,)
    assert steepest(np.zeros((6, 3)), 2)[0].shape == (0, 3)


def test_the_loss_falls_by_the_squares_of_the_values() -> None:
    """d loss / d size = -sum lambda^2: a finite difference, of one unit and of all."""
    problem = Regression()
    for count in (1, 2, OUTPUTS):
        best = bottleneck(problem.a, problem.moment, count, 0.0)
        assert len(best.values) == count
        size = 1e-4
        root = np.sqrt(size)
        after = problem.loss(root * best.incoming, root * best.outgoing)
        slope = (after - problem.loss(0 * best.incoming, best.outgoing)) / size
        assert slope == pytest.approx(-np.sum(best.values**2), rel=1e-3)
        assert best.first_order(problem.moment) == pytest.approx(-np.sum(best.values**2))


def test_what_is_there_takes_part_in_the_first_order() -> None:
    """Where output weights are not at their best, `first_order` is still the difference."""
    problem = Regression(fitted=False)
    solved = np.linalg.solve(problem.h.T @ problem.h, problem.h.T @ problem.g)
    residual = problem.x.T @ (problem.g - problem.h @ solved) / N
    best = bottleneck(problem.a, residual, 2, 0.0)
    after = problem.loss(1e-2 * best.incoming, 1e-2 * best.outgoing)
    slope = (after - problem.loss(0 * best.incoming, best.outgoing)) / 1e-4
    assert best.first_order(problem.moment) == pytest.approx(slope, rel=1e-3)
    assert abs(slope + np.sum(best.values**2)) > 1e-2 * abs(slope), "not what the values alone say"


def test_the_map_is_the_best_of_its_rank() -> None:
    """sum psi omega^T = the best approximation, in the inputs' metric, of the least-squares fit."""
    problem = Regression()
    fit = -np.linalg.solve(problem.a, problem.moment)
    every = bottleneck(problem.a, problem.moment, OUTPUTS, 0.0)
    np.testing.assert_allclose(every.incoming @ every.outgoing, fit, atol=1e-10)
    two = bottleneck(problem.a, problem.moment, 2, 0.0)
    left = problem.x @ (fit - two.incoming @ two.outgoing) / np.sqrt(N)
    singular = np.linalg.svd(problem.x @ fit / np.sqrt(N), compute_uv=False)
    assert np.linalg.norm(left) ** 2 == pytest.approx(np.sum(singular[2:] ** 2))
    np.testing.assert_allclose(every.values, singular, rtol=1e-10)


def test_small_values_are_left_out() -> None:
    problem = Regression()
    values = bottleneck(problem.a, problem.moment, OUTPUTS, 0.0).values
    between = (values[1] + values[2]) / 2 / values[0]
    assert len(bottleneck(problem.a, problem.moment, OUTPUTS, between).values) == 2
