from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.curvature import rank_one as ro
from tests.dense import close, double

ALL = np.ones(5, bool)
rank_one, decayed, error, inverse_root = (
    jax.jit(f) for f in (ro.rank_one, ro.decayed, ro.error, ro.inverse_root)
)
checked = jax.jit(ro.checked, static_argnums=3)


@pytest.fixture(autouse=True, scope="module")
def _float64() -> Iterator[None]:
    yield from double()


def positive(seed: int = 0, n: int = 5) -> np.ndarray:
    x = np.random.default_rng(seed).standard_normal((n + 3, n))
    return x.T @ x / n + 0.1 * np.eye(n)


def any_root(a: np.ndarray, seed: int = 1) -> np.ndarray:
    """An inverse root that is not triangular."""
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal(a.shape))[0]
    root: np.ndarray = np.linalg.inv(np.linalg.cholesky(a)).T @ turn
    return root


@settings(max_examples=20)
@given(st.integers(0, 999), st.floats(-5, 3).map(lambda e: 10.0**e))
def test_an_update_is_the_dense_inverse(seed: int, scale: float) -> None:
    a, v = positive(seed), scale * np.random.default_rng(seed).standard_normal(5)
    found = np.asarray(rank_one(any_root(a), v))
    whole = a + np.outer(v, v)
    # Numbers as large as the condition cancel, here and in the dense inverse.
    close(found @ found.T, np.linalg.inv(whole), 1e-13 + 1e-14 * np.linalg.cond(whole))


def test_the_coefficient_is_that_of_the_paper() -> None:
    a, v = positive(2), np.array([1.0, -2.0, 0.5, 0.0, 3.0])
    root = any_root(a)
    mu = v @ root @ root.T @ v
    c = (np.sqrt(1 - mu / (1 + mu)) - 1) / mu
    expected = root + c * np.outer(root @ root.T @ v, v @ root)
    np.testing.assert_allclose(rank_one(root, v), expected, rtol=1e-12)


@pytest.mark.parametrize("scale", [0.0, 1e-30, 1e-12])
def test_a_vanishing_vector_changes_nothing_in_float32(scale: float) -> None:
    root = any_root(positive()).astype(np.float32)
    found = rank_one(root, np.full(5, scale, np.float32))
    assert found.dtype == jnp.float32
    np.testing.assert_array_equal(found, root)


def test_a_small_vector_counts_in_float32() -> None:
    # With the paper's formula the coefficient is 0 instead of -1/2: 1 - 2e-9 rounds to 1.
    found = rank_one(np.eye(2, dtype=np.float32), np.array([3e-5, 3e-5], np.float32))
    assert float(found[0, 1]) == pytest.approx(-0.5 * 9e-10, rel=1e-5)


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.7])
def test_decay_and_a_mean_over_samples(rate: float) -> None:
    a, v = positive(3), np.random.default_rng(4).standard_normal((6, 5))
    found = np.asarray(decayed(any_root(a), v, rate))
    close(found @ found.T, np.linalg.inv((1 - rate) * a + rate * v.T @ v / 6), 1e-10)


def test_many_matrices_at_once() -> None:
    a = np.stack([positive(k) for k in range(3)])
    v = np.random.default_rng(4).standard_normal((2, 3, 5))
    roots = np.stack([any_root(m) for m in a])
    found = np.asarray(decayed(roots, v, 0.2))
    for k in range(3):
        close(found[k], decayed(roots[k], v[:, k], 0.2), 1e-12)
    used = np.ones((3, 5), bool)
    assert np.asarray(error(roots, a, used)).max() < 1e-10
    worse = roots * np.array([1.0, 2.0, 1.0])[:, None, None]
    np.testing.assert_allclose(error(worse, a, used), [0, 3, 0], atol=1e-10)
    assert np.asarray(error(inverse_root(a, used), a, used)).max() < 1e-10


def test_a_long_sequence_in_float32_stays_an_inverse_root() -> None:
    n, steps, rate = 24, 3000, 0.01
    rng = np.random.default_rng(0)
    mix = rng.standard_normal((n, n)) / np.sqrt(n)
    samples = rng.standard_normal((steps, n)) @ mix + 0.3 * rng.standard_normal((steps, n))

    @jax.jit
    def run(root: jax.Array, vectors: jax.Array) -> jax.Array:
        return jax.lax.scan(lambda r, v: (ro.decayed(r, v[None], rate), None), root, vectors)[0]

    root = run(jnp.eye(n, dtype=jnp.float32), jnp.asarray(samples, jnp.float32))
    assert root.dtype == jnp.float32
    exact = np.eye(n)
    for v in samples:
        exact = (1 - rate) * exact + rate * np.outer(v, v)
    assert float(error(root, jnp.asarray(exact, jnp.float32), np.ones(n, bool))) < 1e-2
    found = np.asarray(root, np.float64)
    close(found @ found.T, np.linalg.inv(exact), 1e-2)


