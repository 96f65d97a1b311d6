from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from senn_cli.engine.programs import Ledger
from senn_cli.growth.carry import edit_parameters
from senn_cli.growth.compiled import Compiled
from senn_cli.growth.dormant_mlp import DormantNeurons, gains
from senn_cli.growth.edits import AddUnits, RemoveUnit, edit_architecture
from senn_cli.growth.policy import Decision, Round, View
from senn_cli.growth.reader import Reader, Shares, make_reader
from senn_cli.growth.settings import PruneSettings, Settings, WidthSearch
from senn_cli.growth.standing import Dice, StandingSettings, standing
from senn_cli.nets.architecture import CapacityRule
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.training.network import capacity_edits
from tests.leastsquares import fit, fitted
from tests.views import view_of

SEEDS = st.integers(0, 2**32 - 1)
SETTINGS = Settings(
    threshold=7e-3,
    stop=1e-3,
    noise=0.0,
    samples=300,
    held_out=True,
    bias_removed=True,
    max_hidden=None,
    max_parameters=None,
    width=WidthSearch("closed_form", 32, 4, 5, 8, 0.1, 10.0),
    per_round=None,
    max_width=None,
    initial_coefficients=False,
    deepens=False,
    layer_cost=1.0,
    max_layers=None,
    singular_floor=0.1,
)
DORMANT = StandingSettings(neurons=12, activate=1.0, prune=1.0, redraw=0.5)


def with_proposals(seed: int, shares: Shares, count: int = 5) -> Reader:
    """A map with S of its own, and proposals that see something of the residual."""
    rng = np.random.default_rng(seed)
    problem = fit(seed)
    root = rng.standard_normal((3, 3))
    proposals = np.cos(problem.x @ rng.standard_normal((7, count)))
    a = np.concatenate([problem.x, proposals], axis=1)
    s = root @ root.T + 0.1 * np.eye(3)
    return make_reader(a, problem.g, s, problem.w, shares)


def dense_pair(reader: Reader, rows: np.ndarray, ridges: np.ndarray) -> float:
    """g1^T F^-1 g2 over the weights of `rows`, for the two halves' gradients, F = A (x) S."""
    a = reader.a[np.ix_(rows, rows)] + np.diag(ridges[rows])
    s = reader.s + reader.shares.s * np.trace(reader.s) / 3 * np.eye(3)
    one, two = (h[rows].ravel() for h in reader.halves)
    return float(one @ np.linalg.solve(np.kron(a, s), two))


def ridges_of(reader: Reader) -> np.ndarray:
    mean = np.trace(reader.a[:7, :7]) / 7
    return reader.shares.a * np.where(np.arange(len(reader.a)) < 7, mean, np.diagonal(reader.a))


@settings(max_examples=15)
@given(seed=SEEDS)
def test_gains_by_dense_solves(seed: int) -> None:
    reader = with_proposals(seed, Shares(1e-2, 1e-2))
    found, used, ridges = gains(reader), np.arange(7), ridges_of(reader)
    for place, row in enumerate(range(7, 12)):
        both = np.append(used, row)
        increase = dense_pair(reader, both, ridges) - dense_pair(reader, used, ridges)
        assert found.exact[place] == pytest.approx(increase, rel=1e-6, abs=1e-10)
        assert abs(found.lower[place]) <= abs(found.exact[place]) * (1 + 1e-9)


def test_noise_alone_scores_nothing_on_average_and_less_than_its_error() -> None:
    # With the plain product it would be m / N = 0.03.
    lower = []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        a = np.concatenate([np.ones((100, 1)), rng.standard_normal((100, 3))], axis=1)
        g = rng.standard_normal((100, 3))
        reader = make_reader(a, g, np.eye(3), np.zeros((2, 3)), Shares(1e-3, 1e-6))
        lower += list(gains(reader).lower)
    error = 2 * np.sqrt(3) / 100
    assert abs(np.mean(lower)) < 5 * error / np.sqrt(800)
    assert np.std(lower) == pytest.approx(error, rel=0.15)


def test_dead_proposals_score_nothing() -> None:
    problem = fit(1)
    reader = problem.reader(proposals=np.zeros((len(problem.x), 2)))
    found = gains(reader)
    np.testing.assert_array_equal(found.exact, 0.0)
    np.testing.assert_array_equal(found.lower, 0.0)


