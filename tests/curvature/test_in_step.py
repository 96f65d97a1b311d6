"""Curvature in the steps: one batch's factors against dense Fisher matrices, and their use."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.curvature import observe
from senn_cli.curvature.kronecker import second_moment, spectrum, with_constant
from senn_cli.curvature.tracked import TrackSettings
from senn_cli.curvature.tracking import (
    Tracked,
    Tracking,
    initial,
    make_track,
    preconditioned,
    stepped,
)
from senn_cli.engine.arrays import Arrays
from senn_cli.engine.metric import Metric, output_combination
from senn_cli.engine.objective import CLASSIFICATION
from senn_cli.nets.features import used_units
from senn_cli.nets.mlp import MlpArchitecture, initial_parameters
from senn_cli.nets.registry import Shifts, Signals, apply
from senn_cli.randomness import key_data
from tests.dense import (
    METRICS,
    Tree,
    close,
    double,
    fisher,
    in_use,
    network,
    outputs,
    padded,
    random_like,
    roomy,
)

RNG = np.random.default_rng(11)


@pytest.fixture(autouse=True, scope="module")
def _float64() -> Iterator[None]:
    yield from double()


Factors = dict[str, dict[str, Any]]


@partial(jax.jit, static_argnums=0)
def looked(
    architecture: MlpArchitecture, params: Tree, x: Any, output_gradient: Any
) -> tuple[Signals, Shifts]:
    """A forward pass, and what given gradients on the outputs are at every signal."""
    shape, used = architecture.shape(), used_units(architecture)

    def run(shifts: Shifts) -> Any:
        signals = apply(shape, params, x, used, shifts)
        return signals.outputs, signals

    _, pull, signals = jax.vjp(run, observe.silent(shape, params, used, x), has_aux=True)
    (sampled,) = pull(output_gradient)
    return signals, sampled


@partial(jax.jit, static_argnums=(0, 1))
def tracked_after(
    architecture: MlpArchitecture, settings: TrackSettings, seen: Any, g: Tree, exact: Any = None
) -> tuple[Tracked, Tree]:
    """The state after one batch, and what it makes of the gradient `g`."""
    shape, used = architecture.shape(), used_units(architecture)
    tracking = Tracking(settings, every=None)
    state = initial(shape, tracking, seen[0].outputs.dtype)
    state = stepped(shape, tracking, state, *seen, used, exact)
    return state, preconditioned(shape, tracking, state, g)


def factors_of(
    architecture: MlpArchitecture, params: Tree, x: Any, output_gradient: Any
) -> Factors:
    """One batch's factors for given gradients on the outputs."""
    seen = looked(architecture, params, x, output_gradient)
    settings = TrackSettings(1.0, 0.0, 1)
    state, _ = tracked_after(architecture, settings, seen, random_like(params))
    found: Factors = {
        name: {"a": pair.a.moment, "s": pair.s.moment} for name, pair in state.factors.maps.items()
    }
    return found | {name: {"c": block.moment} for name, block in state.factors.blocks.items()}


def exact_factors(
    architecture: MlpArchitecture, params: Tree, x: np.ndarray, metric: Metric
) -> Factors:
    """Factors with the expectation over sampled gradients carried out: sums over H's factor."""
    y = outputs(architecture, params, x)
    vectors = [output_combination(metric, y, e) for e in jnp.eye(y.shape[1])]
    each = [factors_of(architecture, params, x, np.asarray(v)) for v in vectors]
    total: Factors = jax.tree.map(lambda *leaves: np.sum(leaves, axis=0), *each)
    for name, leaves in total.items():
        if "a" in leaves:
            leaves["a"] = np.asarray(each[0][name]["a"])
    return total


def weights(linear: dict[str, Any]) -> np.ndarray:
    """A map's parameters as one matrix, the bias in row 0."""
    return np.concatenate([np.asarray(linear["bias"])[None], np.asarray(linear["kernel"])])


def block(
    architecture: MlpArchitecture, params: Tree, x: np.ndarray, metric: Metric, name: str
) -> np.ndarray:
    """The dense Fisher matrix's block of one map, `(1 + n_in, n_out, 1 + n_in, n_out)`, the bias
    in row 0; or of one layer's coefficients, `(3, n, 3, n)`.
    """
    leaves, structure = jax.tree.flatten(params)
    ends = np.cumsum([leaf.size for leaf in leaves])
    numbered = jax.tree.unflatten(
        structure,
        [
            np.arange(end - v.size, end).reshape(v.shape)
            for v, end in zip(leaves, ends, strict=True)
        ],
    )[name]
    rows = weights(numbered) if "kernel" in numbered else numbered["coefficients"]
    dense = fisher(architecture, params, x, metric)
    return dense[np.ix_(rows.ravel(), rows.ravel())].reshape(*rows.shape, *rows.shape)


