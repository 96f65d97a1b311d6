from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.growth import removal
from senn_cli.growth.edits import RemoveUnit
from senn_cli.growth.policy import Decision, sites
from senn_cli.growth.reader import Shares, make_reader
from senn_cli.growth.removal import Bar, removals
from senn_cli.growth.settings import PruneSettings
from senn_cli.growth.target import gain_of_neurons, prepare
from senn_cli.nets.architecture import Layer
from senn_cli.nets.mlp import MlpArchitecture
from tests.dense import double
from tests.leastsquares import Fit, fit, fitted

SEEDS = st.integers(0, 2**32 - 1)
CHAIN = MlpArchitecture(6, 3, (Layer(6, 6, "tanh"),) * 3)
"""What the readers are taken to be of: their names matter alone."""


def prunings(settings: PruneSettings, bar: Bar, readers: Any, **options: Any) -> list[Decision]:
    """Those of the first layers of a chain."""
    found = sites(CHAIN, width=True, depth=False)[: len(readers)]
    places = [(site, site.targets(CHAIN)[0]) for site in found]
    return removal.prunings(settings, bar, readers, places=places, **options)


FREE = PruneSettings(min_width=1, per_round=None)
NEVER = Bar(threshold=0.0, stop=-np.inf, noise=0.0, bias_removed=False)


@pytest.fixture(autouse=True)
def in_double() -> Iterator[None]:
    yield from double()


def bar(stop: float, threshold: float = 0.0, **changes: Any) -> Bar:
    return replace(NEVER, stop=stop, threshold=threshold, **changes)


def copied(problem: Fit, one: int, two: int) -> Fit:
    """Neuron `two` has the input weights of neuron `one`."""
    x = problem.x.copy()
    x[:, 1 + two] = x[:, 1 + one]
    return replace(problem, x=x)


def pruned(decision: Decision) -> tuple[int, np.ndarray]:
    edit = decision.edit
    assert isinstance(edit, RemoveUnit) and edit.compensation is not None
    (share,) = edit.compensation.values()
    return edit.unit, share[:, 0]


@settings(max_examples=20)
@given(seed=SEEDS)
def test_a_copy_costs_nothing_and_leaves_its_weights_to_its_twin(seed: int) -> None:
    problem = copied(fit(seed), 1, 4)
    found = removals(problem.reader())
    assert max(found.cost[1], found.cost[4]) < 1e-6 * (1 + problem.reader().eta)
    # At the best fit it costs nothing at all, however the scores are damped.
    best = removals(fitted(problem).reader(Shares(1e-3, 1e-3)))
    assert max(best.cost[1], best.cost[4]) < 1e-8
    # Elsewhere damping hides a share of eta, far below any sensible tau.
    usual = removals(problem.reader(Shares(1e-3, 1e-3)))
    assert max(usual.cost[1], usual.cost[4]) < 2e-3 * problem.reader().eta
    # Only one of them: the other is then needed.
    (decision,) = prunings(FREE, bar(1e-5), [problem.reader()])
    neuron, combination = pruned(decision)
    after = problem.without(neuron, combination)
    before = problem.x @ problem.w
    assert np.abs(after.x @ after.w - before).max() < 1e-5 * np.abs(before).max()
    # Wherever the twin is now: one neuron with the sum of both halves' output weights.
    twin = 1 + (1 if neuron == 4 else 4)
    np.testing.assert_allclose(after.w[twin], problem.w[2] + problem.w[5], atol=1e-5)
    assert decision.change == pytest.approx(0.0, abs=1e-6)


@settings(max_examples=20)
@given(seed=SEEDS)
def test_a_neuron_without_output_weights_and_without_gain_goes_and_changes_nothing(
    seed: int,
) -> None:
    problem = fitted(fit(seed))
    # The targets are such that the best fit has no use for neuron 2.
    y = problem.y + np.outer(problem.x[:, 3], -problem.w[3])
    problem = fitted(replace(problem, y=y))
    assert np.abs(problem.w[3]).max() < 1e-10
    problem.w[3] = 0.0
    (decision,) = prunings(FREE, bar(1e-9), [problem.reader()])
    neuron, combination = pruned(decision)
    assert neuron == 2 and decision.change == 0.0
    after = problem.without(neuron, combination)
    kept = [0, 1, 2, 6, 4, 5]
    np.testing.assert_array_equal(after.w, problem.w[kept])