def test_a_proposal_like_a_neuron_in_use_scores_nothing() -> None:
    problem = fitted(fit(1))
    y = problem.y + np.tanh(problem.x[:, 1:2] * problem.x[:, 2:3])
    problem = replace(problem, y=y)
    fresh = np.tanh(problem.x[:, 1:2] * problem.x[:, 2:3])
    copy = problem.x[:, 3:4]
    found = gains(problem.reader(proposals=np.concatenate([copy, fresh], axis=1)))
    assert abs(found.lower[0]) < 1e-4 * found.lower[1]


class Planted:
    """A network with outputs near 0 and two layers, and targets that call for more neurons."""

    def __init__(self, nets: Any, capacities: tuple[int, int] = (3, 2)) -> None:
        rng = np.random.default_rng(0)
        self.nets = nets
        self.shape: MlpArchitecture = nets.architecture(
            3, [(3, capacities[0], "rational"), (2, capacities[1], "tanh")], 2
        )
        small = nets.architecture(3, [(3, 3, "rational"), (2, 2, "tanh")], 2)
        tree = nets.draw(np.random.default_rng(1), small)
        self.params = {}
        for name, leaves in tree.items():
            n_in, n_out = self.shape.map_capacity(int(name[-1]))
            shapes = {"kernel": (n_in, n_out), "bias": (n_out,), "coefficients": (3, n_out)}
            self.params[name] = {
                k: np.pad(v, [(0, w - h) for w, h in zip(shapes[k], v.shape, strict=True)])
                for k, v in leaves.items()
            }
        self.x = rng.standard_normal((300, 3))
        z = self.x @ rng.standard_normal((3, 2))
        self.y = np.tanh(2 * z) + nets.run(small, tree, self.x).outputs

    def view(self, **changes: Any) -> View:
        return view_of(self.shape, self.params, self.x, self.y, **changes)

    def apply(self, decisions: tuple[Decision, ...]) -> list[tuple[MlpArchitecture, Any]]:
        shape, params, rule = self.shape, self.params, CapacityRule(4, 0.5)
        steps = [(shape, params)]
        for decision in decisions:
            if decision.edit is None:
                continue
            for edit in capacity_edits(shape, decision.edit, rule):
                params = edit_parameters(params, shape, edit)
                shape = edit_architecture(shape, edit)
                assert self.nets.unused_are_zero(shape, params)
            steps.append((shape, params))
        return steps


Decide = Callable[..., Round]


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return Compiled(Ledger(), "regression", "gaussian", damping_a=1e-3, damping_s=1e-3)


@pytest.fixture(scope="module")
def decide(compiled: Compiled) -> Decide:
    def run(view: View, dormant: StandingSettings = DORMANT, **changes: Any) -> Round:
        return DormantNeurons(replace(SETTINGS, **changes), dormant, compiled).decide(view)

    return run


@pytest.fixture(scope="module")
def planted(nets: Any) -> Planted:
    return Planted(nets)


def edits(found: Round, kind: type) -> list[Any]:
    return [d.edit for d in found.decisions if isinstance(d.edit, kind)]


def test_neurons_come_with_the_proposals_weights_and_keep_the_function(
    planted: Planted, decide: Decide, nets: Any
) -> None:
    found = decide(planted.view(step=7, per_epoch=3))
    added, steps = edits(found, AddUnits), planted.apply(found.decisions)
    assert {e.layer for e in added} == {0, 1} and found.finished
    before = nets.run(planted.shape, planted.params, planted.x).outputs
    for edit, (shape, params) in zip(added, steps[1:], strict=True):
        seen = nets.run(shape, params, planted.x)
        assert np.abs(seen.outputs - before).max() < 1e-12
        a = seen.reads[edit.layer + 1]
        # 300 examples, the whole training part: the second moments are those of the sample.
        np.testing.assert_allclose(edit.moments, a.T @ a / 300, rtol=1e-4, atol=1e-5)
        proposals = standing(DORMANT, planted.shape, 0, edit.layer, 2)
        mine = edit.incoming[: proposals.weights.shape[1], 0]
        (slot,) = np.flatnonzero(np.all(proposals.weights == mine, axis=1))
        assert not edit.incoming[proposals.weights.shape[1] :].any()
        if edit.layer == 0:
            np.testing.assert_array_equal(edit.coefficients[:, 0], proposals.coefficients[slot])
        else:
            assert edit.coefficients is None
    assert len({e.incoming.tobytes() for e in added}) == len(added)


