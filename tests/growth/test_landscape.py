"""Figure 2's landscape against a dense computation, and what it shows on a known target."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from senn_cli.engine.arrays import Arrays
from senn_cli.engine.objective import REGRESSION
from senn_cli.growth.landscape import POINTS, grid, make_landscape, place_of, weights_at
from tests.dense_algebra import Nets, basis, ones_first

pytestmark = pytest.mark.usefixtures("double")

DAMPING = 1e-3


def arrays(x: np.ndarray, y: np.ndarray) -> Arrays:
    one, zero = np.ones(1), np.zeros(1)
    return Arrays(*map(jnp.asarray, (x, y, zero, one, zero, one)))


@given(st.floats(-5, 5), st.floats(1e-2, 10))
def test_location_and_scale_come_back(location: float, scale: float) -> None:
    found = place_of(weights_at(np.float64(location), np.float64(scale)))
    np.testing.assert_allclose(found, [location, scale], rtol=1e-9, atol=1e-9)


def test_a_neuron_bends_at_its_location() -> None:
    bias, weight = weights_at(np.float64(1.5), np.float64(0.25))
    assert weight * 1.5 + bias == pytest.approx(0)
    assert weight * (1.5 + 0.25) + bias == pytest.approx(1)  # one scale away


def test_the_grid_covers_the_inputs() -> None:
    location, scale = grid(np.array([-1.0, 3.0], np.float32))
    assert location.shape == scale.shape == (POINTS,)
    assert location[0] < -1 and location[-1] > 3
    assert (np.diff(scale) > 0).all() and scale[0] > 0


def test_scores_equal_a_dense_computation() -> None:
    rng = np.random.default_rng(0)
    net = Nets.architecture(1, [(2, 3, "rational")], 1)
    params = Nets.draw(rng, net)
    x, y = rng.standard_normal((40, 1)), rng.standard_normal((40, 1))
    proposals = weights_at(rng.standard_normal(5), rng.uniform(0.2, 2, 5))

    found, score = make_landscape(REGRESSION, "gaussian", damping_a=DAMPING, damping_s=DAMPING)(
        net.shape(), params, jnp.array([2]), arrays(x, y), jnp.arange(40), jnp.asarray(proposals)
    )

    seen = Nets.run(net, params, x)
    a, g = seen.reads[1], seen.outputs - y
    s = 1.0 + DAMPING  # of a unit Gaussian, with its damping
    factor = a.T @ a / 40
    factor += DAMPING * np.trace(factor) / 3 * np.eye(3)
    moment = a.T @ g / 40
    solved = np.linalg.solve(factor, moment)
    eta = float((moment * solved).sum()) / s
    assert float(score) == pytest.approx(eta)
    residual = g - a @ solved
    expected = []
    for weights in proposals:
        phi = basis(ones_first(x) @ weights[:, None])[:, 0]
        cross = phi.T @ residual / 40
        # max over c of (c^T N)^2 / (S c^T M c): the largest generalised eigenvalue.
        top = scipy.linalg.eigh(cross @ cross.T / s, phi.T @ phi / 40, eigvals_only=True)[-1]
        expected.append(top / eta)
    # Proposals' own moments are damped by 1e-4 of their mean eigenvalue.
    np.testing.assert_allclose(found, expected, rtol=2e-2)


def test_the_best_place_is_where_the_residual_has_its_bump() -> None:
    x = np.linspace(-3, 3, 200)[:, None]
    y = 1 / (1 + ((x - 1.2) / 0.3) ** 2)  # one rational neuron at 1.2, of scale 0.3
    net = Nets.architecture(1, [(1, 1, "rational")], 1)
    params = Nets.draw(np.random.default_rng(1), net)
    params["activation_0"]["coefficients"][:] = [[1.0], [0.0], [0.0]]  # linear: sees no bump
    location, scale = grid(x)
    places = weights_at(location[None, :], scale[:, None]).reshape(-1, 2)
    ratio = np.asarray(
        make_landscape(REGRESSION, "gaussian", damping_a=DAMPING, damping_s=DAMPING)(
            net.shape(), params, jnp.array([1]), arrays(x, y), jnp.arange(200), jnp.asarray(places)
        )[0]
    ).reshape(POINTS, POINTS)
    row, column = np.unravel_index(ratio.argmax(), ratio.shape)
    assert location[column] == pytest.approx(1.2, abs=0.3)
    assert 0.15 < scale[row] < 0.6
