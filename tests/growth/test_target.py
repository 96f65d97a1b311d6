from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.growth.target import Target, gain_of_layer, gain_of_neurons
from senn_cli.growth.target import prepare as prepare_target

pytestmark = pytest.mark.usefixtures("double")

N, K, M, Q = 60, 5, 3, 2
SEEDS = st.integers(0, 2**32 - 1)
SHARES = st.floats(1e-6, 0.1)


class Problem(NamedTuple):
    a: np.ndarray
    g: np.ndarray
    s: np.ndarray
    a_p: np.ndarray


def problem(seed: int) -> Problem:
    """Correlated activations with the constant in front, gradients that depend on them in part."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((N, K)) @ rng.standard_normal((K, K))
    a[:, 0] = 1.0
    a_p = np.tanh(a @ rng.standard_normal((K, Q)) + rng.standard_normal((N, Q)))
    g = a @ rng.standard_normal((K, M)) + a_p @ rng.standard_normal((Q, M))
    g += rng.standard_normal((N, M)) @ rng.standard_normal((M, M))
    root = rng.standard_normal((M, M + 2))
    return Problem(a, g, root @ root.T, a_p)


def _prepare(a: Any, g: Any, s: Any, k: Any, m: Any, share_a: Any, share_s: Any) -> Target:
    return prepare_target(a, g, s, active_in=k, active_out=m, share_a=share_a, share_s=share_s)


prepare = jax.jit(_prepare)
neurons = jax.jit(gain_of_neurons)
layer = jax.jit(gain_of_layer)


def target_of(p: Problem, share_a: float, share_s: float) -> Target:
    return prepare(p.a, p.g, p.s, K, M, share_a, share_s)


@settings(max_examples=15)
@given(seed=SEEDS, share_a=SHARES, share_s=SHARES)
def test_eta_is_the_trace_by_dense_solves(
    seed: int, share_a: float, share_s: float, dense: Any
) -> None:
    p = problem(seed)
    target = target_of(p, share_a, share_s)
    assert float(target.eta) == pytest.approx(dense.eta(p.a, p.g, p.s, share_a, share_s), rel=1e-8)


@settings(max_examples=15)
@given(seed=SEEDS, share_a=SHARES, share_s=SHARES)
def test_eta_is_the_gradient_through_the_inverse_fisher_matrix(
    seed: int, share_a: float, share_s: float, dense: Any
) -> None:
    p = problem(seed)
    fisher = np.kron(dense.damped(p.s, share_s), dense.damped(p.a.T @ p.a / N, share_a))
    # Mean over examples of the gradient of every weight, output by output.
    gradient = np.mean([np.kron(g, a) for a, g in zip(p.a, p.g, strict=True)], axis=0)
    expected = gradient @ np.linalg.solve(fisher, gradient)
    assert float(target_of(p, share_a, share_s).eta) == pytest.approx(expected, rel=1e-8)


@settings(max_examples=15)
@given(seed=SEEDS, share_a=SHARES, share_s=SHARES)
def test_eta_lies_between_zero_and_its_bound(
    seed: int, share_a: float, share_s: float, dense: Any
) -> None:
    p = problem(seed)
    target = target_of(p, share_a, share_s)
    solved = np.linalg.solve(dense.damped(p.s, share_s), p.g.T).T
    bound = np.mean(np.sum(p.g * solved, axis=1))
    assert float(target.bound) == pytest.approx(bound, rel=1e-8)
    assert 0.0 <= float(target.eta) <= bound * (1 + 1e-10)


def test_eta_reaches_the_bound_where_activations_explain_the_gradients() -> None:
    p = problem(1)
    explained = p._replace(g=p.a @ np.random.default_rng(0).standard_normal((K, M)))
    target = target_of(explained, 1e-12, 1e-3)
    assert float(target.eta) == pytest.approx(float(target.bound), rel=1e-8)


@settings(max_examples=15)
@given(seed=SEEDS, share_a=SHARES)
def test_the_lower_bound_is_below_the_exact_increase(seed: int, share_a: float) -> None:
    p = problem(seed)
    target = target_of(p, share_a, 1e-3)
    single, whole = neurons(target, p.a_p), layer(target, p.a_p)
    assert np.all(np.asarray(single.lower) >= 0)
    assert np.all(np.asarray(single.lower) <= np.asarray(single.exact) * (1 + 1e-9))
    assert 0 <= float(whole.lower) <= float(whole.exact) * (1 + 1e-9)
    # Within the bound lambda together with what is there already.
    assert float(target.eta + whole.exact) <= float(target.bound) * (1 + 1e-9)
    # Two neurons together raise the score at least as much as the better one alone.
    assert float(whole.exact) >= float(np.max(single.exact)) * (1 - 1e-9)


@settings(max_examples=15)
@given(seed=SEEDS, share_a=SHARES)
def test_the_exact_increase_is_the_difference_of_scores(
    seed: int, share_a: float, dense: Any
) -> None:
    p = problem(seed)
    target = target_of(p, share_a, 1e-3)
    s_matrix = dense.damped(p.s, 1e-3)

    def increase(a_p: np.ndarray) -> tuple[float, float]:
        """Delta eta with the new neurons' share of damping on their own power, and Delta eta'."""
        both = np.concatenate([p.a, a_p], axis=1)
        matrix = both.T @ both / N
        old = dense.damped(p.a.T @ p.a / N, share_a)
        matrix[:K, :K] = old
        new = np.arange(K, K + a_p.shape[1])
        matrix[new, new] *= 1 + share_a
        joint = dense.score(matrix, s_matrix, both.T @ p.g / N)
        residual = p.g - p.a @ np.linalg.solve(old, p.a.T @ p.g / N)
        lower = dense.score(matrix[K:, K:], s_matrix, a_p.T @ residual / N)
        return joint - dense.score(old, s_matrix, p.a.T @ p.g / N), lower

    single, whole = neurons(target, p.a_p), layer(target, p.a_p)
    for j in range(Q):
        exact, lower = increase(p.a_p[:, j : j + 1])
        assert float(single.exact[j]) == pytest.approx(exact, rel=1e-6, abs=1e-10)
        assert float(single.lower[j]) == pytest.approx(lower, rel=1e-6, abs=1e-10)
    exact, lower = increase(p.a_p)
    assert float(whole.exact) == pytest.approx(exact, rel=1e-6, abs=1e-10)
    assert float(whole.lower) == pytest.approx(lower, rel=1e-6, abs=1e-10)


def test_a_layer_of_one_neuron_is_a_neuron() -> None:
    p = problem(3)
    target = target_of(p, 1e-3, 1e-3)
    one, whole = neurons(target, p.a_p[:, :1]), layer(target, p.a_p[:, :1])
    for ours, theirs in zip(one, whole, strict=True):
        assert float(ours[0]) == pytest.approx(float(theirs), rel=1e-10)


def test_an_unused_neuron_of_a_layer_adds_nothing() -> None:
    p = problem(4)
    target = target_of(p, 1e-3, 1e-3)
    padded = np.concatenate([p.a_p, np.zeros((N, 1))], axis=1)
    for ours, theirs in zip(layer(target, p.a_p), layer(target, padded), strict=True):
        assert float(ours) == pytest.approx(float(theirs), rel=1e-10)


@pytest.mark.parametrize("column", [0, 2])
def test_a_copy_scores_zero_up_to_the_damping(column: int) -> None:
    p = problem(5)
    copy = 3.0 * p.a[:, column : column + 1]
    gains = []
    for share in (1e-2, 1e-4, 1e-6):
        target = target_of(p, share, 1e-3)
        gains.append(float(neurons(target, copy).exact[0]))
        assert 0 <= gains[-1] <= share * K * float(target.eta)
    # Of first order in the damping: a hundredth of it leaves a hundredth.
    assert gains[1] / gains[2] == pytest.approx(100, rel=0.05)
    # Two copies of the same new neuron are worth one of them.
    target = target_of(p, 1e-8, 1e-3)
    twice = np.concatenate([p.a_p[:, :1], p.a_p[:, :1]], axis=1)
    assert float(layer(target, twice).exact) == pytest.approx(
        float(neurons(target, p.a_p[:, :1]).exact[0]), rel=1e-5
    )


def test_an_orthogonal_neuron_scores_its_full_gain(dense: Any) -> None:
    p = problem(6)
    orthogonal = p.a_p[:, :1] - p.a @ np.linalg.lstsq(p.a, p.a_p[:, :1], rcond=None)[0]
    gain = neurons(target_of(p, 1e-10, 1e-3), orthogonal)
    moment = orthogonal.T @ p.g / N
    weighted = np.linalg.solve(dense.damped(p.s, 1e-3), moment.T)
    full = float((moment @ weighted).item() / np.mean(orthogonal**2))
    assert full > 0.01
    assert float(gain.exact[0]) == pytest.approx(full, rel=1e-8)
    assert float(gain.lower[0]) == pytest.approx(full, rel=1e-8)


def test_scores_do_not_depend_on_the_scale_of_a_neuron() -> None:
    p = problem(7)
    target = target_of(p, 1e-3, 1e-3)
    for gain in (neurons, layer):
        reference = gain(target, p.a_p)
        for scale in (-1e3, 1e-4):
            for ours, theirs in zip(gain(target, scale * p.a_p), reference, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_a_dead_neuron_scores_nothing() -> None:
    gain = neurons(target_of(problem(8), 1e-3, 1e-3), np.zeros((N, 1)))
    assert [float(x[0]) for x in gain] == [0.0, 0.0, 0.0]


def test_padding_is_invisible() -> None:
    p = problem(9)
    wide = prepare(
        np.pad(p.a, ((0, 0), (0, 3))),
        np.pad(p.g, ((0, 0), (0, 2))),
        np.pad(p.s, ((0, 2), (0, 2))),
        K,
        M,
        1e-2,
        1e-2,
    )
    narrow = target_of(p, 1e-2, 1e-2)
    for field in ("eta", "eta_bias", "bound"):
        assert float(getattr(wide, field)) == pytest.approx(
            float(getattr(narrow, field)), rel=1e-10
        )
    for gain in (neurons, layer):
        for ours, theirs in zip(gain(wide, p.a_p), gain(narrow, p.a_p), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def test_the_bias_of_a_finite_sample_is_removed() -> None:
    rng = np.random.default_rng(0)
    n, draws = 400, 1000
    a = np.concatenate([np.ones((n, 1)), rng.standard_normal((n, 3))], axis=1)
    a_p = np.tanh(rng.standard_normal((n, 2))) + 0.5 * a[:, 1:3]

    def one(g: jax.Array) -> tuple[jax.Array, ...]:
        target = _prepare(a, g, jnp.eye(M), 4, M, 1e-3, 1e-3)
        single, whole = gain_of_neurons(target, a_p), gain_of_layer(target, a_p)
        return (
            jnp.stack([target.eta, single.exact[0], whole.exact]),
            jnp.stack([target.eta_bias, single.bias[0], whole.bias]),
        )

    # Gradients that know nothing of any activation: whatever remains of a score is its bias.
    raw, bias = jax.jit(lambda gs: jax.lax.map(one, gs))(rng.standard_normal((draws, n, M)))
    raw, left = np.asarray(raw), np.asarray(raw - bias)
    error = left.std(axis=0) / np.sqrt(draws)
    assert np.all(np.abs(left.mean(axis=0)) < 4 * error)
    assert np.all(raw.mean(axis=0) > 20 * error)
