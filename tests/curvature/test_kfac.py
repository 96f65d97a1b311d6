from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.curvature import kfac
from senn_cli.curvature.kfac import Factors, KfacSettings, KfacState
from senn_cli.curvature.kronecker import second_moment, spectrum, with_constant
from senn_cli.engine.metric import Metric, output_factor
from senn_cli.nets.features import used_units
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.nets.registry import Shifts, apply
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
    widths_of,
)

RNG = np.random.default_rng(11)


@pytest.fixture(autouse=True, scope="module")
def _float64() -> Iterator[None]:
    yield from double()


@partial(jax.jit, static_argnums=0)
def factors_of(
    architecture: MlpArchitecture, params: Tree, x: Any, output_gradient: Any
) -> Factors:
    """One batch's factors for given gradients on the outputs."""
    shape, used = architecture.shape(), used_units(architecture)
    zeros = {m.name: jnp.zeros((len(x), m.columns)) for m in architecture.maps}

    def run(shifts: Any) -> Any:
        signals = apply(shape, params, x, used, Shifts(shifts))
        return signals.outputs, signals

    _, pull, signals = jax.vjp(run, zeros, has_aux=True)
    (gradients,) = pull(output_gradient)
    return kfac.batch_factors(shape, params, signals, gradients)


def exact_factors(
    architecture: MlpArchitecture, params: Tree, x: np.ndarray, metric: Metric
) -> Factors:
    """Factors with the expectation over sampled gradients carried out: sums over H's factor."""
    vectors = output_factor(metric, outputs(architecture, params, x))
    each = [factors_of(architecture, params, x, v) for v in np.asarray(vectors)]
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


@partial(jax.jit, static_argnums=0)
def after_one_batch(
    architecture: MlpArchitecture, batch: Factors, damping: Any, g: Tree, input_factor: Any = None
) -> tuple[KfacState, Tree]:
    """The state after one batch, and what it makes of the gradient `g`."""
    shape = architecture.shape()
    state = kfac.initial_state(shape, jnp.float64)
    settings = KfacSettings(damping, 0.9, 1)
    state = kfac.update(settings, shape, state, batch, widths_of(architecture), input_factor)
    return state, kfac.precondition(shape, state, g)


def input_spectrum(x: np.ndarray) -> Any:
    return jax.jit(lambda x: spectrum(second_moment(with_constant(x))))(x)


def test_one_linear_map_with_the_euclidean_metric_is_exact() -> None:
    architecture, params = network((4, 3))
    x, damping = RNG.standard_normal((8, 4)), 0.07
    # Sampled gradients whose second moment is the identity to the last digit.
    g_out = np.sqrt(8) * np.linalg.qr(RNG.standard_normal((8, 3)))[0]
    batch = factors_of(architecture, params, x, g_out)
    np.testing.assert_allclose(batch["map_0"]["s"], np.eye(3), atol=1e-14)
    a = np.asarray(batch["map_0"]["a"])
    full = block(architecture, params, x, "euclidean", "map_0")
    np.testing.assert_allclose(full, np.einsum("ik,jl->ijkl", a, np.eye(3)), atol=1e-13)

    g = random_like(params)
    _, found = after_one_batch(architecture, batch, damping, g)
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
    batch = factors_of(architecture, params, x, RNG.standard_normal((9, 2)))
    g = random_like(params)
    _, found = after_one_batch(architecture, batch, damping, g)
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


class Series:
    """Batches' factors that are random numbers, and what KFAC makes of them."""

    def __init__(self, decay: float, every: int) -> None:
        self.architecture, self.params = network((2, 3, 2))
        self.shape, self.widths = self.architecture.shape(), widths_of(self.architecture)
        self.batches = [
            factors_of(self.architecture, self.params, x, g)
            for x, g in zip(
                RNG.standard_normal((8, 5, 2)), RNG.standard_normal((8, 5, 2)), strict=True
            )
        ]
        settings = KfacSettings(0.1, decay, every)
        self.update = jax.jit(
            lambda state, batch: kfac.update(settings, self.shape, state, batch, self.widths, None)
        )

    def states(self, start: KfacState | None = None) -> list[KfacState]:
        """The states after each batch."""
        state = kfac.initial_state(self.shape, jnp.float64) if start is None else start
        found = []
        for batch in self.batches:
            state = self.update(state, batch)
            found.append(state)
        return found


def test_averages_are_means_at_first_and_decay_later() -> None:
    decay = 0.75
    series = Series(decay, 1)
    states = series.states()
    for name in ("map_0", "map_1", "activation_0"):
        for symbol in series.batches[0][name]:
            batches = [np.asarray(b[name][symbol]) for b in series.batches]
            found = [np.asarray(s.factors[name][symbol]) for s in states]
            np.testing.assert_array_equal(found[0], batches[0])
            for k in (2, 3, 4):  # 1 - 1/k reaches 0.75 at the fourth batch
                np.testing.assert_allclose(found[k - 1], np.mean(batches[:k], axis=0), rtol=1e-12)
            for k in range(4, 8):
                expected = decay * found[k - 1] + (1 - decay) * batches[k]
                np.testing.assert_allclose(found[k], expected, rtol=1e-12)
    assert [int(s.seen) for s in states] == list(range(1, 9))


