from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.curvature import patches as pt
from tests.dense import close, double


@pytest.fixture(autouse=True, scope="module")
def _float64() -> Iterator[None]:
    yield from double()


def images(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def naive(x: np.ndarray, kernel: int) -> np.ndarray:
    """Patches by the definition: row, column, channel of the window; zero outside."""
    n, height, width, channels = x.shape
    result = np.zeros((n, height, width, kernel, kernel, channels))
    reach = (kernel - 1) // 2
    for row in range(height):
        for column in range(width):
            for i in range(kernel):
                for j in range(kernel):
                    r, c = row + i - reach, column + j - reach
                    if 0 <= r < height and 0 <= c < width:
                        result[:, row, column, i, j] = x[:, r, c]
    return result.reshape(n, height, width, -1)


def convolution(x: jax.Array, weights: jax.Array) -> jax.Array:
    layout = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(x, weights, (1, 1), "SAME", dimension_numbers=layout)


SIZES = [((2, 4, 4, 3), 3), ((1, 5, 3, 2), 3), ((3, 4, 6, 1), 1), ((2, 6, 5, 2), 5)]


@pytest.mark.parametrize("shape, kernel", [*SIZES, ((2, 5, 4, 2), 2)])
def test_patches_by_loops_and_as_a_convolution(shape: tuple[int, ...], kernel: int) -> None:
    x = images(shape)
    found = pt.patches(jnp.asarray(x), kernel)
    np.testing.assert_array_equal(found, naive(x, kernel))
    weights = images((kernel, kernel, shape[-1], 4), 1)
    expected = convolution(jnp.asarray(x), jnp.asarray(weights))
    product = found @ weights.reshape(-1, 4)
    np.testing.assert_allclose(product, expected, atol=1e-12)


def test_the_kernels_gradient_is_patches_times_gradients() -> None:
    x, weights = images((3, 4, 5, 2)), jnp.asarray(images((3, 3, 2, 4), 1))
    g = images((3, 4, 5, 4), 2)
    expected = jax.grad(lambda w: jnp.sum(convolution(jnp.asarray(x), w) * g))(weights)
    rows = np.asarray(pt.patches(jnp.asarray(x))).reshape(-1, 18)
    close(rows.T @ g.reshape(-1, 4), np.asarray(expected).reshape(18, 4), 1e-12)


@pytest.mark.parametrize("shape, kernel", SIZES)
def test_the_exact_factor_sums_over_positions(shape: tuple[int, ...], kernel: int) -> None:
    x = images(shape)
    rows = naive(x, kernel)
    expected = np.zeros((rows.shape[-1],) * 2)
    for example in rows.reshape(shape[0], -1, rows.shape[-1]):
        for patch in example:
            expected += np.outer(patch, patch) / shape[0]
    close(pt.input_factor_direct(jnp.asarray(x), kernel), expected, 1e-12)


@pytest.mark.parametrize(
    "size, kernel", [((8, 7), 3), ((3, 3), 3), ((4, 3), 2), ((7, 6), 5), ((5, 5), 1), ((2, 9), 3)]
)
def test_the_factor_from_correlations_is_the_exact_one(size: tuple[int, int], kernel: int) -> None:
    # From 16 channels on the correlations are used.
    x = images((2, *size, 16))
    rows = naive(x, kernel).reshape(-1, kernel * kernel * 16)
    close(jax.jit(pt.input_factor, static_argnums=1)(x, kernel), rows.T @ rows / 2, 1e-12)


def test_correlations_keep_single_precision_and_symmetry() -> None:
    x = images((4, 8, 8, 16)).astype(np.float32)
    found = np.asarray(jax.jit(pt.input_factor)(x))
    rows = naive(x.astype(np.float64), 3).reshape(-1, 144)
    close(found, rows.T @ rows / 4, 2e-6)
    np.testing.assert_allclose(found, found.T, atol=1e-5)


@settings(max_examples=12)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 3), st.sampled_from([1, 3, 5]))
def test_the_grids_of_all_offsets_are_all_positions(
    height: int, width: int, stride: int, kernel: int
) -> None:
    x = images((2, height, width, 2))
    full, found = naive(x, kernel), np.zeros((2, height, width, kernel * kernel * 2))
    total = np.zeros(found.shape[-1:] * 2)
    for i in range(stride):
        for j in range(stride):
            offset = jnp.array([i, j])
            rows = np.asarray(pt.patch_subset(jnp.asarray(x), offset, stride=stride, kernel=kernel))
            inside = found[:, i::stride, j::stride]
            inside += rows[:, : inside.shape[1], : inside.shape[2]]
            flat = rows.reshape(-1, rows.shape[-1])
            total += flat.T @ flat
    np.testing.assert_array_equal(found, full)
    # Nothing beside them: the mean over offsets of the sampled factor is the exact one.
    flat = full.reshape(-1, full.shape[-1])
    np.testing.assert_allclose(total, flat.T @ flat, atol=1e-10)


