from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.nets.activation import (
    IDENTITY,
    activate,
    rational,
    rational_basis,
    second_derivative,
)
from senn_cli.nets.architecture import ACTIVATIONS, PLAIN, initial_gain
from senn_cli.spec.activation import Activation
from tests.dense import double


@pytest.fixture(autouse=True, scope="module")
def _float64() -> Iterator[None]:
    yield from double()


@pytest.mark.parametrize(
    "x, expected",
    # alpha 2, beta 3, gamma 5: 2 x + (3 + 5 x) / (1 + x^2) by hand.
    [(0.0, 3.0), (1.0, 6.0), (-1.0, -3.0), (2.0, 6.6), (-3.0, -7.2)],
)
def test_rational_by_hand(x: float, expected: float) -> None:
    coefficients = jnp.array([[2.0], [3.0], [5.0]])
    np.testing.assert_allclose(rational(jnp.array([x]), coefficients), [expected], rtol=1e-14)


def test_the_identity_is_exact() -> None:
    x = jnp.asarray(np.random.default_rng(0).standard_normal((7, 4)) * 100)
    np.testing.assert_array_equal(rational(x, jnp.tile(jnp.array(IDENTITY)[:, None], 4)), x)


@settings(max_examples=15)
@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3), st.floats(-1e3, 1e3))
def test_the_basis_combines_to_the_function(coefficients: list[float], x: float) -> None:
    combined = rational_basis(jnp.array([x])) @ jnp.array(coefficients)
    function = rational(jnp.array([x]), jnp.array(coefficients)[:, None])
    np.testing.assert_allclose(combined, function, rtol=1e-12, atol=1e-9)


def test_the_basis_is_the_derivative_by_the_coefficients() -> None:
    x = jnp.linspace(-4, 4, 9)
    derivative = jax.vmap(jax.grad(lambda c, x: rational(x, c)), in_axes=(None, 0))(jnp.ones(3), x)
    np.testing.assert_allclose(rational_basis(x), derivative, rtol=1e-13)
    assert rational_basis(x.reshape(3, 3)).shape == (3, 3, 3)


def test_every_neuron_has_coefficients_of_its_own() -> None:
    coefficients = jnp.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    found = rational(jnp.array([[2.0, 2.0, 2.0]]), coefficients)
    np.testing.assert_allclose(found, [[2.0, 0.2, 0.4]], rtol=1e-15)


def test_far_away_values_and_derivatives_are_finite_in_float32() -> None:
    # x^2 overflows float32 beyond 1.8e19.
    x = jnp.array([-1e25, 1e19, 1e25], jnp.float32)
    c = jnp.ones((3, 3), jnp.float32)
    value, pull = jax.vjp(rational, x, c)
    np.testing.assert_allclose(value, x, rtol=1e-6)
    np.testing.assert_allclose(pull(jnp.ones_like(x))[0], 1.0, rtol=1e-6)
    assert np.isfinite(pull(jnp.ones_like(x))[1]).all()
    assert np.isfinite(rational_basis(x)).all()


def test_the_other_activations() -> None:
    x = np.linspace(-3, 3, 7)
    np.testing.assert_allclose(activate("tanh", jnp.asarray(x), None), np.tanh(x), rtol=1e-14)
    silu = x / (1 + np.exp(-x))
    np.testing.assert_allclose(activate("silu", jnp.asarray(x), None), silu, rtol=1e-14)
    c = jnp.ones((3, 7))
    np.testing.assert_array_equal(activate("rational", jnp.asarray(x), c), rational(x, c))


def test_a_rational_neuron_without_coefficients_is_refused() -> None:
    with pytest.raises(ValueError, match="needs coefficients"):
        activate("rational", jnp.zeros(2), None)


def test_the_plain_functions_are_what_their_names_say() -> None:
    x = np.linspace(-6, 6, 41)
    logistic = 1 / (1 + np.exp(-x))
    wanted = {
        "silu": x * logistic,
        "tanh": np.tanh(x),
        "relu": np.maximum(x, 0),
        "gelu": x * scipy.special.ndtr(x),
        "leaky_relu": np.where(x > 0, x, 0.01 * x),
        "softplus": np.log1p(np.exp(x)),
        "identity": x,
    }
    assert wanted.keys() == set(PLAIN)
    for name, values in wanted.items():
        found = activate(name, jnp.asarray(x), None)  # type: ignore[arg-type]
        np.testing.assert_allclose(found, values, rtol=1e-12, atol=1e-15, err_msg=name)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_second_derivative_is_that_of_the_function(name: Activation) -> None:
    x = jnp.linspace(-5.0, 5.0, 12)  # without 0, where rectifiers have none
    one = jnp.array([[0.3], [-2.0], [1.5]])
    twice = jax.vmap(jax.grad(jax.grad(lambda x: activate(name, x[None], one)[0])))(x)
    found = second_derivative(name, x[:, None], one)[:, 0]
    np.testing.assert_allclose(found, twice, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["relu", "leaky_relu"])
def test_rectifiers_keep_the_second_moment_of_what_they_read(name: Activation) -> None:
    # He et al., 2015: E[sigma(g z)^2] = 1 for a unit normal z.
    z, weights = np.polynomial.hermite_e.hermegauss(200)
    moment = weights @ np.asarray(activate(name, initial_gain(name) * jnp.asarray(z), None)) ** 2
    assert moment / weights.sum() == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_second_derivatives_vanish_far_out_in_float32(name: Activation) -> None:
    x = jnp.array([[1e30, -1e30], [3e38, -200.0]], jnp.float32)
    found = second_derivative(name, x, jnp.ones((3, 2), jnp.float32))
    assert found.dtype == jnp.float32
    np.testing.assert_allclose(found, 0.0, atol=1e-6)


def test_the_rational_activation_needs_coefficients() -> None:
    for function in (activate, second_derivative):
        with pytest.raises(ValueError, match="needs coefficients"):
            function("rational", jnp.zeros(2), None)