def dense_eta(gradient: np.ndarray, a: np.ndarray, s: np.ndarray, rows: np.ndarray) -> float:
    """g^T F^-1 g over the weights of `rows`, with F = A (x) S as one matrix."""
    g = gradient[rows].ravel()
    return float(g @ np.linalg.solve(np.kron(a[np.ix_(rows, rows)], s), g))


@settings(max_examples=15)
@given(seed=SEEDS)
def test_costs_and_changes_by_a_dense_quadratic_model(seed: int) -> None:
    # S is not the identity here: one matrix F over all weights, solved densely.
    rng = np.random.default_rng(seed)
    problem = fit(seed)
    root = rng.standard_normal((3, 3))
    s, a = root @ root.T + 0.1 * np.eye(3), problem.x.T @ problem.x / len(problem.x)
    g = rng.standard_normal((len(problem.x), 3))
    reader = make_reader(problem.x, g, s, problem.w, Shares(1e-9, 1e-12))
    gradient, fisher = problem.x.T @ g / len(g), np.kron(a, s)
    found, index = removals(reader), np.arange(problem.w.size).reshape(problem.w.shape)
    everything = np.arange(7)
    for neuron in range(6):
        out = index[1 + neuron]
        rest = np.setdiff1d(index, out)
        step = np.zeros(problem.w.size)
        step[out] = -problem.w[1 + neuron]
        pull = fisher[np.ix_(rest, out)] @ step[out]
        step[rest] = -np.linalg.solve(fisher[np.ix_(rest, rest)], pull)
        flat = gradient.ravel()
        after = (flat + fisher @ step).reshape(gradient.shape)
        others = np.delete(everything, 1 + neuron)
        eta = dense_eta(after, a, s, others)
        cost = dense_eta(after, a, s, everything) - eta
        assert found.cost[neuron] == pytest.approx(cost, rel=1e-3, abs=1e-6)
        assert found.eta[neuron] == pytest.approx(eta, rel=1e-3, abs=1e-6)
        assert found.lower[neuron] <= found.cost[neuron] * (1 + 1e-9)
        # The compensation of the edit is that of the dense model too.
        used = removal.stand_in(reader, neuron)
        change = flat @ step + 0.5 * step @ fisher @ step
        assert reader.change(neuron, used) == pytest.approx(change, rel=1e-3, abs=1e-6)
        moved = np.outer(used, problem.w[1 + neuron])
        moved[1 + neuron] = -problem.w[1 + neuron]
        np.testing.assert_allclose(moved.ravel(), step, atol=1e-4)


@settings(max_examples=10)
@given(seed=SEEDS)
def test_the_cost_is_what_adding_the_neuron_again_would_score(seed: int) -> None:
    problem, shares = fit(seed), Shares(1e-4, 1e-3)
    found = removals(problem.reader(shares))
    for neuron in range(6):
        after = problem.without(neuron, removal.stand_in(problem.reader(shares), neuron))
        target = prepare(
            jnp.asarray(after.x),
            jnp.asarray(after.g),
            jnp.eye(3),
            active_in=jnp.asarray(6),
            active_out=jnp.asarray(3),
            share_a=shares.a,
            share_s=shares.s,
        )
        gain = gain_of_neurons(target, jnp.asarray(problem.x[:, 1 + neuron : 2 + neuron]))
        # The ridge is a share of the mean power, with or without the neuron: hence the tolerance.
        slack = shares.a * float(target.eta)
        assert found.cost[neuron] == pytest.approx(float(gain.exact[0]), rel=0.02, abs=slack)
        assert found.lower[neuron] == pytest.approx(float(gain.lower[0]), rel=0.02, abs=slack)
        assert found.eta[neuron] == pytest.approx(float(target.eta), rel=0.01)


@pytest.mark.parametrize("limit", ["stop", "threshold"])
def test_a_neuron_that_would_be_added_again_at_once_stays(limit: str) -> None:
    for seed in range(6):
        reader = fit(seed).reader()
        found = removals(reader)
        level = float(np.min(found.cost / (1.0 if limit == "stop" else found.eta)))
        for factor, goes in ((0.99, False), (1.01, True)):
            level_bar = replace(bar(-1.0), **{limit: factor * level})
            taken = prunings(replace(FREE, per_round=1), level_bar, [reader])
            assert bool(taken) is goes
            if goes:
                assert not taken[0].candidates[0].passes
                assert ("alpha" if limit == "stop" else "tau eta") in taken[0].reason


