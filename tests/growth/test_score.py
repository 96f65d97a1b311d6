from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.growth import score
from senn_cli.growth.compensation import compensated, compensation
from senn_cli.growth.moments import MapStatistics
from senn_cli.growth.target import gain_of_neurons, prepare

pytestmark = pytest.mark.usefixtures("double")

SEEDS = st.integers(0, 2**32 - 1)
LAYOUTS = ["dense", "convolution"]

removal = jax.jit(score.removals)
eta = jax.jit(score.eta)


@jax.jit
def gain(m: MapStatistics, groups: Any, other: Any = None) -> jax.Array:
    found: jax.Array = score.gains(m, groups, other).lower
    return found


@jax.jit
def gain_exact(m: MapStatistics, groups: Any, other: Any = None) -> jax.Array:
    found: jax.Array = score.gains(m, groups, other).exact
    return found


class Problem(NamedTuple):
    """Statistics over all rows as NumPy arrays, A and S damped where their names say so."""

    a: np.ndarray
    ridge: np.ndarray
    s: np.ndarray
    gradient: np.ndarray
    kernel: np.ndarray
    used: np.ndarray
    groups: np.ndarray

    @property
    def damped(self) -> np.ndarray:
        return self.a + np.diag(self.ridge)


def problem(layout: str, seed: int, ridge: float = 1e-2) -> Problem:
    """Five features, three of them used, and a row that belongs to none (a bias), used.

    Rows of a convolution's features are interleaved: those of one position stand together.
    """
    rng = np.random.default_rng(seed)
    group = 1 if layout == "dense" else 3
    groups = 1 + np.arange(5)[:, None] + 5 * np.arange(group)
    n, outputs = 1 + 5 * group, 4
    x = rng.standard_normal((3 * n, n)) @ (np.eye(n) + 0.5 * rng.standard_normal((n, n)))
    x[:, 0] = 1.0
    used = np.zeros(n, bool)
    used[[0, *groups[[0, 2, 3]].ravel()]] = True
    root = rng.standard_normal((outputs, 9))
    kernel = np.where(used[:, None], rng.standard_normal((n, outputs)), 0.0)
    a = x.T @ x / len(x)
    ridges = ridge * rng.uniform(0.5, 2.0, n)
    gradient = rng.standard_normal((n, outputs))
    return Problem(a, ridges, root @ root.T / 9, gradient, kernel, used, groups)


def consumer(p: Problem, dtype: Any = np.float64) -> MapStatistics:
    rows = np.flatnonzero(p.used)
    inverse = np.zeros_like(p.a)
    inverse[np.ix_(rows, rows)] = np.linalg.inv(p.damped[np.ix_(rows, rows)])
    numbers = (p.a, inverse, p.ridge, p.ridge, p.s, np.linalg.inv(p.s), p.gradient)
    return MapStatistics(*(jnp.asarray(x, dtype) for x in numbers), jnp.asarray(p.used))


def dense_eta(p: Problem, gradient: np.ndarray, rows: np.ndarray) -> float:
    """g^T F^-1 g over the weights of `rows`, with F = A (x) S as one matrix."""
    fisher = np.kron(p.damped[np.ix_(rows, rows)], p.s)
    g = gradient[rows].ravel()
    return float(g @ np.linalg.solve(fisher, g))


def dense_lower(p: Problem, gradient: np.ndarray, rows: np.ndarray, new: np.ndarray) -> float:
    """Theorem 2's bound for adding `new` to `rows`."""
    a = p.damped
    solved = np.linalg.solve(a[np.ix_(rows, rows)], gradient[rows])
    residual = gradient[new] - a[np.ix_(new, rows)] @ solved
    inner = residual @ np.linalg.solve(p.s, residual.T)
    return float(np.trace(np.linalg.solve(a[np.ix_(new, new)], inner)))


