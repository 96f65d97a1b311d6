from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from senn_cli.growth import objective
from senn_cli.growth.objective import SHARE, Neurons

pytestmark = pytest.mark.usefixtures("double")

N, D, M, P = 200, 4, 3, 6


def basis(z: np.ndarray) -> np.ndarray:
    return np.stack([z, 1 / (1 + z**2), z / (1 + z**2)], axis=-1)


def setting(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A source with the constant in front, residuals that depend on it, and weights."""
    rng = np.random.default_rng(seed)
    v = np.concatenate([np.ones((N, 1)), rng.standard_normal((N, D - 1))], axis=1)
    r = np.sin(2 * v @ rng.standard_normal((D, M))) + 0.3 * rng.standard_normal((N, M))
    return v, r, 1.5 * rng.standard_normal((P, D))


def moments(w: np.ndarray, v: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    phi = basis(v @ w)
    return phi.T @ r / N, phi.T @ phi / N


def best_quotient(w: np.ndarray, v: np.ndarray, r: np.ndarray) -> float:
    """The largest |c^T N|^2 / c^T M c over coefficients c, by SciPy."""
    cross, moment = moments(w, v, r)
    return float(scipy.linalg.eigh(cross @ cross.T, moment, eigvals_only=True)[-1])


def test_the_best_coefficients_maximise_the_rayleigh_quotient() -> None:
    v, r, weights = setting()
    rng = np.random.default_rng(1)
    for w in weights:
        cross, moment = moments(w, v, r)
        c = np.asarray(objective.best_coefficients(cross, moment))
        damped = moment + SHARE * np.trace(moment) / 3 * np.eye(3)
        top = scipy.linalg.eigh(cross @ cross.T, damped, eigvals_only=True)[-1]
        assert np.sum((c @ cross) ** 2) / (c @ damped @ c) == pytest.approx(top, rel=1e-9)
        reached = np.sum((c @ cross) ** 2) / (c @ moment @ c)
        assert reached == pytest.approx(best_quotient(w, v, r), rel=1e-3)
        for other in rng.standard_normal((50, 3)):
            assert np.sum((other @ cross) ** 2) / (other @ damped @ other) <= top * (1 + 1e-9)


def test_the_best_coefficients_have_unit_second_moment_and_one_sign() -> None:
    v, r, weights = setting(2)
    for w in weights:
        cross, moment = moments(w, v, r)
        c = np.asarray(objective.best_coefficients(cross, moment))
        assert c @ moment @ c == pytest.approx(1.0, rel=0.02)
        assert c[0] >= 0
        np.testing.assert_allclose(objective.best_coefficients(-cross, moment), c, rtol=1e-8)


def test_the_best_coefficients_of_a_single_output() -> None:
    v, r, weights = setting(3)
    cross, moment = moments(weights[0], v, r[:, :1])
    c = np.asarray(objective.best_coefficients(cross, moment))
    # With one output the maximum is at M^-1 N.
    expected = np.linalg.solve(moment + SHARE * np.trace(moment) / 3 * np.eye(3), cross[:, 0])
    cosine = c @ expected / np.linalg.norm(c) / np.linalg.norm(expected)
    assert abs(cosine) == pytest.approx(1.0, abs=1e-9)


def test_the_closed_form_is_the_maximised_lower_bound() -> None:
    v, r, weights = setting(4)
    found, scores = objective.closed_form("rational", weights, v, r)
    for w, value in zip(weights, scores, strict=True):
        assert float(value) == pytest.approx(best_quotient(w, v, r), rel=1e-3)
    # The coefficients that it returns are those of the score that it returns.
    again = objective.neuron_score("rational", found, v, r)
    np.testing.assert_allclose(again, scores, rtol=1e-10)


def test_the_gradient_of_the_closed_form_is_that_of_the_maximum() -> None:
    v, r, weights = setting(5)

    def total(w: jax.Array) -> jax.Array:
        return jnp.sum(objective.closed_form("rational", w, v, r)[1])

    gradient = np.asarray(jax.grad(total)(weights))
    for p, j in [(0, 0), (1, 2), (3, 1), (5, 3)]:
        step = np.zeros(D)
        step[j] = 1e-5
        up, down = (best_quotient(weights[p] + sign * step, v, r) for sign in (1, -1))
        scale = np.abs(gradient[p]).max()
        assert gradient[p, j] == pytest.approx((up - down) / 2e-5, abs=0.01 * scale)


@pytest.mark.parametrize("name", ["silu", "tanh"])
def test_activations_without_coefficients(name: Any) -> None:
    v, r, weights = setting(6)
    z = v @ weights.T
    a_p = np.tanh(z) if name == "tanh" else z / (1 + np.exp(-z))
    expected = np.sum((a_p.T @ r / N) ** 2, axis=1) / np.mean(a_p**2, axis=0)
    _, scores = objective.closed_form(name, weights, v, r)
    np.testing.assert_allclose(scores, expected, rtol=2 * SHARE)
    ours = objective.neuron_score(name, Neurons(weights, jnp.zeros((P, 3))), v, r)
    np.testing.assert_allclose(ours, scores, rtol=1e-12)


def test_the_score_of_a_layer() -> None:
    v, r, _ = setting(7)
    rng = np.random.default_rng(8)
    q = D - 1
    layer = Neurons(rng.standard_normal((q, D)), rng.standard_normal((q, 3)))
    a_q = np.einsum("nqk,qk->nq", basis(v @ layer.weights.T), layer.coefficients)
    moment = a_q.T @ r / N
    trace = np.trace(moment.T @ np.linalg.solve(a_q.T @ a_q / N, moment))
    penalty = np.log(abs(np.linalg.det(layer.weights[:, 1:]))) ** 2
    ours = float(objective.layer_score(layer, v, r, q, 0.01))
    assert ours == pytest.approx(trace - 0.01 * penalty, rel=0.01)
    assert float(objective.layer_score(layer, v, r, q, 0.0)) == pytest.approx(trace, rel=0.01)


def test_unused_neurons_of_a_layer_change_nothing() -> None:
    v, r, _ = setting(9)
    rng = np.random.default_rng(10)
    q, room = D - 1, 2
    layer = Neurons(rng.standard_normal((q, D)), rng.standard_normal((q, 3)))
    wide = Neurons(*(np.pad(x, ((0, room), (0, p))) for x, p in zip(layer, (room, 0), strict=True)))
    wide_v = np.pad(v, ((0, 0), (0, room)))
    # An unused neuron with coefficients yields beta, not 0, unless it is left out.
    wide.coefficients[q:] = 1.0
    ours = objective.layer_score(wide, wide_v, r, q, 0.01)
    assert float(ours) == pytest.approx(
        float(objective.layer_score(layer, v, r, q, 0.01)), rel=1e-10
    )
    assert not np.any(objective.layer_activations(wide, wide_v, q)[:, q:])
    np.testing.assert_array_equal(objective.square(wide, q)[q:, q:], np.eye(room))