def test_the_best_first_and_the_rest_by_what_it_leaves(planted: Planted, decide: Decide) -> None:
    found = decide(planted.view(), threshold=1e-3)
    last = found.decisions[-1]
    assert last.edit is not None  # where something happens there is no rejection
    for decision in found.decisions:
        chosen, *others = decision.candidates
        assert chosen.passes and chosen.score == chosen.delta_eta_lower > 1e-3
        assert chosen.ratio == pytest.approx(chosen.score / chosen.eta) and chosen.ratio > 1e-3
        assert all(chosen.score >= other.score for other in others)
        assert "tau" in decision.reason and decision.loss is not None
    # eta counts all maps, and each neuron raises it by at least what its bound promised.
    etas = [d.candidates[0].eta for d in found.decisions]
    assert len(etas) > 2 and etas == sorted(etas)


def test_thresholds_noise_and_limits(planted: Planted, decide: Decide) -> None:
    def added(**changes: Any) -> int:
        loose = {"threshold": 1e-3, **changes}
        return len(edits(decide(planted.view(), **loose), AddUnits))

    free = added()
    assert free > 2
    assert added(threshold=1e3) == added(stop=1e3) == added(noise=1e3) == 0
    assert added(per_round=2) == 2
    assert added(max_hidden=6) == 1
    assert added(max_hidden=5) == added(widens=False) == 0
    # The wider layer has 3 neurons, so none joins it.
    only = edits(decide(planted.view(), threshold=1e-3, max_width=3), AddUnits)
    assert all(e.layer == 1 for e in only) and len(only) <= 1
    assert added(max_parameters=planted.shape.parameters) == 0
    for changes, words in (
        ({"threshold": 1e3}, "tau"),
        ({"stop": 1e3}, "alpha"),
        ({"noise": 1e3}, "noise"),
        ({"max_hidden": 5}, "max_hidden"),
        ({"widens": False}, "no site"),
    ):
        (decision,) = decide(planted.view(), **changes).decisions
        assert decision.edit is None and words in decision.reason


def test_a_rejection_an_epoch(planted: Planted, decide: Decide) -> None:
    def rejections(every: int, per_epoch: int) -> list[int]:
        steps = range(every, 31, every)
        return [
            step
            for step in steps
            if decide(planted.view(step=step, every=every, per_epoch=per_epoch), stop=1e9).decisions
        ]

    assert rejections(2, 10) == [10, 20, 30]
    assert rejections(10, 5) == [10, 20, 30]
    assert rejections(3, 10) == [12, 21, 30]


def test_nothing_is_looked_at_where_chance_chose_nothing(planted: Planted) -> None:
    never = replace(DORMANT, activate=0.0, prune=0.0)
    policy = DormantNeurons(replace(SETTINGS, prune=PruneSettings(1, None)), never, None)  # type: ignore[arg-type]
    assert policy.decide(planted.view(step=3, every=1, per_epoch=10)) == Round(())


def test_a_passing_proposal_that_chance_left_out_is_named(planted: Planted, decide: Decide) -> None:
    (decision,) = decide(planted.view(), replace(DORMANT, activate=0.0)).decisions
    assert decision.edit is None and "drawn" in decision.reason
    assert decision.candidates[0].passes


def likely(count: int, trials: int, probability: float) -> bool:
    """Whether a binomial count is within bounds that it leaves once in a billion times."""
    low, high = stats.binom.interval(1 - 1e-9, trials, probability)
    return bool(low <= count <= high)


def test_dice_have_the_given_probabilities(planted: Planted) -> None:
    options = StandingSettings(neurons=30, activate=0.02, prune=0.05, redraw=0.0)
    counts = np.zeros(4, int)
    for seed in range(400):
        dice = Dice.thrown(options, planted.view(seed=seed, step=8, every=4), prunes=True)
        counts += [int(m.sum()) for m in (*dice.activate, *dice.prune)]
    activate, prune = 1 - 0.98**4, 1 - 0.95**4
    assert likely(counts[0], 400 * 30, activate) and likely(counts[1], 400 * 30, activate)
    assert likely(counts[2], 400 * 3, prune) and likely(counts[3], 400 * 2, prune)
    off = Dice.thrown(options, planted.view(every=1000), prunes=False)
    assert not any(m.any() for m in off.prune) and all(m.all() for m in off.activate)


