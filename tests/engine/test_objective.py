from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.metrics import mean_poisson_deviance

from senn_cli.engine.objective import (
    CLASSIFICATION,
    MULTILABEL,
    REGRESSION,
    Objective,
    figure,
    loss_and_gradient,
)
from tests.dense import metric_matrix

RNG = np.random.default_rng(0)
LOGITS = RNG.standard_normal((6, 4)).astype(np.float32)
LABELS = np.array([0, 3, 1, 2, 2, 0], np.int32)
VALUES = RNG.standard_normal((6, 4)).astype(np.float32)
COUNTS = RNG.integers(0, 5, (6, 4)).astype(np.float32)
HUBER = {delta: Objective("huber", delta=delta) for delta in (0.3, 1.0, 3.0)}
CASES: dict[str, tuple[Objective, np.ndarray]] = {
    "cross_entropy": (CLASSIFICATION, LABELS),
    "smoothed": (Objective("cross_entropy", smoothing=0.1), LABELS),
    "bernoulli": (MULTILABEL, (COUNTS > 1).astype(np.uint8)),
    "squared": (REGRESSION, VALUES),
    "huber": (HUBER[0.3], VALUES),
    "mae": (Objective("mae"), VALUES),
    "poisson": (Objective("poisson"), COUNTS),
}


def test_cross_entropy_by_hand() -> None:
    # Probabilities 1/4, 1/4, 1/2.
    outputs = jnp.log(jnp.array([[1.0, 1.0, 2.0], [1.0, 1.0, 2.0]]))
    losses, gradients = loss_and_gradient(CLASSIFICATION, outputs, jnp.array([0, 2]))
    np.testing.assert_allclose(losses, [np.log(4), np.log(2)], rtol=1e-6)
    np.testing.assert_allclose(gradients, [[-0.75, 0.25, 0.5], [0.25, 0.25, -0.5]], rtol=1e-6)


def test_half_the_squared_error_by_hand() -> None:
    outputs, y = jnp.array([[1.0, 5.0]]), jnp.array([[4.0, 1.0]])
    losses, gradients = loss_and_gradient(REGRESSION, outputs, y)
    np.testing.assert_allclose(losses, [12.5])
    np.testing.assert_allclose(gradients, [[-3.0, 4.0]])


def test_the_losses_of_a_regression_by_hand() -> None:
    outputs, y = jnp.array([[1.0, 5.0, 2.0]]), jnp.array([[4.0, 4.5, 2.0]])
    losses, gradients = loss_and_gradient(Objective("huber", delta=2.0), outputs, y)
    np.testing.assert_allclose(losses, [2 * (3 - 1) + 0.125])
    np.testing.assert_allclose(gradients, [[-2.0, 0.5, 0.0]])
    losses, gradients = loss_and_gradient(Objective("mae"), outputs, y)
    np.testing.assert_allclose(losses, [3.5])
    np.testing.assert_allclose(gradients, [[-1.0, 1.0, 0.0]])


def test_counts_are_likeliest_at_their_own_rate() -> None:
    y = jnp.array([[3.0, 1.0, 8.0]])
    losses, gradients = loss_and_gradient(Objective("poisson"), jnp.log(y), y)
    np.testing.assert_allclose(losses, [0.0], atol=1e-5)
    np.testing.assert_allclose(gradients, np.zeros((1, 3)), atol=1e-5)
    # Twice the loss is the deviance: of counts 0 and 2 at rate 1, 2 (1 + 2 log 2 - 1).
    losses, _ = loss_and_gradient(Objective("poisson"), jnp.zeros((1, 2)), jnp.array([[0.0, 2.0]]))
    np.testing.assert_allclose(2 * losses, mean_poisson_deviance([0, 2], [1, 1]) * 2, rtol=1e-6)


def test_labels_on_their_own_by_hand() -> None:
    # Probabilities 1/4 and 4/5.
    outputs = jnp.log(jnp.array([[1 / 3, 4.0]]))
    losses, gradients = loss_and_gradient(MULTILABEL, outputs, jnp.array([[1, 1]], jnp.uint8))
    np.testing.assert_allclose(losses, [-np.log(1 / 4) - np.log(4 / 5)], rtol=1e-6)
    np.testing.assert_allclose(gradients, [[-0.75, -0.2]], rtol=1e-6)


