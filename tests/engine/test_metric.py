from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.engine.metric import (
    Metric,
    output_combination,
    output_form,
    output_moment,
    output_product,
    sample_output_gradient,
)
from tests.dense import METRICS, double, metric_matrix

logits = st.lists(st.floats(-30, 30), min_size=3, max_size=3)


@pytest.fixture(autouse=True, scope="module")
def _float64() -> Iterator[None]:
    yield from double()


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=15)
@given(st.tuples(logits, logits), st.integers(0, 999))
def test_the_product_is_that_with_the_matrix(
    metric: Metric, rows: tuple[list[float], list[float]], seed: int
) -> None:
    y = np.array(rows)
    v = np.random.default_rng(seed).standard_normal(y.shape)
    expected = np.einsum("nab,nb->na", metric_matrix(metric, y), v)
    np.testing.assert_allclose(
        output_product(metric, jnp.asarray(y), jnp.asarray(v)), expected, rtol=1e-12, atol=1e-13
    )
    form = output_form(metric, jnp.asarray(y), jnp.asarray(v))
    np.testing.assert_allclose(form, np.mean(np.sum(v * expected, axis=1)), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=15)
@given(st.tuples(logits, logits))
def test_the_outer_products_of_the_factor_sum_to_the_matrix(
    metric: Metric, rows: tuple[list[float], list[float]]
) -> None:
    y = np.array(rows)
    factor = np.stack([output_combination(metric, jnp.asarray(y), e) for e in jnp.eye(3)])
    assert factor.shape == (3, 2, 3)
    total, expected = np.einsum("kna,knb->nab", factor, factor), metric_matrix(metric, y)
    np.testing.assert_allclose(total, expected, rtol=1e-12, atol=1e-14)
    mean = output_moment(metric, jnp.asarray(y))
    np.testing.assert_allclose(mean, expected.mean(axis=0), rtol=1e-12, atol=1e-14)
    c = np.array([[0.3, -1.0, 2.0], [1.0, 1.0, -1.0]])
    mixed = output_combination(metric, jnp.asarray(y), jnp.asarray(c))
    np.testing.assert_allclose(mixed, np.einsum("nk,kna->na", c, factor), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("metric", METRICS)
def test_sampled_gradients_have_mean_zero_and_the_matrix_as_second_moment(metric: Metric) -> None:
    n = 40_000
    y = np.array([0.7, -1.2, 0.1, 1.5])
    many = jnp.broadcast_to(jnp.asarray(y), (n, 4))
    g = np.asarray(sample_output_gradient(metric, many, jax.random.key(3)))
    # Five standard errors: entries of g are of order 1, so are their products' deviations.
    np.testing.assert_allclose(g.mean(axis=0), 0, atol=5 / np.sqrt(n))
    np.testing.assert_allclose(g.T @ g / n, metric_matrix(metric, y[None])[0], atol=8 / np.sqrt(n))


def test_a_sampled_gradient_of_softmax_is_that_of_a_label() -> None:
    y = jnp.asarray(np.random.default_rng(0).standard_normal((50, 3)))
    g = np.asarray(sample_output_gradient("softmax", y, jax.random.key(0)))
    one_hot = np.asarray(jax.nn.softmax(y)) - g
    np.testing.assert_allclose(np.sort(one_hot, axis=1), [[0.0, 0.0, 1.0]] * 50, atol=1e-14)


def test_samples_are_a_function_of_the_key() -> None:
    y = jnp.zeros((20, 3))
    one, again, other = (
        np.asarray(sample_output_gradient("softmax", y, jax.random.key(k))) for k in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_the_metric_is_the_curvature_of_the_loss() -> None:
    y = jnp.array([0.3, -2.0, 1.1])
    entropy = jax.hessian(lambda z: -jax.nn.log_softmax(z)[1])(y)
    ours = output_product("softmax", jnp.tile(y, (3, 1)), jnp.eye(3))
    np.testing.assert_allclose(ours, entropy, atol=1e-14)
    gauss = jax.hessian(lambda z: 0.5 * jnp.sum((z - 4.0) ** 2))(y)
    np.testing.assert_allclose(gauss, metric_matrix("gaussian", y[None])[0])


@pytest.mark.parametrize("metric", METRICS)
def test_extreme_outputs_stay_finite_in_float32(metric: Metric) -> None:
    y = jnp.array([[1e4, -1e4, 0.0], [-3e38, 3e38, 1.0]], jnp.float32)
    v = jnp.ones_like(y)
    for found in (
        output_product(metric, y, v),
        output_combination(metric, y, v),
        output_moment(metric, y),
        sample_output_gradient(metric, y, jax.random.key(0)),
    ):
        assert found.dtype == jnp.float32
        assert np.isfinite(found).all()
