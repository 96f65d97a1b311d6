"""Whole rounds of GradMax, TINY and Firefly, against NumPy and derivatives in float64."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.engine.objective import REGRESSION
from senn_cli.engine.programs import Ledger
from senn_cli.growth.carry import edit_parameters
from senn_cli.growth.edits import AddUnits, SplitUnit, edit_architecture
from senn_cli.growth.gates import Candidates, Gates, Units
from senn_cli.growth.policies.firefly import Chosen, Firefly, Found, ranking
from senn_cli.growth.policies.given import Places, taken
from senn_cli.growth.policies.gradmax import GradMax
from senn_cli.growth.policies.grown import sample_rows
from senn_cli.growth.policies.tiny import Tiny
from senn_cli.growth.policy import View
from senn_cli.growth.settings import Limits
from senn_cli.growth.sight import DAMPING, Sights
from tests.views import view_of

N, INPUTS, OUTPUTS = 256, 4, 3
HIDDEN = [(3, 8, "silu"), (4, 8, "rational")]


class Problem:
    """A regression, whose output layer is at its best where it is `fitted`, with a view of it."""

    def __init__(self, nets: Any, *, fitted: bool = True) -> None:
        rng = np.random.default_rng(0)
        self.nets, self.shape = nets, nets.architecture(INPUTS, HIDDEN, OUTPUTS)
        self.params = nets.draw(rng, self.shape, np.float32)
        teacher = nets.draw(rng, self.shape, np.float32)
        self.x = rng.standard_normal((N, INPUTS)).astype(np.float32)
        self.y = nets.run(self.shape, teacher, self.x).outputs.astype(np.float32)
        if fitted:
            read = nets.run(self.shape, self.params, self.x).reads[2]
            best = np.linalg.lstsq(read, self.y, rcond=None)[0]
            self.params["map_2"]["bias"], self.params["map_2"]["kernel"][:4] = best[0], best[1:]

    def view(self) -> View:
        return view_of(self.shape, self.params, self.x, self.y)

    def after(self, *edits: Any) -> tuple[Any, Any]:
        shape, params = self.shape, self.params
        for edit in edits:
            params = edit_parameters(params, shape, edit)
            shape = edit_architecture(shape, edit)
        wide = jax.tree.map(lambda array: np.asarray(array, np.float64), params)
        return shape, wide

    def loss(self, shape: Any, params: Any, rows: Any = slice(None)) -> float:
        found = self.nets.run(shape, params, self.x[rows].astype(np.float64)).outputs
        return float(np.mean(np.sum((found - self.y[rows]) ** 2, axis=1)) / 2)

    def told(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """What map `index` reads and the gradient of what the next one yields, dense."""
        shape, params = self.after()
        seen = self.nets.run(shape, params, self.x.astype(np.float64))
        pulled, _ = self.nets.gradients(shape, params, seen, seen.outputs - self.y)
        return seen.reads[index], pulled[index + 1]


@pytest.fixture(scope="module")
def problem(nets: Any) -> Problem:
    return Problem(nets)


@pytest.fixture(scope="module")
def sights() -> Sights:
    return Sights(Ledger(), REGRESSION, "gaussian")


def places(count: int, *layers: int) -> Places:
    return Places(Limits(per_round=count), layers)


@pytest.mark.parametrize(("layer", "slope"), [(0, 0.5), (1, 1.0)])
def test_gradmax_has_the_gradient_of_the_singular_values(
    problem: Problem, sights: Sights, layer: int, slope: float
) -> None:
    """By differences of the network's loss, in every input weight of the units that came."""
    (decision,) = GradMax(places(2, layer), N, 0.5, sights).decide(problem.view()).decisions
    edit = decision.edit
    assert isinstance(edit, AddUnits) and decision.keeps
    shape, params = problem.after(edit)
    assert problem.loss(shape, params) == pytest.approx(problem.loss(*problem.after()), rel=1e-12)
    n_in, width = shape.map_width(layer)
    found = np.zeros((1 + n_in, 2))
    for unit in range(2):
        for row in range(1 + n_in):
            leaf, place = ("bias", ()) if row == 0 else ("kernel", (row - 1,))
            where = (*place, width - 2 + unit)
            array = params[f"map_{layer}"][leaf]
            array[where] = 1e-5
            up = problem.loss(shape, params)
            array[where] = -1e-5
            found[row, unit] = (up - problem.loss(shape, params)) / 2e-5
            array[where] = 0.0
    x, g = problem.told(layer)
    values = np.linalg.svd(x.T @ g / N, compute_uv=False)[:2]
    n_out = shape.map_width(layer + 1)[1]
    kernel = problem.params[f"map_{layer + 1}"]["kernel"][: HIDDEN[layer][0], :n_out]
    length = 0.5 * np.mean(np.linalg.norm(kernel, axis=1))
    lengths = np.linalg.norm(found, axis=0)
    np.testing.assert_allclose(lengths, slope * length * values, rtol=1e-4)
    assert lengths.sum() == pytest.approx(slope * length * values.sum(), rel=1e-4)
    assert lengths[0] > slope * length * np.linalg.norm(x.T @ g / N) / np.sqrt(n_out)


