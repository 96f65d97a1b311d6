from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.engine.objective import Task, default_metric, figure, loss_and_gradient
from tests.dense import metric_matrix

RNG = np.random.default_rng(0)
LOGITS = RNG.standard_normal((6, 4)).astype(np.float32)
LABELS = np.array([0, 3, 1, 2, 2, 0], np.int32)
VALUES = RNG.standard_normal((6, 4)).astype(np.float32)
CASES = [("classification", LABELS), ("regression", VALUES)]


def test_cross_entropy_by_hand() -> None:
    # Probabilities 1/4, 1/4, 1/2.
    outputs = jnp.log(jnp.array([[1.0, 1.0, 2.0], [1.0, 1.0, 2.0]]))
    losses, gradients = loss_and_gradient("classification", outputs, jnp.array([0, 2]))
    np.testing.assert_allclose(losses, [np.log(4), np.log(2)], rtol=1e-6)
    np.testing.assert_allclose(gradients, [[-0.75, 0.25, 0.5], [0.25, 0.25, -0.5]], rtol=1e-6)


def test_half_the_squared_error_by_hand() -> None:
    outputs, y = jnp.array([[1.0, 5.0]]), jnp.array([[4.0, 1.0]])
    losses, gradients = loss_and_gradient("regression", outputs, y)
    np.testing.assert_allclose(losses, [12.5])
    np.testing.assert_allclose(gradients, [[-3.0, 4.0]])


@pytest.mark.parametrize("task, y", CASES)
def test_gradients_are_the_derivatives(task: Task, y: np.ndarray) -> None:
    derivative = jax.grad(lambda z: jnp.sum(loss_and_gradient(task, z, y)[0]))(LOGITS)
    np.testing.assert_allclose(loss_and_gradient(task, LOGITS, y)[1], derivative, atol=1e-6)


@pytest.mark.parametrize("task, y", CASES)
def test_the_default_metric_is_the_losses_curvature(task: Task, y: np.ndarray) -> None:
    hessian = jax.hessian(lambda z: loss_and_gradient(task, z[None], y[:1])[0][0])(LOGITS[0])
    expected = metric_matrix(default_metric(task), LOGITS[:1])[0]
    np.testing.assert_allclose(hessian, expected, atol=1e-6)


def test_eta_is_twice_the_gain_of_a_regression() -> None:
    # With outputs as the parameters: eta = mean |g|^2, and the best loss is 0.
    losses, gradients = loss_and_gradient("regression", LOGITS, VALUES)
    eta = jnp.mean(jnp.sum(gradients**2, axis=1))
    np.testing.assert_allclose(eta / 2, jnp.mean(losses), rtol=1e-6)


def test_extreme_outputs_have_finite_losses_and_gradients() -> None:
    outputs = jnp.array([[1e4, -1e4, 0.0], [1e4, -1e4, 0.0]])
    losses, gradients = loss_and_gradient("classification", outputs, jnp.array([0, 1]))
    np.testing.assert_allclose(losses, [0.0, 2e4])
    np.testing.assert_allclose(gradients, [[0.0, 0.0, 0.0], [1.0, -1.0, 0.0]])


def test_figures() -> None:
    outputs = jnp.array([[0.1, 0.9, 0.0], [3.0, -1.0, 2.0], [0.0, 0.0, 1.0]])
    found = figure("classification", outputs, jnp.array([1, 2, 2]))
    np.testing.assert_array_equal(found, [1.0, 0.0, 1.0])
    found = figure("regression", jnp.array([[1.0, 5.0]]), jnp.array([[4.0, 1.0]]))
    np.testing.assert_allclose(found, [12.5])
