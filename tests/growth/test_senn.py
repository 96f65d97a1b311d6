from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
import pytest

from senn_cli.growth.carry import edit_parameters
from senn_cli.growth.compiled import ROOM
from senn_cli.growth.edits import (
    AddUnits,
    Enlarge,
    InsertLayer,
    edit_architecture,
)
from senn_cli.growth.policies.search_round import SearchRound
from senn_cli.growth.policy import Candidate, Decision, Round, Site, View
from senn_cli.growth.settings import DepthSearch, Settings, WidthSearch
from senn_cli.nets.architecture import CapacityRule
from senn_cli.training.network import capacity_edits
from tests.views import view_of

N, INPUTS, OUTPUTS = 400, 4, 2
WIDTH = WidthSearch(
    method="closed_form",
    proposals=32,
    polished=4,
    steps=30,
    rank=8,
    learning_rate=0.1,
    temperature=10.0,
)
DEPTH = DepthSearch(
    method="closed_form",
    proposals=4,
    polished=2,
    steps=5,
    learning_rate=0.1,
    temperature=10.0,
    log_determinant=0.01,
)
SETTINGS = Settings(
    threshold=0.05,
    stop=2.5e-3,
    noise=0.0,
    samples=N,
    held_out=False,
    bias_removed=True,
    max_hidden=None,
    max_parameters=None,
    width=WIDTH,
    per_round=None,
    max_width=None,
    initial_coefficients=False,
    deepens=False,
    layer_cost=60.0,
    max_layers=None,
    singular_floor=0.1,
)
ONE = [(3, 8, "rational")]
TWO = [(3, 8, "rational"), (2, 8, "silu")]