def test_passing_proposals_are_taken_as_often_as_the_spec_says(
    planted: Planted, decide: Decide
) -> None:
    # With one slot a layer, and no other to compete: taken if it passes and if chance wants it.
    one = replace(DORMANT, neurons=1, redraw=1.0)
    shape = planted.shape
    trials = taken = 0
    for step in range(1, 150):
        view = planted.view(step=step)
        sure = {e.layer for e in edits(decide(view, one), AddUnits)}
        if 1 not in sure:
            continue
        trials += 1
        maybe = decide(view, replace(one, activate=0.3))
        taken += any(e.layer == 1 for e in edits(maybe, AddUnits))
    assert shape is planted.shape and trials > 40
    assert likely(taken, trials, 0.3)


def test_neurons_that_nobody_would_add_go_by_chance_too(nets: Any, decide: Decide) -> None:
    idle = Planted(nets)
    idle.params["map_2"]["kernel"][1] = 0.0
    idle.y = nets.run(idle.shape, idle.params, idle.x).outputs  # nothing is left to learn
    options: dict[str, Any] = {"prune": PruneSettings(1, None), "stop": 1e-6}
    found = decide(idle.view(), **options)
    (edit,) = (e for e in edits(found, RemoveUnit) if e.layer == 1)
    assert edit.unit == 1 and all(d.change is not None for d in found.decisions)
    spared = decide(idle.view(), replace(DORMANT, prune=0.0), **options)
    assert edits(spared, RemoveUnit) == []
    trials, gone = 120, 0
    for step in range(trials):
        some = decide(idle.view(step=step), replace(DORMANT, prune=0.4), **options)
        gone += any(e.layer == 1 for e in edits(some, RemoveUnit))
    assert likely(gone, trials, 0.4)


def test_new_neurons_are_not_pruned_in_their_round(planted: Planted, decide: Decide) -> None:
    found = decide(planted.view(), prune=PruneSettings(1, None), stop=1e-3, threshold=0.0)
    added, taken = edits(found, AddUnits), edits(found, RemoveUnit)
    assert added
    assert len([e for e in taken if e.layer == 0]) <= 3
    steps = planted.apply(found.decisions)
    assert steps[-1][0].widths[0] >= sum(e.layer == 0 for e in added)
    for edit, (shape, _) in zip(taken, steps[len(added) :], strict=False):
        (share,) = edit.compensation.values()
        assert share.shape == (1 + shape.widths[edit.layer], 1)


def test_the_policy_has_no_state(planted: Planted) -> None:
    def new() -> DormantNeurons:
        ledger = Ledger()
        compiled = Compiled(ledger, "regression", "gaussian", damping_a=1e-3, damping_s=1e-3)
        limits = replace(SETTINGS, prune=PruneSettings(1, 2))
        return DormantNeurons(limits, replace(DORMANT, activate=0.2, prune=0.2), compiled)

    def lines(found: Round) -> list[Any]:
        return [
            (d.reason, d.candidates, d.change, None if d.edit is None else d.edit.name)
            for d in found.decisions
        ]

    one, two = new(), new()
    forwards = [lines(one.decide(planted.view(step=s, per_epoch=2))) for s in (2, 4, 6)]
    backwards = [lines(two.decide(planted.view(step=s, per_epoch=2))) for s in (6, 4, 2)]
    assert forwards == backwards[::-1] and any(forwards)


def test_capacity_is_invisible(nets: Any, planted: Planted, decide: Decide) -> None:
    roomy = Planted(nets, (8, 5))
    one, two = (decide(p.view(), prune=PruneSettings(1, None)) for p in (planted, roomy))
    assert len(one.decisions) == len(two.decisions)
    for ours, theirs in zip(one.decisions, two.decisions, strict=True):
        assert ours.edit is not None and theirs.edit is not None
        assert (ours.edit.name, ours.edit.layer) == (theirs.edit.name, theirs.edit.layer)
        assert ours.candidates[0].score == pytest.approx(theirs.candidates[0].score, rel=1e-3)
        if isinstance(ours.edit, AddUnits) and isinstance(theirs.edit, AddUnits):
            np.testing.assert_array_equal(ours.edit.incoming, theirs.edit.incoming)