def test_gradmax_adds_no_more_than_there_are_gradients(problem: Problem, sights: Sights) -> None:
    (decision,) = GradMax(places(5, 1), N, 0.5, sights).decide(problem.view()).decisions
    assert isinstance(decision.edit, AddUnits)
    assert decision.edit.count == OUTPUTS


def test_tiny_changes_the_loss_as_it_declares(problem: Problem, sights: Sights) -> None:
    """On the half that its directions are not of; the size is the best that it tried."""
    policy = Tiny(places(2, 1), N, 0.0, sights, REGRESSION, Ledger())
    (decision,) = policy.decide(problem.view()).decisions
    edit, change = decision.edit, decision.change
    assert isinstance(edit, AddUnits) and change is not None and not decision.keeps
    first, second = halves(problem)
    before, after = (problem.loss(*problem.after(*e), second) for e in ((), (edit,)))
    assert after - before == pytest.approx(change, rel=1e-4)
    assert change < 0
    for factor in (0.5, 2.0):
        root = np.float32(np.sqrt(factor))
        outgoing = {name: root * w for name, w in (edit.outgoing or {}).items()}
        other = AddUnits(1, root * edit.incoming, edit.coefficients, outgoing)
        assert problem.loss(*problem.after(other), second) >= after * (1 - 1e-6)
    assert len(first) == len(second) == N // 2


def halves(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    return sample_rows(problem.view(), N)


def test_tiny_goes_along_what_the_layer_cannot_express(problem: Problem, sights: Sights) -> None:
    """Its map from x is -A^-1 N projected on the two best outputs, up to its size.

    Those are eigenvectors of N^T A^-1 N: no singular value decomposition.
    """
    first, _ = halves(problem)
    policy = Tiny(places(2, 1), N, 0.0, sights, REGRESSION, Ledger())
    (decision,) = policy.decide(problem.view()).decisions
    edit = decision.edit
    assert isinstance(edit, AddUnits) and edit.outgoing is not None
    x, g = (array[first] for array in problem.told(1))
    shape, params = problem.after()
    h = problem.nets.run(shape, params, problem.x[first].astype(np.float64)).reads[2]

    def damped(rows: np.ndarray) -> np.ndarray:
        moment = rows.T @ rows / len(rows)
        return moment + DAMPING * np.trace(moment) / len(moment) * np.eye(len(moment))

    residual = g - h @ np.linalg.solve(damped(h), h.T @ g / len(h))
    moment = x.T @ residual / len(x)
    fit = np.linalg.solve(damped(x), moment)
    _, axes = np.linalg.eigh(moment.T @ fit)
    wanted = -fit @ axes[:, -2:] @ axes[:, -2:].T
    found = edit.incoming[: x.shape[1]] @ edit.outgoing["map_2"][:, 0]
    cosine = np.sum(found * wanted) / np.linalg.norm(found) / np.linalg.norm(wanted)
    assert cosine > 0.9999


def test_firefly_adds_what_it_predicts(nets: Any) -> None:
    """Splits and fresh units of both layers; the loss falls by about what all were to bring."""
    problem = Problem(nets, fitted=False)
    policy = Firefly(
        Places(Limits(per_round=9, max_width=8), None),
        N,
        fresh=2,
        steps=10,
        size=0.02,
        objective=REGRESSION,
        ledger=Ledger(),
    )
    decisions = policy.decide(problem.view()).decisions
    edits = [decision.edit for decision in decisions]
    assert {type(edit) for edit in edits} == {AddUnits, SplitUnit}
    numbers = [edit.layer for edit in edits if isinstance(edit, AddUnits | SplitUnit)]
    assert numbers == sorted(numbers, reverse=True) and set(numbers) == {0, 1}
    shape, params = problem.after(*edits)
    assert sum(shape.widths) == 3 + 4 + 9
    _, second = halves(problem)
    change = problem.loss(shape, params, second) - problem.loss(*problem.after(), second)
    predicted = sum(decision.change or 0.0 for decision in decisions)
    assert change == pytest.approx(predicted, rel=0.5)
    assert predicted < 0


def test_the_best_of_all_layers_are_taken_within_the_limits(problem: Problem) -> None:
    nothing: Any = Candidates(None, Units(None, {}))
    one = Gates(np.array([-3.0, 1.0, -0.5, -99.0]), np.array([-2.0]))
    two = Gates(np.array([-2.5, 0.0, -1.0, 4.0]), np.array([-4.0]))
    found = {0: Found(nothing, one, jnp.zeros(())), 1: Found(nothing, two, jnp.zeros(()))}
    ranked = ranking(problem.shape, found)
    assert ranked[:3] == [Chosen(-4.0, 1, False, 0), Chosen(-3.0, 0, True, 0), ranked[2]]
    assert [c.change for c in ranked] == [-4.0, -3.0, -2.5, -2.0, -1.0, -0.5]  # no spare, no rise
    assert taken(Limits(per_round=2), problem.shape, ranked) == ranked[:2]
    narrow = taken(Limits(per_round=9, max_width=5), problem.shape, ranked)
    assert [c.change for c in narrow] == [-4.0, -3.0, -2.0]  # 4 + 1 and 3 + 2
