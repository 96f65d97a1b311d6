from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.growth.insertion import floored
from senn_cli.growth.objective import Neurons
from senn_cli.growth.search import search_layers, search_neurons, whitening
from senn_cli.growth.settings import DepthSearch, WidthSearch

pytestmark = pytest.mark.usefixtures("double")

N, D, M, ROOM = 600, 5, 3, 4
KEY = 7
WIDTH = WidthSearch(
    method="closed_form",
    proposals=64,
    polished=8,
    steps=60,
    rank=16,
    learning_rate=0.1,
    temperature=0.005,
)
DEPTH = DepthSearch(
    method="closed_form",
    proposals=16,
    polished=4,
    steps=40,
    learning_rate=0.05,
    temperature=0.01,
    log_determinant=0.01,
)
WIDTHS = {
    "closed_form": WIDTH,
    "gradient_ascent": replace(
        WIDTH, method="gradient_ascent", proposals=128, steps=100, learning_rate=1.0
    ),
    "mala": replace(WIDTH, method="mala", proposals=128, steps=200),
}
DEPTHS = {
    "closed_form": DEPTH,
    "gradient_ascent": replace(DEPTH, method="gradient_ascent", learning_rate=0.3),
    "mala": replace(DEPTH, method="mala"),
}


def source(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    mixed = rng.standard_normal((N, D)) @ (np.eye(D) + 0.3 * rng.standard_normal((D, D)))
    return np.concatenate([np.ones((N, 1)), mixed], axis=1)


def act(name: str, z: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    if name == "rational":
        phi = np.stack([z, 1 / (1 + z**2), z / (1 + z**2)], axis=-1)
        return np.einsum("npk,pk->np", phi, coefficients)
    return np.tanh(z) if name == "tanh" else z / (1 + np.exp(-z))


def gains(name: str, neurons: Any, u: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Delta eta' of Theorem 2, by hand."""
    a_p = act(name, u @ np.asarray(neurons.weights).T, np.asarray(neurons.coefficients))
    return np.sum((a_p.T @ r / len(u)) ** 2, axis=1) / np.mean(a_p**2, axis=0)


def planted(name: str, u: np.ndarray, seed: int = 1) -> tuple[Neurons, np.ndarray]:
    """A neuron, and residuals that it explains for the most part."""
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((1, u.shape[1])) / np.sqrt(D) * 1.5
    neuron = Neurons(weights, np.array([[0.3, 1.0, -1.5]]))
    a_p = act(name, u @ weights.T, neuron.coefficients)
    r = a_p * np.array([0.6, -0.3, 0.1]) / np.sqrt(np.mean(a_p**2))
    return neuron, r + 0.3 * rng.standard_normal((N, M))


def spectrum(u: np.ndarray) -> Any:
    return jnp.linalg.eigh(u.T @ u / len(u))


@partial(jax.jit, static_argnames=("activation", "settings"))
def width_search(u: Any, r: Any, active: Any, activation: Any, settings: WidthSearch) -> Neurons:
    key = jax.random.key(KEY)
    return search_neurons(key, u, spectrum(u), r, active, activation, settings)


@partial(jax.jit, static_argnames=("settings",))
def depth_search(v: Any, r: Any, active: Any, settings: DepthSearch) -> Neurons:
    return search_layers(jax.random.key(KEY), v, r, active, settings)


@pytest.mark.parametrize(
    ("method", "activation"),
    [
        ("closed_form", "rational"),
        ("closed_form", "silu"),
        ("gradient_ascent", "rational"),
        ("mala", "rational"),
        ("mala", "tanh"),
    ],
)
def test_a_planted_neuron_is_found_without_reading_unused_inputs(
    method: str, activation: str
) -> None:
    u = source()
    neuron, r = planted(activation, u)
    wide = np.pad(u, ((0, 0), (0, ROOM)))
    found = width_search(wide, r, 1 + D, activation, WIDTHS[method])
    count = 1 if method == "mala" else WIDTH.polished
    assert found.weights.shape == (count, 1 + D + ROOM)
    assert np.all(np.isfinite(found.weights))
    assert not np.any(found.weights[:, 1 + D :])
    scores = gains(activation, found, wide, r)
    assert scores.max() >= 0.9 * gains(activation, neuron, u, r)[0]
    # The best comes first.
    assert np.all(np.diff(scores) <= 1e-3 * scores[0])


def test_few_proposals_and_one_output() -> None:
    u = source()
    _, r = planted("rational", u)
    settings = replace(WIDTH, proposals=3, polished=3, steps=2, rank=2)
    found = width_search(u, r[:, :1], 1 + D, "rational", settings)
    assert found.weights.shape == (3, 1 + D)
    assert np.all(np.isfinite(found.weights)) and np.all(np.isfinite(found.coefficients))


def test_spare_capacity_leaves_the_starts_at_their_scale() -> None:
    u = source()
    _, r = planted("rational", u)
    settings = replace(WIDTH, proposals=64, polished=64, steps=1, rank=32, learning_rate=1e-9)
    spreads = []
    for room in (0, 26):
        wide = np.pad(u, ((0, 0), (0, room)))
        found = width_search(wide, r, 1 + D, "rational", settings)
        # Standard deviations of the pre-activations from which polishing starts.
        spreads.append(np.median(np.std(wide @ np.asarray(found.weights).T, axis=0)))
    assert spreads[1] == pytest.approx(spreads[0], rel=0.25)


def test_whitened_inputs_have_unit_second_moment() -> None:
    u = np.pad(source(), ((0, 0), (0, 2)))
    rank = 8
    w = u @ np.asarray(whitening(*spectrum(u), rank)[0])
    moment = w.T @ w / N
    # Two of the eight directions are unused inputs: they are left out.
    expected = np.diag([0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(moment, expected, atol=1e-9)


def layer_problem() -> tuple[np.ndarray, np.ndarray]:
    u = source()
    rng = np.random.default_rng(5)
    r = np.sin(1.5 * u @ rng.standard_normal((1 + D, M)) / np.sqrt(D))
    return u, r - r.mean(axis=0)


def layer_gain(layer: Neurons, v: np.ndarray, r: np.ndarray) -> float:
    a_q = act("rational", v @ np.asarray(layer.weights).T, np.asarray(layer.coefficients))
    moment = a_q.T @ r / len(v)
    return float(np.trace(moment.T @ np.linalg.pinv(a_q.T @ a_q / len(v)) @ moment))


@pytest.mark.parametrize("method", ["closed_form", "gradient_ascent", "mala"])
def test_layers_are_good_invertible_and_leave_unused_neurons_out(method: str) -> None:
    v, r = layer_problem()
    found = depth_search(np.pad(v, ((0, 0), (0, ROOM))), r, D, DEPTHS[method])
    count = 1 if method == "mala" else DEPTH.polished
    assert found.weights.shape == (count, D + ROOM, 1 + D + ROOM)
    assert found.coefficients.shape == (count, D + ROOM, 3)
    assert not np.any(found.weights[:, D:])
    assert not np.any(found.weights[:, :, 1 + D :])

    rng = np.random.default_rng(0)
    kernels = rng.standard_normal((50, D, 1 + D)) / np.sqrt(D)
    drawn = [Neurons(kernel, rng.standard_normal((D, 3))) for kernel in kernels]
    typical = np.median([layer_gain(layer, v, r) for layer in drawn])
    best = Neurons(found.weights[0, :D, : 1 + D], found.coefficients[0, :D])
    assert layer_gain(best, v, r) > typical
    for weights in np.asarray(found.weights)[:, :D, 1 : 1 + D]:
        kernel = floored(weights.T, 1e-3)
        values = np.linalg.svd(kernel, compute_uv=False)
        assert values.min() >= 0.99e-3 * values.mean()
        np.testing.assert_allclose(kernel @ np.linalg.inv(kernel), np.eye(D), atol=1e-10)


def test_layers_are_factorised_one_at_a_time() -> None:
    # jaxlib 0.10 runs a batch of LAPACK calls as tasks of the thread pool that waits for them: two
    # batches at once locked up a machine with two cores. Batches of tiny matrices run in place.
    settings = DepthSearch("closed_form", 16, 4, 2, 0.1, 10.0, 0.01)
    v, residual = jnp.ones((64, 33)), jnp.ones((64, 10))
    lowered = jax.jit(search_layers, static_argnums=4).lower(
        jax.random.key(0), v, residual, jnp.asarray(32), settings
    )
    calls = [line for line in lowered.as_text().splitlines() if "@lapack_" in line]
    assert calls
    for line in calls:
        shapes = [s.split("x")[:-1] for s in re.findall(r"tensor<([0-9x]+x[a-z0-9]+)>", line)]
        work = [math.prod(map(int, s[:-2])) for s in shapes if len(s) > 2 and int(s[-1]) > 3]
        assert all(batch == 1 for batch in work), line