def test_the_cheapest_goes_first_and_each_prediction_comes_true() -> None:
    problem = fitted(fit(5, n=8))
    first = int(np.argmin(removals(problem.reader()).cost))
    decisions = prunings(
        PruneSettings(min_width=3, per_round=None), bar(np.inf), [problem.reader()]
    )
    assert len(decisions) == 5 and pruned(decisions[0])[0] == first
    for decision in decisions:
        before = problem.loss()
        problem = problem.without(*pruned(decision))
        assert decision.change == pytest.approx(problem.loss() - before, rel=1e-6)
    # Numbers and weights are those of the time: the same statistics as from the start.
    assert problem.x.shape[1] == 4


def test_limits() -> None:
    reader = fit(1).reader()
    assert len(prunings(PruneSettings(1, None), bar(np.inf), [reader])) == 5
    assert len(prunings(PruneSettings(4, None), bar(np.inf), [reader])) == 2
    assert len(prunings(PruneSettings(6, None), bar(np.inf), [reader])) == 0
    assert len(prunings(PruneSettings(9, None), bar(np.inf), [reader])) == 0
    assert len(prunings(PruneSettings(1, 3), bar(np.inf), [reader])) == 3
    assert len(prunings(PruneSettings(5, 3), bar(np.inf), [reader, reader])) == 2
    assert prunings(FREE, bar(np.inf), []) == []


def test_decisions_are_recorded() -> None:
    (decision,) = prunings(
        replace(FREE, per_round=1), bar(np.inf, 0.5), [fit(1).reader()], loss=2.0
    )
    assert (decision.threshold, decision.stop, decision.loss) == (0.5, np.inf, 2.0)
    chosen = decision.candidates[0]
    assert chosen.score == chosen.delta_eta == pytest.approx(chosen.ratio * chosen.eta)
    assert decision.reason.startswith("removal cost") and "layer 0 neuron" in decision.reason
    assert decision.seconds >= 0


def test_a_cost_that_may_be_low_by_chance_is_not_low() -> None:
    found = removals(fit(1).reader())
    neuron = int(np.argmin(found.cost))
    cost, bias = float(found.cost[neuron]), float(found.bias[neuron])

    def goes(stop: float, noise: float, bias_removed: bool) -> bool:
        level = bar(stop, noise=noise, bias_removed=bias_removed)
        return bool(prunings(FREE, level, [fit(1).reader()]))

    assert goes(cost * 1.01, 0.0, False)
    assert goes((cost - bias) + 0.01 * cost, 0.0, True)
    assert not goes((cost - bias) + 0.01 * cost, 1.0, True)
    assert goes((cost + bias) + 0.01 * cost, 2.0, True)


def test_the_bias_is_the_expected_cost_of_a_neuron_that_does_nothing() -> None:
    # Gradients that are noise, 0 weights: whatever a removal seems to cost is the sample's doing.
    costs, biases = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        x = np.concatenate([np.ones((100, 1)), rng.standard_normal((100, 4))], axis=1)
        g = rng.standard_normal((100, 3))
        found = removals(make_reader(x, g, np.eye(3), np.zeros((5, 3)), Shares(1e-3, 1e-3)))
        costs.append(found.cost.mean())
        biases.append(found.bias.mean())
    # m / N for m outputs.
    assert np.mean(costs) == pytest.approx(0.03, rel=0.1)
    assert np.mean(biases) == pytest.approx(np.mean(costs), rel=0.12)


def test_a_dead_neuron_costs_nothing() -> None:
    problem = fit(2)
    x = problem.x.copy()
    x[:, 3] = 0.0
    found = removals(replace(problem, x=x).reader(Shares(1e-3, 1e-3)))
    assert found.cost[2] == pytest.approx(0.0, abs=1e-12)
    assert all(np.all(np.isfinite(v)) for v in found)


def test_the_scale_of_a_neuron_does_not_matter() -> None:
    problem, shares = fit(6), Shares(1e-6, 1e-3)
    x, w = problem.x.copy(), problem.w.copy()
    x[:, 3] *= 1e-4
    w[3] *= 1e4
    plain, small = removals(problem.reader(shares)), removals(Fit(x, problem.y, w).reader(shares))
    assert small.cost[2] == pytest.approx(plain.cost[2], rel=0.01)
