"""EKFAC against dense matrices in float64."""

from __future__ import annotations

from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.curvature import eigenbasis
from tests.dense import double

RNG = np.random.default_rng(5)
N, N_A, N_S = 40, 4, 3
# What examples read and are told depend on each other: then factors are not all there is.
A = RNG.standard_normal((N, N_A)) @ RNG.standard_normal((N_A, N_A))
S = RNG.standard_normal((N, N_S)) * (1 + A[:, :1] ** 2)
ALL = (np.ones(N_A, bool), np.ones(N_S, bool))


@pytest.fixture(scope="module", autouse=True)
def float64() -> Iterator[None]:
    yield from double()


def bases() -> tuple[np.ndarray, np.ndarray]:
    moments = (A.T @ A / N, S.T @ S / N)
    pairs = zip(moments, ALL, strict=True)
    a, s = (np.asarray(eigenbasis.basis(jnp.asarray(m), jnp.asarray(u))) for m, u in pairs)
    return a, s


def test_it_is_the_best_diagonal_in_the_basis_and_its_inverse_is_the_dense_one() -> None:
    a, s = bases()
    np.testing.assert_allclose(a.T @ a, np.eye(N_A), atol=1e-12)
    gradients = np.einsum("ni,nj->nij", A, S).reshape(N, -1)
    dense, basis = gradients.T @ gradients / N, np.kron(a, s)
    diagonal = np.asarray(eigenbasis.squares(A, a, S, s))
    np.testing.assert_allclose(diagonal.ravel(), np.diag(basis.T @ dense @ basis), rtol=1e-10)
    corrected = basis @ np.diag(diagonal.ravel()) @ basis.T
    factors = np.kron(A.T @ A / N, S.T @ S / N)
    off = [np.linalg.norm(dense - m) for m in (corrected, factors)]
    assert off[0] < 0.9 * off[1]
    products = np.asarray(eigenbasis.products(A.T @ A / N, a, S.T @ S / N, s))
    np.testing.assert_allclose(basis @ np.diag(products.ravel()) @ basis.T, factors, atol=1e-10)
    gradient = RNG.standard_normal((N_A, N_S))
    found = eigenbasis.preconditioned(gradient, a, s, diagonal, 0.3)
    expected = np.linalg.solve(corrected + 0.3 * np.eye(len(factors)), gradient.ravel())
    np.testing.assert_allclose(np.ravel(found), expected, rtol=1e-9)


def test_a_diagonal_goes_along_with_its_basis() -> None:
    a, s = bases()
    diagonal = np.asarray(eigenbasis.squares(A, a, S, s))
    order = np.array([2, 0, 3, 1])
    sorted_again = eigenbasis.turned(diagonal, (a, s), (a[:, order], -s))
    np.testing.assert_allclose(sorted_again, diagonal[order], rtol=1e-10)
    new = np.linalg.qr(RNG.standard_normal((N_A, N_A)))[0]
    found = eigenbasis.turned(diagonal, (a, s), (new, s))
    matrix = np.kron(a, s) @ np.diag(diagonal.ravel()) @ np.kron(a, s).T
    expected = np.diag(np.kron(new, s).T @ matrix @ np.kron(new, s))
    np.testing.assert_allclose(np.ravel(found), expected, rtol=1e-10)


def test_what_is_off_the_diagonal() -> None:
    a, _ = bases()
    moment = A.T @ A / N
    assert float(eigenbasis.spilt(a, moment)) < 1e-12
    expected = np.linalg.norm(moment - np.diag(np.diag(moment))) / np.linalg.norm(moment)
    assert float(eigenbasis.spilt(np.eye(N_A), moment)) == pytest.approx(expected, rel=1e-10)


def test_unused_rows_and_directions_without_a_moment_are_none_of_it() -> None:
    read = np.column_stack([A[:, :2], A[:, :1] + A[:, 1:2], A[:, 3], np.zeros(N)])
    used = np.array([True, True, True, False, True])
    moment = np.where(np.outer(used, used), read.T @ read / N, 0)
    basis = np.asarray(eigenbasis.basis(jnp.asarray(moment), jnp.asarray(used)))
    assert np.linalg.matrix_rank(basis) == 2, "a sum of two others, and one that is dead"
    assert not basis[3:].any(axis=1).any()
    np.testing.assert_allclose(
        basis @ np.diag(1 / np.maximum(np.diag(basis.T @ moment @ basis), 1e-9)) @ basis.T,
        np.linalg.pinv(moment),
        atol=1e-9,
    )