USED = np.array([True, False, True, True, False])


def test_the_inverse_root_of_the_used_block() -> None:
    a = positive(5)
    rows = np.ix_(USED, USED)
    root = np.asarray(inverse_root(a, USED))
    expected = np.zeros((5, 5))
    expected[rows] = np.linalg.inv(a[rows])
    np.testing.assert_allclose(root @ root.T, expected, atol=1e-12)
    assert not root[~USED].any() and not root[:, ~USED].any()
    assert float(error(root, a, USED)) < 1e-12
    # It stays so under updates that are zero where nothing is in use.
    v = np.where(USED, 1.7, 0.0)
    moved = np.asarray(rank_one(root, v))
    expected[rows] = np.linalg.inv((a + np.outer(v, v))[rows])
    np.testing.assert_allclose(moved @ moved.T, expected, atol=1e-12)


def test_unused_rows_of_the_matrix_may_hold_anything() -> None:
    a = positive(6)
    junk = np.where(np.outer(USED, USED), a, 1e9)
    junk[1, 1] = np.nan
    root = inverse_root(junk, USED)
    np.testing.assert_array_equal(root, inverse_root(a, USED))


def test_the_error_is_the_largest_deviation() -> None:
    assert float(error(2 * np.eye(5), np.eye(5), ALL)) == 3.0
    skewed = np.eye(5)
    skewed[0, 1] = 0.25
    assert float(error(np.eye(5), skewed, ALL)) == 0.25
    assert float(error(np.eye(5), skewed, np.array([False, *ALL[1:]]))) == 0.0


def test_a_good_root_is_kept_and_a_bad_one_made_anew() -> None:
    a = positive(7)
    good = any_root(a)
    for factor, remade in ((1.0, False), (1.01, False), (1.2, True), (np.nan, True)):
        root, due = checked(factor * good, a, ALL, 0.1)
        assert bool(due) is remade
        if remade:
            np.testing.assert_allclose(root @ root.T, np.linalg.inv(a), rtol=1e-9)
        else:
            np.testing.assert_array_equal(root, factor * good)


def test_rows_that_become_used_or_unused_are_noticed() -> None:
    a = positive(8)
    root = np.asarray(inverse_root(a, USED))
    for flipped in range(5):
        used = USED.copy()
        used[flipped] = ~used[flipped]
        # A new row makes the error 1 or more.
        found, due = checked(root, a, used, 0.99 if used[flipped] else 1e-6)
        expected = np.zeros((5, 5))
        expected[np.ix_(used, used)] = np.linalg.inv(a[np.ix_(used, used)])
        np.testing.assert_allclose(found @ found.T, expected, atol=1e-12)
        # A triangular root without its last row is still one, of the rest.
        assert bool(due) is (flipped != 3)


def test_a_row_taken_out_of_a_diagonal_matrix_needs_no_factorisation() -> None:
    a = np.diag([1.0, 4.0, 9.0, 16.0, 25.0])
    root = np.diag(1 / np.sqrt(np.diag(a)))
    found, due = checked(root, a, USED, 1e-6)
    assert not bool(due)
    np.testing.assert_array_equal(found, np.diag(np.where(USED, np.diag(root), 0.0)))


@pytest.mark.parametrize("tolerance", [0.0, 1.0, float("nan")])
def test_a_tolerance_that_would_miss_new_rows_is_refused(tolerance: float) -> None:
    with pytest.raises(ValueError, match="0 < tolerance < 1"):
        ro.checked(jnp.eye(2), jnp.eye(2), jnp.ones(2, bool), tolerance)


def test_random_combinations_have_the_rows_second_moment() -> None:
    rows = jnp.asarray(np.random.default_rng(0).standard_normal((7, 3)))
    draws = np.asarray(jax.jit(ro.combinations, static_argnums=2)(jax.random.key(0), rows, 40_000))
    expected = np.asarray(rows).T @ np.asarray(rows) / 7
    found = draws.T @ draws / len(draws)
    power = np.diag(expected)
    np.testing.assert_array_less(
        np.abs(found - expected), 6 * np.sqrt(2 * np.outer(power, power) / 4e4)
    )