def dense_removal(p: Problem, rows: np.ndarray) -> tuple[float, float, float, np.ndarray]:
    """Remove, re-solve, re-add: cost, lower bound, change of the model's loss, new kernel."""
    others = np.setdiff1d(np.flatnonzero(p.used), rows)
    fisher = np.kron(p.damped, p.s)
    index = np.arange(p.kernel.size).reshape(p.kernel.shape)
    out, rest = index[rows].ravel(), index[others].ravel()
    step = np.zeros(p.kernel.size)
    step[out] = -p.kernel.ravel()[out]
    # The compensation keeps the quadratic form of the change as small as it can be.
    step[rest] = -np.linalg.solve(fisher[np.ix_(rest, rest)], fisher[np.ix_(rest, out)] @ step[out])
    g = p.gradient.ravel()
    change = g @ step + 0.5 * step @ fisher @ step
    after = (g + fisher @ step).reshape(p.gradient.shape)
    cost = dense_eta(p, after, np.concatenate([others, rows])) - dense_eta(p, after, others)
    kernel = p.kernel + step.reshape(p.kernel.shape)
    return cost, dense_lower(p, after, others, rows), float(change), kernel


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=10)
@given(seed=SEEDS)
def test_scores_of_unused_features_by_dense_solves(layout: str, seed: int) -> None:
    p = problem(layout, seed)
    rows, c = np.flatnonzero(p.used), consumer(p)
    assert float(eta(c)) == pytest.approx(dense_eta(p, p.gradient, rows), rel=1e-9)
    lower, exact = np.asarray(gain(c, p.groups)), np.asarray(gain_exact(c, p.groups))
    for feature in range(5):
        new = p.groups[feature]
        if p.used[new[0]]:
            assert lower[feature] == exact[feature] == 0.0
            continue
        both = np.concatenate([rows, new])
        increase = dense_eta(p, p.gradient, both) - dense_eta(p, p.gradient, rows)
        assert exact[feature] == pytest.approx(increase, rel=1e-7)
        assert lower[feature] == pytest.approx(dense_lower(p, p.gradient, rows, new), rel=1e-8)
        assert 0.0 < lower[feature] <= exact[feature] * (1 + 1e-10)


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=10)
@given(seed=SEEDS)
def test_removal_is_removing_solving_again_and_adding_again(layout: str, seed: int) -> None:
    p = problem(layout, seed)
    found = removal(consumer(p), p.kernel, p.groups)
    for feature in range(5):
        rows = p.groups[feature]
        if not p.used[rows[0]]:
            assert [float(x[feature]) for x in found] == [0.0] * 5
            continue
        cost, lower, change, _ = dense_removal(p, rows)
        assert float(found.cost[feature]) == pytest.approx(cost, rel=1e-7)
        assert float(found.lower[feature]) == pytest.approx(lower, rel=1e-7)
        assert float(found.change[feature]) == pytest.approx(change, rel=1e-7, abs=1e-9)
        assert float(found.lower[feature]) <= float(found.cost[feature]) * (1 + 1e-9)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_counterfactual_network_scores_the_removed_feature_at_its_cost(layout: str) -> None:
    # Feed the removed state back in: an unused feature's score there is the removal cost here.
    p = problem(layout, 4)
    found = removal(consumer(p), p.kernel, p.groups)
    for feature in (0, 2, 3):
        rows = p.groups[feature]
        kernel = dense_removal(p, rows)[3]
        used = p.used.copy()
        used[rows] = False
        gradient = p.gradient + p.damped @ (kernel - p.kernel) @ p.s
        after = consumer(p._replace(used=used, gradient=gradient, kernel=kernel))
        exact, lower = gain_exact(after, p.groups), gain(after, p.groups)
        assert float(exact[feature]) == pytest.approx(float(found.cost[feature]), rel=1e-8)
        assert float(lower[feature]) == pytest.approx(float(found.lower[feature]), rel=1e-8)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_compensation_is_the_optimal_one(layout: str) -> None:
    p = problem(layout, 1, ridge=0.0)
    rows = p.groups[2]
    c = compensation(p.a, p.used, rows)
    kernel = compensated(p.kernel, c, rows)
    np.testing.assert_allclose(kernel, dense_removal(p, rows)[3], rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(kernel[~p.used], 0.0)
    np.testing.assert_array_equal(kernel[rows], 0.0)


class Regression(NamedTuple):
    """Least squares on features x: the quadratic model with S = I is the loss itself."""

    x: np.ndarray
    y: np.ndarray
    p: Problem

    def loss(self, kernel: np.ndarray) -> float:
        return 0.5 * float(np.mean(np.sum((self.x @ kernel - self.y) ** 2, axis=1)))

    def best(self, rows: np.ndarray) -> float:
        """The lowest loss that weights on `rows` alone can reach."""
        kernel = np.zeros_like(self.p.kernel)
        kernel[rows] = np.linalg.lstsq(self.x[:, rows], self.y, rcond=None)[0]
        return self.loss(kernel)


def regression(layout: str = "dense", copies: tuple[int, int] | None = None) -> Regression:
    """`copies` (one, two): the rows of feature two repeat those of feature one."""
    p = problem(layout, 8, ridge=1e-9)
    rng = np.random.default_rng(9)
    n = len(p.a)
    x = np.tanh(rng.standard_normal((200, n)) + rng.standard_normal((200, 1)))
    x[:, 0] = 1.0
    if copies is not None:
        x[:, p.groups[copies[1]]] = x[:, p.groups[copies[0]]]
    y = np.sin(x @ rng.standard_normal((n, 4))) + 0.3 * rng.standard_normal((200, 4))
    gradient = x.T @ (x @ p.kernel - y) / len(x)
    return Regression(x, y, p._replace(a=x.T @ x / len(x), s=np.eye(4), gradient=gradient))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_predictions_come_true_in_least_squares(layout: str) -> None:
    r = regression(layout)
    p, c = r.p, consumer(r.p)
    rows = np.flatnonzero(p.used)
    # eta / 2 is the loss that the used weights can still save, a gain / 2 what a feature adds.
    assert 0.5 * float(eta(c)) == pytest.approx(r.loss(p.kernel) - r.best(rows), rel=1e-6)
    exact, found = gain_exact(c, p.groups), removal(c, p.kernel, p.groups)
    for feature in range(5):
        mine = p.groups[feature]
        if not p.used[mine[0]]:
            saved = r.best(rows) - r.best(np.union1d(rows, mine))
            assert 0.5 * float(exact[feature]) == pytest.approx(saved, rel=1e-5)
            continue
        pruned = compensated(p.kernel, compensation(p.a, p.used, mine), mine)
        change = r.loss(pruned) - r.loss(p.kernel)
        assert float(found.change[feature]) == pytest.approx(change, rel=1e-5, abs=1e-8)
        lost = r.best(np.setdiff1d(rows, mine)) - r.best(rows)
        assert 0.5 * float(found.cost[feature]) == pytest.approx(lost, rel=1e-5)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_redundant_copy_costs_nothing_and_one_half_of_a_split_is_compensated_exactly(
    layout: str,
) -> None:
    # Features 0 and 2 are the same and share the weights unevenly between them.
    r = regression(layout, copies=(0, 2))
    p = r.p
    found = removal(consumer(p), p.kernel, p.groups)
    ordinary = float(found.cost[3])
    for feature, twin in ((0, 2), (2, 0)):
        mine = p.groups[feature]
        assert float(found.cost[feature]) < 1e-6 * ordinary
        assert abs(float(found.change[feature])) < 1e-6 * r.loss(p.kernel)
        kernel = compensated(p.kernel, compensation(p.a, p.used, mine), mine)
        np.testing.assert_allclose(r.x @ kernel, r.x @ p.kernel, rtol=0, atol=1e-9)
        both = p.kernel[p.groups[0]] + p.kernel[p.groups[2]]
        np.testing.assert_allclose(kernel[p.groups[twin]], both, atol=1e-9)
    assert ordinary > 1e-3


def test_a_copy_is_compensated_to_a_part_in_a_hundred_thousand_from_float32_statistics() -> None:
    r = regression("convolution", copies=(0, 2))
    x = jnp.asarray(r.x, jnp.float32)
    a = np.asarray(x.T @ x / len(x))
    assert a.dtype == np.float32
    mine, w = r.p.groups[2], r.p.kernel.astype(np.float32)
    kernel = compensated(w, compensation(a, r.p.used, mine), mine)
    assert kernel.dtype == np.float32
    before, after = r.x @ w, r.x @ kernel
    assert np.abs(after - before).max() < 1e-5 * np.abs(before).max()


def test_a_feature_with_the_weights_that_the_optimum_wants_has_no_slope_left() -> None:
    # At the optimum the gradient is zero: the cost is twice the loss that the removal adds.
    r = regression()
    kernel = np.zeros_like(r.p.kernel)
    rows = np.flatnonzero(r.p.used)
    kernel[rows] = np.linalg.lstsq(r.x[:, rows], r.y, rcond=None)[0]
    gradient = r.x.T @ (r.x @ kernel - r.y) / len(r.x)
    found = removal(consumer(r.p._replace(gradient=gradient)), kernel, r.p.groups)
    np.testing.assert_allclose(found.cost, 2 * np.asarray(found.change), rtol=1e-6)


def test_an_unused_copy_of_a_used_feature_scores_nothing_and_a_bias_counts() -> None:
    r = regression(copies=(0, 1))  # 1 is not in use
    exact, lower = (np.asarray(f(consumer(r.p), r.p.groups)) for f in (gain_exact, gain))
    assert exact[1] < 1e-6 * exact[4] and lower[1] < 1e-6 * lower[4]
    # A constant feature is what the bias is already.
    x = r.x.copy()
    x[:, r.p.groups[1]] = 2.0
    p = r.p._replace(a=x.T @ x / len(x), gradient=x.T @ (x @ r.p.kernel - r.y) / len(x))
    assert float(gain_exact(consumer(p), p.groups)[1]) < 1e-6 * exact[4]


def test_the_last_used_feature_can_be_removed_too() -> None:
    p = problem("dense", 2)
    used = np.zeros_like(p.used)
    used[p.groups[3]] = True
    p = p._replace(used=used, kernel=np.where(used[:, None], p.kernel, 0.0))
    found = removal(consumer(p), p.kernel, p.groups)
    a, w, g = p.damped[4, 4], p.kernel[4], p.gradient[4]
    np.testing.assert_array_equal(p.groups[3], [4])
    expected = (g - a * w @ p.s) @ np.linalg.solve(p.s, g - a * w @ p.s) / a
    assert float(found.cost[3]) == pytest.approx(expected, rel=1e-10)
    assert float(found.lower[3]) == pytest.approx(expected, rel=1e-10)
    assert float(found.change[3]) == pytest.approx(-g @ w + 0.5 * a * w @ p.s @ w, rel=1e-10)
    assert not compensation(p.a, p.used, p.groups[3]).any()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_padding_is_invisible_and_scores_nothing(layout: str) -> None:
    p = problem(layout, 5)
    small = consumer(p)
    group = p.groups.shape[1]
    # Two more features whose rows come in between, and three more outputs.
    wide_groups = 1 + np.arange(7)[:, None] + 7 * np.arange(group)
    place = np.concatenate([[0], wide_groups[:5].T.ravel()])
    n, outputs = 1 + 7 * group, 7
    rows, square = np.zeros((n, outputs)), np.zeros((n, n))

    def wide(x: Any) -> Any:
        result = np.zeros((n, outputs))
        result[place, :4] = x
        return result

    def across(x: Any) -> Any:
        result = np.zeros_like(square)
        result[np.ix_(place, place)] = x
        return result

    used, ridge = np.zeros(n, bool), np.full(n, 1e-2)
    used[place], ridge[place] = p.used, p.ridge
    # Unused outputs have random weights from used features.
    kernel = wide(p.kernel)
    kernel[:, 4:] = np.where(used[:, None], np.random.default_rng(0).standard_normal((n, 3)), 0)
    large = MapStatistics(
        *(jnp.asarray(x) for x in (across(p.a), across(small.a_inverse), ridge, ridge)),
        *(jnp.asarray(np.pad(x, (0, 3))) for x in (small.s, small.s_inverse)),
        jnp.asarray(wide(p.gradient)),
        jnp.asarray(used),
    )
    assert rows.shape == kernel.shape
    assert float(eta(large)) == pytest.approx(float(eta(small)), rel=1e-12)
    for f in (gain, gain_exact):
        found = np.asarray(f(large, wide_groups))
        np.testing.assert_allclose(found[:5], f(small, p.groups), rtol=1e-10)
        np.testing.assert_array_equal(found[5:], 0.0)
    before, after = removal(small, p.kernel, p.groups), removal(large, kernel, wide_groups)
    for ours, theirs in zip(after, before, strict=True):
        np.testing.assert_allclose(ours[:5], theirs, rtol=1e-10)
        np.testing.assert_array_equal(ours[5:], 0.0)
    c = compensation(np.asarray(large.a), used, wide_groups[2])
    expected = compensation(p.a, p.used, p.groups[2])
    np.testing.assert_allclose(c[place], expected, rtol=1e-10, atol=1e-14)


def test_agrees_with_the_scores_of_proposals_from_the_same_examples() -> None:
    rng = np.random.default_rng(3)
    a = np.concatenate([np.ones((60, 1)), rng.standard_normal((60, 5))], axis=1)
    a[:, 4] += a[:, 1]
    g = a @ rng.standard_normal((6, 3)) + rng.standard_normal((60, 3))
    s, share = g.T @ g / 60, 1e-3
    prepared = jax.jit(
        lambda: prepare(a[:, :4], g, s, active_in=4, active_out=3, share_a=share, share_s=share)
    )()
    expected = gain_of_neurons(prepared, jnp.asarray(a[:, 4:]))
    moment = a.T @ a / 60
    own, mean = share * np.diag(moment), share * np.trace(moment[:4, :4]) / 4
    p = Problem(
        moment,
        np.where(np.arange(6) < 4, mean, own),
        s + share * np.trace(s) / 3 * np.eye(3),
        a.T @ g / 60,
        np.zeros((6, 3)),
        np.arange(6) < 4,
        np.arange(6)[:, None],
    )
    assert float(eta(consumer(p))) == pytest.approx(float(prepared.eta), rel=1e-9)
    np.testing.assert_allclose(gain(consumer(p), p.groups)[4:], expected.lower, rtol=1e-8)
    np.testing.assert_allclose(gain_exact(consumer(p), p.groups)[4:], expected.exact, rtol=1e-8)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_single_precision_suffices(layout: str) -> None:
    p = problem(layout, 6)
    single, double = consumer(p, np.float32), consumer(p)
    for f in (gain, gain_exact):
        found = f(single, p.groups)
        assert found.dtype == jnp.float32
        np.testing.assert_allclose(found, f(double, p.groups), rtol=2e-3)
    found = removal(single, jnp.asarray(p.kernel, jnp.float32), p.groups)
    for ours, theirs in zip(found, removal(double, p.kernel, p.groups), strict=True):
        assert ours.dtype == jnp.float32
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_of_different_batches_leave_no_bias(layout: str) -> None:
    p = problem(layout, 3)
    rng = np.random.default_rng(1)
    one, two = 3 * rng.standard_normal((2, *p.gradient.shape))

    def scores(gradient: np.ndarray, other: np.ndarray | None) -> list[np.ndarray]:
        c = consumer(p._replace(gradient=gradient))
        found = [eta(c, other), gain(c, p.groups, other), gain_exact(c, p.groups, other)]
        return [np.asarray(x) for x in (*found, *removal(c, p.kernel, p.groups, other))]

    # Over independent signs of two noises the mean is the noiseless score.
    clean = scores(p.gradient, None)
    signs = [(i, j) for i in (-1, 1) for j in (-1, 1)]
    noisy = [scores(p.gradient + i * one, p.gradient + j * two) for i, j in signs]
    for k, expected in enumerate(clean):
        mean = np.mean([x[k] for x in noisy], axis=0)
        np.testing.assert_allclose(mean, expected, rtol=1e-9, atol=1e-10)
    # With the same gradient twice nothing changes, and noise raises all scores.
    for ours, theirs in zip(scores(p.gradient, p.gradient), clean, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    raised = [scores(p.gradient + i * one, None)[1] for i in (-1, 1)]
    assert np.all(np.mean(raised, axis=0)[[1, 4]] > clean[1][[1, 4]])


def test_noise_raises_a_score_by_rows_times_outputs_over_examples() -> None:
    # Gradients that are pure noise with second moment A (x) S / N.
    p = problem("convolution", 2, ridge=1e-8)
    examples, draws = 50, 4000
    left, right = np.linalg.cholesky(p.a), np.linalg.cholesky(p.s)
    noise = np.random.default_rng(0).standard_normal((draws, *p.gradient.shape))
    gradients = left @ noise @ right.T / np.sqrt(examples)
    c = consumer(p)
    run = jax.jit(jax.vmap(lambda g: score.gains(c._replace(gradient=g), p.groups).exact))
    # A chi-squared variable with 3 x 4 degrees of freedom, of standard deviation sqrt(24).
    mean = np.asarray(run(gradients)).mean(axis=0)[[1, 4]] * examples
    np.testing.assert_allclose(mean, 12, atol=5 * np.sqrt(24 / draws))


def test_an_inverse_that_lags_behind_leaves_the_exact_score_at_its_bound() -> None:
    p = problem("dense", 7)
    c = consumer(p)
    # The used rows' power was a hundredth when the inverse was made.
    late = c._replace(a_inverse=100.0 * c.a_inverse)
    exact, lower = gain_exact(late, p.groups), gain(late, p.groups)
    assert np.isfinite(exact).all() and float(jnp.max(exact)) > 0
    np.testing.assert_array_equal(exact, lower)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_host_computes_what_the_device_does(layout: str) -> None:
    p = problem(layout, 7)
    rng = np.random.default_rng(2)
    other, root = rng.standard_normal((2, *p.gradient.shape))[0], rng.standard_normal(p.a.shape)
    device = consumer(p)._replace(scatter=jnp.asarray(root @ root.T), fresh=3 * consumer(p).fresh)
    host = MapStatistics(*(np.asarray(x) for x in device))
    left = rng.uniform(0.5, 1.0, (5, 1, 1)) * np.eye(p.groups.shape[1])
    pairs = [
        (score.gains(host, p.groups, other), score.gains(device, p.groups, jnp.asarray(other))),
        (
            score.removals(host, p.kernel, p.groups, other, left),
            score.removals(device, p.kernel, p.groups, other, left),
        ),
        ([score.eta(host), score.eta_bias(host)], [score.eta(device), score.eta_bias(device)]),
    ]
    for ours, theirs in pairs:
        for one, two in zip(ours, theirs, strict=True):
            assert isinstance(one, np.ndarray | np.floating) and np.any(one)
            np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_unit_that_comes_back_is_damped_as_one_that_comes(layout: str) -> None:
    # Remove, solve again with the damping of what is in use, add again with that of what comes.
    p, factor = problem(layout, 9), 5.0
    m = consumer(p)._replace(fresh=jnp.asarray(factor * p.ridge))
    found = removal(m, p.kernel, p.groups)
    for feature in (0, 2, 3):
        rows = p.groups[feature]
        kernel = dense_removal(p, rows)[3]
        gradient = p.gradient + p.damped @ (kernel - p.kernel) @ p.s
        ridge = p.ridge.copy()
        ridge[rows] *= factor
        again = p._replace(ridge=ridge, gradient=gradient)
        others = np.setdiff1d(np.flatnonzero(p.used), rows)
        rest = dense_eta(again, gradient, others)
        cost = dense_eta(again, gradient, np.concatenate([others, rows])) - rest
        assert float(found.cost[feature]) == pytest.approx(cost, rel=1e-7)
        assert float(found.eta[feature]) == pytest.approx(rest, rel=1e-7)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_bias_is_what_noise_adds(layout: str) -> None:
    # Gradients that are noise of second moment A (x) S / N: its scatter is m A / N.
    p, examples, draws = problem(layout, 2, ridge=1e-8), 50, 4000
    noise = np.random.default_rng(0).standard_normal((draws, *p.gradient.shape))
    left, right = np.linalg.cholesky(p.a), np.linalg.cholesky(p.s)
    gradients = left @ noise @ right.T / np.sqrt(examples)
    c = consumer(p)._replace(scatter=jnp.asarray(4 * p.a / examples))
    nothing = np.zeros_like(p.kernel)

    def scores(g: jax.Array) -> tuple[jax.Array, ...]:
        m = c._replace(gradient=g)
        removed = score.removals(m, nothing, p.groups).cost
        return score.gains(m, p.groups).exact, removed, score.eta(m)

    means = [np.asarray(x).mean(axis=0) for x in jax.jit(jax.vmap(scores))(gradients)]
    told = score.gains(c, p.groups).bias, score.removals(c, nothing, p.groups).bias
    degrees = p.groups.shape[1] * 4
    for mean, bias, which in zip(means[:2], told, ([1, 4], [0, 2, 3]), strict=True):
        np.testing.assert_allclose(np.asarray(bias)[which], degrees / examples, rtol=1e-4)
        spread = 5 * np.sqrt(2 * degrees / draws) / examples
        np.testing.assert_allclose(mean[which], np.asarray(bias)[which], atol=spread)
    assert float(means[2]) == pytest.approx(float(score.eta_bias(c)), rel=0.05)