def test_no_moving_average_means_the_last_batch() -> None:
    series = Series(0.0, 1)
    for state, batch in zip(series.states(), series.batches, strict=True):
        np.testing.assert_array_equal(state.factors["map_1"]["s"], batch["map_1"]["s"])


def fresh(state: KfacState) -> list[bool]:
    """For each inverse, whether it is that of the current factor, with some positive damping."""
    found = []
    for leaves in state.factors.values():
        for symbol in [k for k in leaves if not k.endswith("_inverse")]:
            rest = np.linalg.inv(leaves[f"{symbol}_inverse"]) - np.asarray(leaves[symbol])
            eye = np.eye(rest.shape[-1])
            shift = np.trace(rest, axis1=-2, axis2=-1)[..., None, None] / len(eye) * eye
            found.append(bool(np.allclose(rest, shift, rtol=0, atol=1e-9) and (shift >= 0).all()))
    return found


def test_inverses_are_made_every_so_many_steps() -> None:
    states = Series(0.9, 3).states()
    for index, state in enumerate(states):
        assert set(fresh(state)) == {index % 3 == 0}
        assert not bool(state.stale)
        if index % 3:
            before = states[index - 1].factors["map_0"]["a_inverse"]
            np.testing.assert_array_equal(state.factors["map_0"]["a_inverse"], before)


def test_stale_inverses_are_made_anew_at_once() -> None:
    series = Series(0.9, 1000)
    second = series.states()[1]
    assert set(fresh(second)) == {False}
    after = series.update(second._replace(stale=jnp.ones((), bool)), series.batches[2])
    assert set(fresh(after)) == {True} and not bool(after.stale)


def test_an_entry_made_anew_takes_its_next_batch_in_full() -> None:
    series = Series(0.9, 1)
    old = series.states()[4]
    ages = {**old.ages, "activation_0": jnp.zeros((), jnp.int32)}
    after = series.update(old._replace(ages=ages), series.batches[5])
    new = series.batches[5]
    np.testing.assert_array_equal(after.factors["activation_0"]["c"], new["activation_0"]["c"])
    expected = 5 / 6 * np.asarray(old.factors["map_0"]["a"]) + new["map_0"]["a"] / 6
    np.testing.assert_allclose(after.factors["map_0"]["a"], expected, rtol=1e-12)


def test_a_fixed_input_factor_is_used_exactly() -> None:
    architecture, params = network((4, 3, 2))
    x, damping = RNG.standard_normal((20, 4)), 0.02
    exact = input_spectrum(x)
    batch = factors_of(architecture, params, x[:3], RNG.standard_normal((3, 2)))
    state, _ = after_one_batch(architecture, batch, damping, random_like(params), exact)
    f = state.factors["map_0"]
    a = np.concatenate([np.ones((20, 1)), x], axis=1)
    a = a.T @ a / 20
    np.testing.assert_allclose(f["a"], a, rtol=1e-13)
    s = np.asarray(batch["map_0"]["s"])
    pi = np.sqrt(np.trace(a) / 5 / (np.trace(s) / 3))
    expected = np.linalg.inv(a + pi * np.sqrt(damping) * np.eye(5))
    np.testing.assert_allclose(f["a_inverse"], expected, rtol=1e-9, atol=1e-11)
    # Only the first map reads the inputs.
    np.testing.assert_array_equal(state.factors["map_1"]["a"], batch["map_1"]["a"])


@pytest.mark.parametrize("fixed", [False, True])
def test_spare_capacity_changes_no_update(fixed: bool) -> None:
    small, params = network((3, 4, 2, 3))
    large = roomy(small, (7, 5))
    x, g_out = RNG.standard_normal((6, 3)), RNG.standard_normal((6, 3))
    exact = input_spectrum(x) if fixed else None
    found = []
    for architecture in (small, large):
        p, g = padded(params, architecture), padded(random_like(params), architecture)
        batch = factors_of(architecture, p, x, g_out)
        _, direction = after_one_batch(architecture, batch, 0.01, g, exact)
        found.append(in_use(direction, architecture))
    close(found[1], found[0], 1e-10)


def test_a_vanishing_gradient_leaves_everything_finite_in_float32() -> None:
    with jax.enable_x64(False):
        architecture, params = network((3, 4, 2))
        params["map_1"]["kernel"] = np.zeros((4, 2))
        x = RNG.standard_normal((5, 3)).astype(np.float32)
        batch = factors_of(architecture, params, x, np.zeros((5, 2), np.float32))
        shape, widths = architecture.shape(), widths_of(architecture)
        settings = KfacSettings(1e-3, 0.95, 1)

        @jax.jit
        def compute(batch: Factors, g: Tree) -> tuple[KfacState, Tree]:
            state = kfac.initial_state(shape)
            state = kfac.update(settings, shape, state, batch, widths, None)
            return state, kfac.precondition(shape, state, g)

        state, found = compute(batch, random_like(params))
        for leaf in jax.tree.leaves((state.factors, found)):
            assert leaf.dtype == jnp.float32 and np.isfinite(leaf).all()


def test_active_counts() -> None:
    architecture = roomy(network((3, 4, 2, 5))[0], (7, 6))
    counts = kfac.active_counts(architecture.shape(), widths_of(architecture))
    assert [int(c) for c in counts] == [3, 4, 2, 5]