def test_smoothed_labels_are_a_mixture() -> None:
    smoothed = Objective("cross_entropy", smoothing=0.2)
    found, _ = loss_and_gradient(smoothed, LOGITS, LABELS)
    every = [loss_and_gradient(CLASSIFICATION, LOGITS, np.full(6, c))[0] for c in range(4)]
    own, _ = loss_and_gradient(CLASSIFICATION, LOGITS, LABELS)
    np.testing.assert_allclose(found, 0.8 * own + 0.2 * np.mean(every, axis=0), rtol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_the_derivatives(name: str) -> None:
    objective, y = CASES[name]
    derivative = jax.grad(lambda z: jnp.sum(loss_and_gradient(objective, z, y)[0]))(LOGITS)
    np.testing.assert_allclose(loss_and_gradient(objective, LOGITS, y)[1], derivative, atol=1e-6)


@pytest.mark.parametrize("name", ["cross_entropy", "smoothed", "squared", "bernoulli", "poisson"])
def test_the_metric_is_the_curvature_of_the_loss(name: str) -> None:
    """Of distributions of the exponential family, by their natural parameters."""
    objective, y = CASES[name]
    hessian = jax.hessian(lambda z: loss_and_gradient(objective, z[None], y[:1])[0][0])(LOGITS[0])
    expected = metric_matrix(objective.metric, LOGITS[:1])[0]
    np.testing.assert_allclose(hessian, expected, atol=1e-6)


@pytest.mark.parametrize("objective", [Objective("mae"), *(HUBER[d] for d in (0.3, 1.0, 3.0))])
def test_the_metric_is_the_fisher_information_of_what_the_output_shifts(
    objective: Objective,
) -> None:
    """E[(dL/do)^2] and, where the loss is smooth, E[d^2L/do^2] under the density exp(-L)."""
    e = np.linspace(-60, 60, 2_400_001)
    losses, gradients = (
        np.asarray(a, np.float64).reshape(-1)
        for a in loss_and_gradient(objective, jnp.asarray(e)[:, None], jnp.zeros((len(e), 1)))
    )
    density = np.exp(-losses)
    information = (gradients**2 @ density) / density.sum()
    assert objective.metric == pytest.approx(information, rel=1e-4)


def test_eta_is_twice_the_gain_of_a_regression() -> None:
    # With outputs as the parameters: eta = mean |g|^2, and the best loss is 0.
    losses, gradients = loss_and_gradient(REGRESSION, LOGITS, VALUES)
    eta = jnp.mean(jnp.sum(gradients**2, axis=1))
    np.testing.assert_allclose(eta / 2, jnp.mean(losses), rtol=1e-6)


def test_extreme_outputs_have_finite_losses_and_gradients() -> None:
    outputs = jnp.array([[1e4, -1e4, 0.0], [1e4, -1e4, 0.0]])
    losses, gradients = loss_and_gradient(CLASSIFICATION, outputs, jnp.array([0, 1]))
    np.testing.assert_allclose(losses, [0.0, 2e4])
    np.testing.assert_allclose(gradients, [[0.0, 0.0, 0.0], [1.0, -1.0, 0.0]])


def test_figures() -> None:
    outputs = jnp.array([[0.1, 0.9, 0.0], [3.0, -1.0, 2.0], [0.0, 0.0, 1.0]])
    found = figure(CLASSIFICATION, outputs, jnp.array([1, 2, 2]))
    np.testing.assert_array_equal(found, [1.0, 0.0, 1.0])
    found = figure(MULTILABEL, outputs, jnp.array([[1, 1, 0], [0, 0, 1], [0, 1, 0]]))
    np.testing.assert_allclose(found, [2 / 3 + 1 / 3, 2 / 3, 1 / 3], rtol=1e-6)
    found = figure(REGRESSION, jnp.array([[1.0, 5.0]]), jnp.array([[4.0, 1.0]]))
    np.testing.assert_allclose(found, [12.5])