class Problem:
    """A network whose outputs are 0, and data on which to regress."""

    def __init__(self, nets: Any, hidden: Any, targets: str, n: int = N, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.nets = nets
        self.shape = nets.architecture(INPUTS, hidden, OUTPUTS)
        self.params = nets.draw(rng, self.shape, np.float32)
        self.params[f"map_{len(hidden)}"] = jax.tree.map(
            np.zeros_like, self.params[f"map_{len(hidden)}"]
        )
        self.x = rng.standard_normal((n, INPUTS)).astype(np.float32)
        noise = rng.standard_normal((n, OUTPUTS))
        if targets == "noise":
            y = 0.3 * noise
        elif targets == "explained":
            reads = nets.run(self.shape, self.params, self.x).reads[-1]
            y = reads @ rng.standard_normal((reads.shape[1], OUTPUTS))
        else:
            z = self.x @ rng.standard_normal((INPUTS, 2)) + rng.standard_normal(2)
            y = np.tanh(2 * z) @ np.array([[1.0, -0.5], [0.3, 0.8]]) + 0.1 * noise
        self.y = y.astype(np.float32)

    def view(self, shape: Any = None, params: Any = None, **changes: Any) -> View:
        shape = self.shape if shape is None else shape
        params = self.params if params is None else params
        return view_of(shape, params, self.x, self.y, **changes)

    def apply(self, decisions: tuple[Decision, ...]) -> list[tuple[Any, Any]]:
        """The network before and after every edit."""
        shape, params = self.shape, self.params
        rule = CapacityRule(8, 0.5)
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

    def outputs(self, shape: Any, params: Any) -> np.ndarray:
        return self.nets.run(shape, params, self.x).outputs


@pytest.fixture(scope="module")
def planted(nets: Any) -> Problem:
    return Problem(nets, ONE, "planted")


def edits(found: Round) -> list[Any]:
    return [d.edit for d in found.decisions if d.edit is not None]


def test_gain_is_taken_within_the_bounds_of_theorem_1(
    planted: Problem, decide: Any, dense: Any
) -> None:
    found = decide(planted.view(), threshold=0.2, bias_removed=False)
    steps = planted.apply(found.decisions)
    etas = []
    for shape, params in steps:
        a = planted.nets.run(shape, params, planted.x.astype(np.float64)).reads[-1]
        etas.append(dense.eta(a, -planted.y.astype(np.float64), np.eye(OUTPUTS), 1e-3, 1e-3))
    accepted, bound = edits(found), float(np.mean(np.sum(planted.y**2, axis=1)))
    assert accepted and all(isinstance(e, AddUnits) and e.layer == 0 for e in accepted)
    for decision, before, after in zip(found.decisions, etas[:-1], etas[1:], strict=False):
        chosen = decision.candidates[0]
        assert chosen.eta == pytest.approx(before, rel=0.01)
        # Damping of a new neuron is its own share first, then the mean's: hence the tolerance.
        assert chosen.delta_eta == pytest.approx(after - before, rel=0.05)
        assert 0 <= chosen.delta_eta_lower <= chosen.delta_eta * (1 + 1e-4)
        assert after > (1 + 0.2) * before * 0.99
        assert after - before > SETTINGS.stop * 0.9
        assert decision.bound == pytest.approx(bound, rel=0.01)
    assert etas[-1] <= bound
    limit = 1 + (math.log(bound) - math.log(SETTINGS.stop)) / math.log(1 + 0.2)
    assert len(accepted) < limit


def test_decisions_are_recorded(planted: Problem, decide: Any) -> None:
    found = decide(planted.view())
    first, last = found.decisions[0], found.decisions[-1]
    assert first.edit is not None and "tau" in first.reason and "alpha" in first.reason
    assert (first.threshold, first.stop) == (0.05, 2.5e-3)
    # The network yields 0, so the loss is half the targets' mean square.
    assert first.loss == pytest.approx(0.5 * np.mean(np.sum(planted.y**2, axis=1)), rel=1e-4)
    best = first.candidates[0]
    assert str(best.site) == "layer 0" and best.passes
    assert best.ratio == pytest.approx(best.score / best.eta) and best.ratio > 0.05
    assert best.score == best.delta_eta > 2.5e-3 and best.bias > 0
    assert last.edit is None and found.finished
    assert not last.candidates[0].passes
    assert ("alpha" in last.reason) == (last.candidates[0].score <= 2.5e-3)
    assert all(d.seconds >= 0 for d in found.decisions)


def test_accepted_neurons_keep_the_function_and_lower_the_loss_that_can_be_reached(
    planted: Problem, decide: Any
) -> None:
    steps = planted.apply(decide(planted.view()).decisions)
    assert len(steps) > 1
    reachable = []
    for shape, params in steps:
        seen = planted.nets.run(shape, params, planted.x)
        assert np.abs(seen.outputs).max() == 0.0
        a = seen.reads[-1].astype(np.float64)
        fit = a @ np.linalg.lstsq(a, planted.y, rcond=None)[0]
        reachable.append(0.5 * np.mean(np.sum((fit - planted.y) ** 2, axis=1)))
    assert reachable[-1] < 0.7 * reachable[0]


def test_a_high_threshold_or_stop_rejects(planted: Problem, decide: Any) -> None:
    for changes, word in (({"threshold": 1e6}, "tau"), ({"stop": 1e6}, "alpha")):
        found = decide(planted.view(), **changes)
        (decision,) = found.decisions
        assert decision.edit is None and found.finished
        assert word in decision.reason and "layer 0" in decision.reason


def test_noise_is_not_fitted(nets: Any, decide: Any) -> None:
    for seed in range(3):
        problem = Problem(nets, ONE, "noise", n=2 * N, seed=seed)
        found = decide(problem.view(), held_out=True, threshold=7e-3)
        assert edits(found) == []
        # On the examples that were searched, the same noise looks like a gain.
        fooled = decide(problem.view(), held_out=False, bias_removed=False)
        assert fooled.decisions[0].candidates[0].score > 3 * found.decisions[0].candidates[0].score


def test_a_gain_within_its_noise_is_rejected(planted: Problem, decide: Any) -> None:
    first = decide(planted.view()).decisions[0].candidates[0]
    multiple = first.delta_eta / first.bias
    assert edits(decide(planted.view(), noise=0.9 * multiple))
    (decision,) = decide(planted.view(), noise=1.1 * multiple).decisions
    assert decision.edit is None and "noise" in decision.reason
    assert not decision.candidates[0].passes


def counted(read: Any) -> float:
    """How many weights of a unit that reads this, the constant not in it, the data determine."""
    v = np.concatenate([np.ones((len(read), 1)), read], axis=1).astype(np.float64)
    a = v.T @ v / len(v)
    return float(np.trace(a @ np.linalg.inv(a + np.trace(a) / len(a) * np.eye(len(a)))))


def test_an_addition_pays_for_its_parameters(planted: Problem, decide: Any) -> None:
    # Of a neuron count, beside 4 weights and a bias, 3 coefficients and 2 weights that read it.
    first = decide(planted.view(), price=1e-9).decisions[0].candidates[0]
    brought = counted(planted.x) + 5
    assert first.parameters == pytest.approx(brought, rel=1e-4)
    # Its gain is at most what is left of the loss when the present weights have gained theirs: of a
    # linear map under squared errors, exactly the residual of the least squares fit.
    a = planted.nets.run(planted.shape, planted.params, planted.x).reads[-1].astype(np.float64)
    residual = a @ np.linalg.lstsq(a, planted.y, rcond=None)[0] - planted.y
    left = 0.5 * np.sum(residual**2)
    assert first.gain == pytest.approx(min(N * first.delta_eta / 2, left), rel=0.02)
    for price, pays in ((0.9 * first.gain / brought, True), (1.1 * first.gain / brought, False)):
        decision = decide(planted.view(), price=price).decisions[0]
        assert (decision.edit is not None) == pays == decision.candidates[0].passes
    assert f"does not pay for its {brought:.3g} parameters" in decision.reason


def test_nothing_is_paid_from_a_loss_that_the_present_weights_can_take_away(
    nets: Any, decide: Any
) -> None:
    problem = Problem(nets, ONE, "explained")
    first = decide(problem.view(), price=1e-9, threshold=0.0, stop=0.0).decisions[0].candidates[0]
    # Damping leaves some of it.
    assert first.gain <= 5e-3 * 0.5 * np.sum(problem.y.astype(np.float64) ** 2)


def test_parameters_that_outnumber_the_examples_promise_nothing(nets: Any, decide: Any) -> None:
    # Whatever the targets are they explain them; without what chance makes of that, all is left.
    few = Problem(nets, [(40, 40, "rational")], "noise", n=32)
    decision = decide(few.view(), price=0.1, samples=32).decisions[-1]
    best = decision.candidates[0]
    left = 32 * (decision.loss - best.eta / 2)
    assert left < 0.1 * best.parameters < 32 * decision.loss


def test_where_nothing_can_pay_nothing_is_searched_for(
    nets: Any, decide: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[Site] = []

    def search(self: SearchRound, site: Site) -> Any:
        searched.append(site)
        raise AssertionError

    monkeypatch.setattr(SearchRound, "_search", search)
    (decision,) = decide(Problem(nets, ONE, "explained").view(), price=5.0).decisions
    assert searched == [] and decision.edit is None and decision.candidates == ()
    assert decision.reason == "what is left of the loss pays for no addition at price 5"
    with pytest.raises(AssertionError):
        decide(Problem(nets, ONE, "planted").view(), price=5.0)
    assert list(map(str, searched)) == ["layer 0"]


def test_a_gain_is_found_on_held_out_examples_too(nets: Any, decide: Any) -> None:
    problem = Problem(nets, ONE, "planted", n=2 * N)
    assert edits(decide(problem.view(), held_out=True))


def test_what_the_layer_explains_already_is_not_added_again(nets: Any, decide: Any) -> None:
    problem = Problem(nets, ONE, "explained")
    found = decide(problem.view(), threshold=0.01)
    (decision,) = found.decisions
    assert decision.edit is None
    assert decision.candidates[0].eta > 0.1
    assert decision.candidates[0].ratio < 5e-3


def test_the_same_view_gives_the_same_decisions(planted: Problem, decide: Any) -> None:
    first, again = (decide(planted.view()) for _ in range(2))
    assert len(first.decisions) == len(again.decisions)
    for ours, theirs in zip(first.decisions, again.decisions, strict=True):
        assert ours.candidates == theirs.candidates and ours.reason == theirs.reason
    for ours, theirs in zip(edits(first), edits(again), strict=True):
        np.testing.assert_array_equal(ours.incoming, theirs.incoming)
        np.testing.assert_array_equal(ours.coefficients, theirs.coefficients)
    other = edits(decide(planted.view(seed=1)))
    assert np.any(other[0].incoming != edits(first)[0].incoming)


def test_limits_on_neurons(planted: Problem, decide: Any) -> None:
    loose: dict[str, Any] = {"threshold": 0.0, "stop": 0.0, "bias_removed": False}
    found = decide(planted.view(), per_round=1, **loose)
    assert len(edits(found)) == 1
    assert found.decisions[-1].reason.startswith("per_round")
    found = decide(planted.view(added=1), per_round=1, **loose)
    assert edits(found) == [] and found.decisions[0].reason.startswith("per_round")
    found = decide(planted.view(), max_hidden=5, **loose)
    assert len(edits(found)) == 2
    assert found.decisions[-1].reason.startswith("max_hidden")
    found = decide(planted.view(), max_hidden=3, **loose)
    assert edits(found) == [] and found.finished
    found = decide(planted.view(), max_width=4, **loose)
    assert len(edits(found)) == 1
    assert found.decisions[-1].reason == "no site allows an addition"
    # 3 * 5 + 4 * 2 weights and 3 * 3 coefficients are there.
    found = decide(planted.view(), max_parameters=32, **loose)
    assert edits(found) == [] and found.decisions[0].reason.startswith("max_parameters")


def test_max_parameters_is_not_exceeded(planted: Problem, decide: Any) -> None:
    found = decide(planted.view(), max_parameters=35, threshold=0.0, stop=0.0)
    assert planted.apply(found.decisions)[-1][0].parameters <= 35


def test_a_round_ends_where_its_room_ends(planted: Problem, decide: Any) -> None:
    room = ROOM + 8 - 3
    found = decide(planted.view(), threshold=0.0, stop=0.0, bias_removed=False)
    assert len(edits(found)) <= room
    found = decide(planted.view(), threshold=0.0, stop=-1.0, bias_removed=False)
    assert len(edits(found)) == room == len(found.decisions)
    assert not found.finished
    # The loop applies the edits and asks again.
    shape, params = planted.apply(found.decisions)[-1]
    assert shape.widths == (3 + room,) and shape.capacities == (16,)
    more = decide(planted.view(shape, params, asked=1, added=room), per_round=room)
    assert edits(more) == [] and more.finished


def test_a_layer_pays_for_its_cost_too(planted: Problem, decide: Any) -> None:
    found = decide(planted.view(), deepens=True, depth=DEPTH, price=1e-9, stop=0.0, threshold=0.0)
    layers = [c for c in found.decisions[0].candidates if c.site.kind == "depth"]
    assert layers
    hidden = planted.params["map_0"]
    yielded = planted.x @ hidden["kernel"][:, :3] + hidden["bias"][:3]
    for layer in layers:
        # A square map and a bias for as many neurons as the narrower side has, three coefficients.
        read = yielded if layer.site.index == 0 else np.zeros((N, 2))
        q = read.shape[1]
        assert layer.parameters == pytest.approx(q * counted(read) + 3 * q, rel=1e-4)
        assert layer.gain <= N * layer.delta_eta / 2 / 60 * (1 + 1e-6)


def test_of_what_is_left_of_the_loss_a_layer_can_gain_a_share_too(
    planted: Problem, decide: Any
) -> None:
    a = planted.nets.run(planted.shape, planted.params, planted.x).reads[-1].astype(np.float64)
    left = 0.5 * np.sum((a @ np.linalg.lstsq(a, planted.y, rcond=None)[0] - planted.y) ** 2)

    def layers(price: float, cost: float) -> list[Candidate]:
        options = {"layer_cost": cost, "stop": 0.0, "threshold": 0.0}
        found = decide(planted.view(), deepens=True, depth=DEPTH, price=price, **options)
        return [c for c in found.decisions[0].candidates if c.site.kind == "depth"]

    # At so low a cost no score is what binds, but what is left.
    for layer in layers(1e-9, 1e-6):
        assert layer.gain * 1e-6 == pytest.approx(min(N * layer.delta_eta / 2, left), rel=0.02)
    first = layers(1e-9, 60.0)[0]
    # Half of what the layer would have to cost at most: it is sought; twice that: it is not.
    for part, sought in ((0.5, True), (2.0, False)):
        found = layers(part * left / 60 / first.parameters, 60.0)
        assert (first.site in [c.site for c in found]) is sought


def test_the_random_control_adds_initial_neurons_at_the_same_site(
    nets: Any, planted: Problem, decide: Any
) -> None:
    loose: dict[str, Any] = {"threshold": 0.0, "stop": -1.0, "weights": "random"}
    found = decide(planted.view(), **loose)
    drawn = edits(found)
    assert drawn[0].layer == edits(decide(planted.view()))[0].layer
    # LeCun normal kernels on 4 inputs, unit normal biases and coefficients.
    kernels = np.concatenate([e.incoming[1:].ravel() for e in drawn])
    rest = np.concatenate([np.append(e.incoming[0], e.coefficients.ravel()) for e in drawn])
    assert len(kernels) == 4 * 13
    assert kernels.std() == pytest.approx(0.5, rel=0.3) and abs(kernels.mean()) < 0.25
    assert rest.std() == pytest.approx(1.0, rel=0.3) and abs(rest.mean()) < 0.5
    assert len({e.incoming.tobytes() for e in drawn}) == len(drawn)
    # They know nothing of the data.
    other = edits(decide(Problem(nets, ONE, "planted", seed=9).view(), **loose))
    np.testing.assert_array_equal(drawn[0].incoming, other[0].incoming)


def test_the_random_control_adds_about_as_many_neurons(planted: Problem, decide: Any) -> None:
    by_score, control = (decide(planted.view(), weights=w) for w in ("score", "random"))
    assert control.finished
    assert len(edits(control)) <= 2 * len(edits(by_score))


def test_initial_coefficients_keep_the_searched_weights(planted: Problem, decide: Any) -> None:
    searched = edits(decide(planted.view(), per_round=1))[0]
    drawn = edits(decide(planted.view(), per_round=1, initial_coefficients=True))[0]
    np.testing.assert_array_equal(searched.incoming, drawn.incoming)
    assert np.any(searched.coefficients != drawn.coefficients)


@pytest.fixture(scope="module")
def deep(nets: Any) -> Problem:
    # Outputs that are not 0, so that both hidden layers hear of the loss.
    problem = Problem(nets, TWO, "planted", seed=1)
    problem.params["map_2"] = nets.draw(np.random.default_rng(1), problem.shape, np.float32)[
        "map_2"
    ]
    return problem


@pytest.mark.parametrize("weights", ["score", "random"])
def test_the_moments_of_a_new_neuron_are_those_on_the_deciding_sample(
    weights: str, nets: Any, deep: Problem, decide: Any
) -> None:
    found = decide(deep.view(), weights=weights, threshold=0.0, stop=-1.0, per_round=8)
    accepted = edits(found)
    assert {e.layer for e in accepted} == {0, 1}
    for edit, (shape, params) in zip(accepted, deep.apply(found.decisions)[1:], strict=True):
        a = nets.run(shape, params, deep.x).reads[edit.layer + 1]
        expected = a.T @ a / N
        assert edit.moments.shape == expected.shape
        np.testing.assert_allclose(
            edit.moments, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max()
        )


EVERYTHING: dict[str, Any] = {
    "deepens": True,
    "depth": DEPTH,
    "threshold": 0.0,
    "stop": -1.0,
    "layer_cost": 1e6,
}


@pytest.mark.parametrize("weights", ["score", "random"])
def test_a_layer_after_neurons_of_the_same_round_keeps_the_function(
    weights: str, deep: Problem, decide: Any
) -> None:
    found = decide(deep.view(), max_width=4, weights=weights, **EVERYTHING)
    kinds = [type(e) for e in edits(found)]
    # Three neurons fill the layers up; then a layer, however dear, and with it the round ends.
    assert kinds == [AddUnits, AddUnits, AddUnits, InsertLayer]
    assert found.finished and len(found.decisions) == 4
    last = found.decisions[-1].candidates[0]
    assert last.site.kind == "depth" and last.score == pytest.approx(last.delta_eta / 1e6)
    before = deep.outputs(deep.shape, deep.params)
    for shape, params in deep.apply(found.decisions)[1:]:
        change = np.abs(deep.outputs(shape, params) - before).max() / np.abs(before).max()
        assert change < 1e-5
    assert len(shape.hidden) == 3


def test_limits_on_layers(deep: Problem, decide: Any) -> None:
    def kinds(found: Round) -> set[str]:
        return {c.site.kind for d in found.decisions for c in d.candidates}

    some: dict[str, Any] = {**EVERYTHING, "per_round": 1}
    assert kinds(decide(deep.view(), **some)) == {"width", "depth"}
    assert kinds(decide(deep.view(), max_layers=3, **some)) == {"width", "depth"}
    assert kinds(decide(deep.view(), max_layers=2, **some)) == {"width"}
    assert kinds(decide(deep.view(layer_allowed=False), **some)) == {"width"}
    # 5 neurons are there; any layer would bring two more.
    assert kinds(decide(deep.view(), max_hidden=6, **some)) == {"width"}
    only = decide(deep.view(), widens=False, deepens=True, depth=DEPTH, threshold=0.0, stop=-1.0)
    assert [type(e) for e in edits(only)] == [InsertLayer]


def test_max_hidden_counts_the_neurons_of_this_round_in_a_layer(deep: Problem, decide: Any) -> None:
    found = decide(deep.view(), max_width=4, max_hidden=11, **EVERYTHING)
    assert sum(deep.apply(found.decisions)[-1][0].widths) <= 11


def test_a_linear_model_gets_a_layer(nets: Any, decide: Any) -> None:
    problem = Problem(nets, [], "planted")
    found = decide(
        problem.view(), deepens=True, depth=DEPTH, layer_cost=1.0, stop=0.0, threshold=0.0
    )
    (edit,) = edits(found)
    # On the narrower side: two outputs against four inputs.
    assert isinstance(edit, InsertLayer) and (edit.map, edit.side) == (0, "outputs")
    before = problem.outputs(problem.shape, problem.params)
    after = problem.outputs(*problem.apply(found.decisions)[-1])
    np.testing.assert_allclose(after, before, atol=1e-5)
    assert not any(isinstance(e, Enlarge) for e in edits(found))