def input_spectrum(x: np.ndarray) -> Any:
    return jax.jit(lambda x: spectrum(second_moment(with_constant(x))))(x)


def test_one_linear_map_with_the_euclidean_metric_is_exact() -> None:
    architecture, params = network((4, 3))
    x, damping = RNG.standard_normal((8, 4)), 0.07
    # Sampled gradients whose second moment is the identity to the last digit.
    g_out = np.sqrt(8) * np.linalg.qr(RNG.standard_normal((8, 3)))[0]
    seen = looked(architecture, params, x, g_out)
    batch = factors_of(architecture, params, x, g_out)
    np.testing.assert_allclose(batch["map_0"]["s"], np.eye(3), atol=1e-14)
    a = np.asarray(batch["map_0"]["a"])
    full = block(architecture, params, x, "euclidean", "map_0")
    np.testing.assert_allclose(full, np.einsum("ik,jl->ijkl", a, np.eye(3)), atol=1e-13)

    g = random_like(params)
    _, found = tracked_after(architecture, TrackSettings(damping, 0.9, 1), seen, g)
    # (A + pi r) x (I + r / pi) = F + (r / pi) A x I + (pi r + r^2) I with r^2 the damping.
    r, pi = np.sqrt(damping), np.sqrt(np.linalg.eigvalsh(a).mean())
    dense = (1 + r / pi) * full.reshape(15, 15) + (pi * r + damping) * np.eye(15)
    expected = np.linalg.solve(dense, weights(g["map_0"]).ravel()).reshape(5, 3)
    close(weights(found["map_0"]), expected, 1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_with_one_example_the_blocks_are_those_of_the_dense_fisher(metric: Metric) -> None:
    architecture, params = network((3, 4, 2, 3))
    x = RNG.standard_normal((1, 3))
    found = exact_factors(architecture, params, x, metric)
    for index in range(3):
        f = found[f"map_{index}"]
        expected = block(architecture, params, x, metric, f"map_{index}")
        close(np.einsum("ik,jl->ijkl", f["a"], f["s"]), expected, 1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_the_blocks_of_coefficients_are_exact_for_any_batch(metric: Metric) -> None:
    architecture, params = network((3, 4, 2, 3))
    x = RNG.standard_normal((6, 3))
    found = exact_factors(architecture, params, x, metric)
    for index, n in enumerate((4, 2)):
        name = f"activation_{index}"
        dense = block(architecture, params, x, metric, name)
        expected = np.stack([dense[:, j, :, j] for j in range(n)])
        close(found[name]["c"], expected, 1e-12)


def test_one_example_and_one_sampled_gradient_give_rank_one() -> None:
    # The block is v v^T with v the gradient of the sampled loss, by automatic differentiation.
    architecture, params = network((3, 4, 2))
    x, g_out = RNG.standard_normal((1, 3)), RNG.standard_normal((1, 2))
    batch = factors_of(architecture, params, x, g_out)
    v = jax.jit(jax.grad(lambda p: jnp.sum(outputs(architecture, p, x) * g_out)))(params)
    for index in range(2):
        f, w = batch[f"map_{index}"], weights(v[f"map_{index}"])
        close(np.einsum("ik,jl->ijkl", f["a"], f["s"]), np.einsum("ij,kl->ijkl", w, w), 1e-12)
    c = np.asarray(v["activation_0"]["coefficients"])
    close(batch["activation_0"]["c"], np.einsum("aj,bj->jab", c, c), 1e-12)


def test_precondition_is_the_damped_inverse_of_every_block() -> None:
    architecture, params = network((3, 4, 2))
    x, damping = RNG.standard_normal((9, 3)), 0.03
    g_out, g = RNG.standard_normal((9, 2)), random_like(params)
    batch = factors_of(architecture, params, x, g_out)
    seen = looked(architecture, params, x, g_out)
    _, found = tracked_after(architecture, TrackSettings(damping, 0.9, 1), seen, g)
    for index in range(2):
        a, s = (np.asarray(batch[f"map_{index}"][k]) for k in "as")
        pi = np.sqrt(np.trace(a) / len(a) / (np.trace(s) / len(s)))
        a = a + pi * np.sqrt(damping) * np.eye(len(a))
        s = s + np.sqrt(damping) / pi * np.eye(len(s))
        w = weights(g[f"map_{index}"])
        expected = np.linalg.solve(np.kron(a, s), w.ravel()).reshape(w.shape)
        close(weights(found[f"map_{index}"]), expected, 1e-11)
    c = np.asarray(batch["activation_0"]["c"]) + damping * np.eye(3)
    w = np.asarray(g["activation_0"]["coefficients"])
    expected = np.stack([np.linalg.solve(c[j], w[:, j]) for j in range(4)], axis=1)
    close(found["activation_0"]["coefficients"], expected, 1e-11)
    assert jax.tree.structure(found) == jax.tree.structure(params)


def test_a_fixed_input_factor_is_used_exactly() -> None:
    architecture, params = network((4, 3, 2))
    x, damping = RNG.standard_normal((20, 4)), 0.02
    exact = input_spectrum(x)
    g_out = RNG.standard_normal((3, 2))
    batch = factors_of(architecture, params, x[:3], g_out)
    seen = looked(architecture, params, x[:3], g_out)
    settings = TrackSettings(damping, 0.9, 1)
    state, _ = tracked_after(architecture, settings, seen, random_like(params), exact)
    f = state.factors.maps["map_0"].a
    a = np.concatenate([np.ones((20, 1)), x], axis=1)
    a = a.T @ a / 20
    np.testing.assert_allclose(f.moment, a, rtol=1e-13)
    s = np.asarray(batch["map_0"]["s"])
    pi = np.sqrt(np.trace(a) / 5 / (np.trace(s) / 3))
    expected = np.linalg.inv(a + pi * np.sqrt(damping) * np.eye(5))
    np.testing.assert_allclose(f.solver, expected, rtol=1e-9, atol=1e-11)
    # Only the first map reads the inputs.
    moment = state.factors.maps["map_1"].a.moment
    np.testing.assert_array_equal(moment, batch["map_1"]["a"])


@pytest.mark.parametrize("fixed", [False, True])
def test_spare_capacity_changes_no_update(fixed: bool) -> None:
    small, params = network((3, 4, 2, 3))
    large = roomy(small, (7, 5))
    x, g_out = RNG.standard_normal((6, 3)), RNG.standard_normal((6, 3))
    exact = input_spectrum(x) if fixed else None
    found = []
    for architecture in (small, large):
        p, g = padded(params, architecture), padded(random_like(params), architecture)
        seen = looked(architecture, p, x, g_out)
        _, direction = tracked_after(architecture, TrackSettings(0.01, 0.9, 1), seen, g, exact)
        found.append(in_use(direction, architecture))
    close(found[1], found[0], 1e-10)


def test_a_vanishing_gradient_leaves_everything_finite_in_float32() -> None:
    with jax.enable_x64(False):
        architecture, params = network((3, 4, 2))
        params["map_1"]["kernel"] = np.zeros((4, 2))
        x = RNG.standard_normal((5, 3)).astype(np.float32)
        params = jax.tree.map(np.float32, params)
        seen = looked(architecture, params, x, np.zeros((5, 2), np.float32))
        settings = TrackSettings(1e-3, 0.95, 1)
        state, found = tracked_after(
            architecture, settings, seen, jax.tree.map(np.ones_like, params)
        )
        for leaf in jax.tree.leaves((state.factors, found)):
            assert leaf.dtype != jnp.float64 and np.isfinite(leaf).all()


def test_looks_beside_the_steps_average_the_same_factors() -> None:
    # One example, whatever rows are drawn: A and the means are exact; S is a sample of its own.
    architecture, _ = network((3, 4, 2))
    params = jax.tree.map(np.float32, initial_parameters(architecture, 0))
    x, one = RNG.standard_normal((1, 3)).astype(np.float32), np.ones(1, np.float32)
    data = Arrays(x, np.zeros(1, np.int32), 0 * one, one, 0 * one, one)  # type: ignore[arg-type]
    tracking = Tracking(TrackSettings(0.1, 0.9, 1), every=5, samples=4)
    shape, widths = architecture.shape(), jnp.asarray(architecture.widths, jnp.int32)
    track = jax.jit(make_track(CLASSIFICATION, "softmax", tracking, ()), static_argnums=0)
    state = initial(shape, tracking)
    for number in range(2):
        step = np.int32(5 * number)
        state = track(shape, state, params, widths, data, key_data(0, "track"), step)
    read = observe.input_rows(shape.maps[0], jnp.asarray(x))
    pair = state.factors.maps["map_0"]
    np.testing.assert_allclose(pair.a.moment, read.T @ read, rtol=1e-5)
    np.testing.assert_array_equal(pair.a.ages, 2)
    # The coefficients' blocks are averages of v v^T, and their inverses are damped.
    block = state.factors.blocks["activation_0"]
    assert (np.linalg.eigvalsh(np.asarray(block.moment)) > -1e-6).all()
    eye = np.einsum("jab,jbc->jac", block.solver, block.moment + 0.1 * np.eye(3))
    np.testing.assert_allclose(eye, np.broadcast_to(np.eye(3), eye.shape), atol=1e-5)
    found = preconditioned(shape, tracking, state, params)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(found))
