from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.curvature.fisher import fisher_product, inner, natural_gradient
from senn_cli.engine.metric import Metric
from senn_cli.nets.mlp import MlpArchitecture
from tests.dense import (
    METRICS,
    Tree,
    close,
    double,
    fisher,
    flat,
    in_use,
    network,
    outputs,
    padded,
    random_like,
    roomy,
)

X = np.random.default_rng(2).standard_normal((7, 3))


@pytest.fixture(autouse=True, scope="module")
def _float64() -> Iterator[None]:
    yield from double()


@pytest.mark.parametrize("metric", METRICS)
def test_product_and_natural_gradient_equal_the_dense_ones(metric: Metric) -> None:
    architecture, params = network((3, 4, 2, 3))
    dense = fisher(architecture, params, X, metric)
    g = random_like(params, 0)
    vector = flat(g)

    @jax.jit
    def compute(params: Tree, g: Tree) -> tuple[Tree, Tree, jax.Array]:
        product = fisher_product(lambda p: outputs(architecture, p, X), params, metric)
        direction = natural_gradient(product, g, damping=0.1, iterations=500, tolerance=1e-14)
        return product(g), direction, inner(g, direction)

    product, direction, eta = compute(params, g)
    np.testing.assert_allclose(flat(product), dense @ vector, rtol=1e-10, atol=1e-12)
    expected = np.linalg.solve(dense + 0.1 * np.eye(len(vector)), vector)
    np.testing.assert_allclose(flat(direction), expected, rtol=1e-8, atol=1e-8)
    # eta of the damped matrix: g^T (F + damping)^-1 g.
    np.testing.assert_allclose(eta, vector @ expected, rtol=1e-8)


@pytest.mark.parametrize("activation", ["silu", "tanh"])
def test_networks_without_coefficients(activation: str) -> None:
    architecture, params = network((3, 4, 2), activation)  # type: ignore[arg-type]
    g = random_like(params, 1)

    @jax.jit
    def compute(params: Tree, g: Tree) -> Tree:
        return fisher_product(lambda p: outputs(architecture, p, X), params, "softmax")(g)

    expected = fisher(architecture, params, X, "softmax") @ flat(g)
    np.testing.assert_allclose(flat(compute(params, g)), expected, rtol=1e-10, atol=1e-12)


def test_spare_capacity_changes_no_direction() -> None:
    small, params = network((3, 4, 2, 3))
    large = roomy(small, (7, 4))
    g = random_like(params, 3)

    @partial(jax.jit, static_argnums=0)
    def compute(architecture: MlpArchitecture, params: Tree, g: Tree) -> Tree:
        product = fisher_product(lambda p: outputs(architecture, p, X), params, "softmax")
        return natural_gradient(product, g, damping=0.05, iterations=500, tolerance=1e-14)

    found = [in_use(compute(a, padded(params, a), padded(g, a)), a) for a in (small, large)]
    close(found[1], found[0], 1e-10)


def solver(
    matrix: np.ndarray, damping: float, iterations: int = 100, tolerance: float = 1e-5
) -> Callable[[np.ndarray], jax.Array]:
    return jax.jit(
        lambda g: natural_gradient(
            lambda v: jnp.asarray(matrix, v.dtype) @ v,
            g,
            damping=damping,
            iterations=iterations,
            tolerance=tolerance,
        )
    )


def test_a_zero_gradient_gives_a_zero_direction() -> None:
    found = solver(np.diag([1.0, 2.0, 3.0]), 0.1)(np.zeros(3))
    np.testing.assert_array_equal(found, np.zeros(3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("tolerance", [0.0, 1e-30, 1e-5])
def test_no_division_by_zero_once_converged(tolerance: float, dtype: type) -> None:
    # With F = 0 the first iteration is exact; 99 more are allowed.
    g = np.array([1.0, -2.0, 4.0], dtype)
    found = solver(np.zeros((3, 3)), 0.5, tolerance=tolerance)(g)
    np.testing.assert_array_equal(found, [2.0, -4.0, 8.0])
    # Exact but for round-off after six iterations.
    matrix, g = positive(6), np.arange(1.0, 7.0).astype(dtype)
    expected = np.linalg.solve(matrix + 0.5 * np.eye(6), g)
    found = solver(matrix, 0.5, tolerance=tolerance)(g)
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


def positive(n: int) -> np.ndarray:
    root = np.random.default_rng(0).standard_normal((n, n))
    return root @ root.T / n


@pytest.mark.parametrize("exponent", [-4, -10, -16, -18, -20, -24])
def test_gradients_of_any_size_are_solved_in_float32(exponent: int) -> None:
    # A classifier that is nearly sure of everything has gradients as small as these; the squares
    # of their norms leave float32.
    rng, matrix = np.random.default_rng(1), positive(6)
    g = (rng.standard_normal(6) * 10.0**exponent).astype(np.float32)
    found = np.asarray(solver(matrix, 0.1)(g), np.float64)
    expected = np.linalg.solve(matrix + 0.1 * np.eye(6), g.astype(np.float64))
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())


def test_it_stops_at_the_tolerance_and_after_the_iterations() -> None:
    rng = np.random.default_rng(1)
    matrix = np.diag(np.geomspace(1e-3, 1e3, 30))
    damped = matrix + 1e-4 * np.eye(30)
    g = rng.standard_normal(30)
    loose = np.asarray(solver(matrix, 1e-4, 5000, 1e-3)(g))
    residual = np.linalg.norm(damped @ loose - g) / np.linalg.norm(g)
    assert 1e-6 < residual < 2e-3
    # One iteration of conjugate gradients from zero is the exact line search along g.
    one = np.asarray(solver(matrix, 1e-4, 1, 1e-14)(g))
    np.testing.assert_allclose(one, g * (g @ g) / (g @ damped @ g), rtol=1e-12)


def test_inner_product_of_trees() -> None:
    a = {"x": jnp.array([1.0, 2.0]), "y": {"z": jnp.array([[3.0]])}}
    b = {"x": jnp.array([5.0, -1.0]), "y": {"z": jnp.array([[2.0]])}}
    assert float(inner(a, b)) == 9.0
