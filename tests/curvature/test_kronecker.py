from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.curvature import kronecker as k
from senn_cli.curvature.kronecker import second_moment
from tests.dense import double

# Compiled once for all examples of the same shapes.
inverse, spectral_inverse, spectrum, damping_split = (
    jax.jit(f) for f in (k.inverse, k.spectral_inverse, k.spectrum, k.damping_split)
)
dampings = st.floats(-6, 2).map(lambda e: 10.0**e)


spares = st.sampled_from([(0, 0), (0, 5), (3, 2)])


@pytest.fixture(autouse=True, scope="module")
def _float64() -> Iterator[None]:
    yield from double()


def moment(n: int, rank: int, seed: int = 0) -> np.ndarray:
    """A positive semidefinite matrix of this rank."""
    x = np.random.default_rng(seed).standard_normal((rank, n))
    return x.T @ x / rank


def test_second_moment_by_hand() -> None:
    x = jnp.array([[1.0, 2.0], [3.0, -4.0]])
    np.testing.assert_allclose(second_moment(x), [[5.0, -5.0], [-5.0, 10.0]])


@settings(max_examples=15)
@given(st.integers(1, 8), dampings, st.integers(0, 99))
def test_both_inverses_solve_the_damped_system(rank: int, damping: float, seed: int) -> None:
    m = moment(6, rank, seed)
    damped = m + damping * np.eye(6)
    condition = np.linalg.cond(damped)
    for found in (
        inverse(jnp.asarray(m), jnp.asarray(damping)),
        spectral_inverse(spectrum(jnp.asarray(m)), jnp.asarray(damping)),
    ):
        np.testing.assert_allclose(found @ damped, np.eye(6), atol=1e-14 * condition + 1e-13)


def test_the_spectrum_has_no_negative_eigenvalue() -> None:
    m = jnp.asarray(moment(8, 2, 4), jnp.float32) - 1e-7 * jnp.eye(8, dtype=jnp.float32)
    found = spectrum(m)
    assert np.linalg.eigvalsh(np.asarray(m, np.float64)).min() < 0
    assert np.asarray(found.values).min() == 0.0
    np.testing.assert_array_equal(found.matrix, m)
    rebuilt = (found.vectors * found.values) @ found.vectors.T
    # Eight products of single precision each, of entries up to the largest eigenvalue.
    np.testing.assert_allclose(rebuilt, m, atol=16 * np.finfo(np.float32).eps * found.values.max())


@settings(max_examples=15)
@given(
    st.integers(0, 99), dampings, st.floats(0.01, 100.0), st.sampled_from([(0, 0), (0, 5), (3, 2)])
)
def test_the_damping_split(seed: int, damping: float, scale: float, spare: tuple[int, int]) -> None:
    a, s = scale * moment(4, 9, seed), moment(3, 9, seed + 1)
    pad_a, pad_s = np.pad(a, (0, spare[0])), np.pad(s, (0, spare[1]))
    of_a, of_s = damping_split(
        jnp.asarray(pad_a), jnp.asarray(pad_s), jnp.asarray(4), jnp.asarray(3), damping
    )
    np.testing.assert_allclose(of_a * of_s, damping, rtol=1e-12)
    # Each factor is damped in proportion to its own mean eigenvalue.
    ratio = np.linalg.eigvalsh(a).mean() / np.linalg.eigvalsh(s).mean()
    np.testing.assert_allclose(of_a / of_s, ratio, rtol=1e-9)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("scale_a, scale_s", [(0.0, 1.0), (1.0, 0.0), (0.0, 0.0), (1e-30, 1e10)])
def test_vanishing_factors_leave_the_split_and_the_inverses_finite(
    scale_a: float, scale_s: float, dtype: jnp.dtype
) -> None:
    a, s = scale_a * jnp.eye(3, dtype=dtype), scale_s * jnp.eye(2, dtype=dtype)
    of_a, of_s = damping_split(a, s, jnp.asarray(3), jnp.asarray(2), 0.01)
    assert of_a.dtype == of_s.dtype == dtype
    np.testing.assert_allclose(of_a * of_s, 0.01, rtol=1e-5)
    for matrix, damping in ((a, of_a), (s, of_s)):
        assert damping > 0
        assert np.isfinite(inverse(matrix, damping)).all()
        assert np.isfinite(spectral_inverse(spectrum(matrix), damping)).all()


def test_padding_leaves_the_inverse_of_the_rest_alone() -> None:
    m = moment(4, 3)
    found = np.asarray(inverse(jnp.asarray(np.pad(m, (0, 3))), jnp.asarray(0.1)))
    np.testing.assert_allclose(found[:4, :4], np.linalg.inv(m + 0.1 * np.eye(4)), rtol=1e-10)
    np.testing.assert_allclose(found[4:, :4], 0.0, atol=1e-15)