@pytest.mark.parametrize("size", [(4, 4), (5, 3)])
def test_the_sampled_factor_is_unbiased(size: tuple[int, int]) -> None:
    x = jnp.asarray(images((2, *size, 2)))
    draw = jax.jit(lambda key: pt.input_factor_sampled(key, x))
    each = np.stack([draw(jax.random.key(k)) for k in range(60)])
    values, counts = np.unique(each.reshape(60, -1).round(9), axis=0, return_counts=True)
    # Four offsets give four matrices; over them the mean is exact, and all of them are drawn.
    assert len(values) == 4 and counts.min() >= 3
    expected = np.asarray(pt.input_factor(x)).ravel()
    np.testing.assert_allclose(values.mean(axis=0), expected, atol=1e-8)


def test_stride_one_takes_every_position() -> None:
    x = jnp.asarray(images((2, 3, 4, 2)))
    found = pt.input_factor_sampled(jax.random.key(0), x, stride=1)
    np.testing.assert_allclose(found, pt.input_factor(x), rtol=1e-12)


def test_the_second_factor_is_a_mean_over_positions() -> None:
    g = images((2, 3, 4, 3))
    expected = sum(np.outer(v, v) for v in g.reshape(-1, 3)) / 24
    np.testing.assert_allclose(pt.gradient_factor(jnp.asarray(g)), expected, rtol=1e-12)
    dense = images((5, 3))
    np.testing.assert_allclose(pt.gradient_factor(jnp.asarray(dense)), dense.T @ dense / 5)


def test_the_product_of_the_factors_is_exact_for_uncorrelated_positions() -> None:
    # Gradients that are independent unit noise at every position and example: E[v v^T] of the
    # kernel's gradient v = sum_t a_t g_t^T is A (x) I, summed over examples.
    x = jnp.asarray(images((2, 3, 3, 1)))
    rows = np.asarray(pt.patches(x)).reshape(-1, 9)
    # As a linear map from the noise: each entry of the gradient against each noise entry.
    linear = np.kron(rows.T, np.eye(2))
    exact = linear @ linear.T / 2
    factor = np.asarray(pt.input_factor(x))
    close(np.kron(factor, np.eye(2)), exact, 1e-12)


def test_unused_channels_have_zero_rows() -> None:
    x = jnp.asarray(images((2, 4, 4, 3))).at[..., 1].set(0.0)
    for factor in (pt.input_factor(x), pt.input_factor_sampled(jax.random.key(0), x)):
        rows = 1 + 3 * np.arange(9)
        assert not np.asarray(factor)[rows].any() and not np.asarray(factor)[:, rows].any()


def test_half_precision_is_summed_in_single_precision() -> None:
    x = jnp.ones((1, 64, 64, 1), jnp.bfloat16)
    factor = pt.input_factor(x)
    assert factor.dtype == jnp.float32
    # 4096 centres; bfloat16 has no odd numbers beyond 256.
    assert float(factor[4, 4]) == 4096.0 and float(factor[0, 0]) == 63.0**2
    s = pt.gradient_factor(x)
    assert s.dtype == jnp.float32 and float(s[0, 0]) == 1.0
