from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from senn_cli.growth.carry import edit_parameters
from senn_cli.growth.edits import (
    AddUnits,
    InsertLayer,
    RemoveUnit,
    edit_architecture,
)
from senn_cli.growth.policy import Decision, Round, View
from senn_cli.growth.settings import DepthSearch, PruneSettings, Settings, WidthSearch
from senn_cli.nets.architecture import CapacityRule
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.training.network import capacity_edits
from tests.views import view_of

WIDTH = WidthSearch("closed_form", 32, 4, 5, 8, 0.1, 10.0)
DEPTH = DepthSearch("closed_form", 4, 2, 5, 0.1, 10.0, 0.01)
SETTINGS = Settings(
    threshold=7e-3,
    stop=2e-4,
    noise=0.0,
    samples=300,
    held_out=False,
    bias_removed=False,
    max_hidden=None,
    max_parameters=None,
    width=WIDTH,
    per_round=None,
    max_width=None,
    initial_coefficients=False,
    deepens=False,
    layer_cost=1.0,
    max_layers=None,
    singular_floor=0.1,
    prune=PruneSettings(min_width=1, per_round=None),
)


class Redundant:
    """A network with two hidden layers; neurons 1 and 4 of the first, 0 and 2 of the second repeat.

    The targets are near what it computes.
    """

    def __init__(self, nets: Any, capacities: tuple[int, int] = (8, 8)) -> None:
        rng = np.random.default_rng(0)
        small = nets.architecture(3, [(6, 6, "tanh"), (4, 4, "rational")], 2)
        tree = nets.draw(rng, small)
        for name, leaf, one, two in (
            ("map_0", "kernel", 1, 4),
            ("map_0", "bias", 1, 4),
            ("map_1", "kernel", 0, 2),
            ("map_1", "bias", 0, 2),
            ("activation_1", "coefficients", 0, 2),
        ):
            tree[name][leaf][..., two] = tree[name][leaf][..., one]
        self.x = rng.standard_normal((300, 3))
        outputs = nets.run(small, tree, self.x).outputs
        self.y = outputs + 0.1 * rng.standard_normal(outputs.shape)
        self.nets = nets
        self.shape = small
        for layer, capacity in enumerate(capacities):
            self.shape = self.shape.with_layer(layer, capacity=capacity)
        self.params = {
            name: {leaf: self._roomy(name, leaf, v) for leaf, v in leaves.items()}
            for name, leaves in tree.items()
        }

    def _roomy(self, name: str, leaf: str, value: np.ndarray) -> np.ndarray:
        n_in, n_out = self.shape.map_capacity(int(name[-1]))
        wanted = {"kernel": (n_in, n_out), "bias": (n_out,), "coefficients": (3, n_out)}[leaf]
        return np.pad(value, [(0, w - h) for w, h in zip(wanted, value.shape, strict=True)])

    def view(self, **changes: Any) -> View:
        return view_of(self.shape, self.params, self.x, self.y, **changes)

    def apply(self, decisions: tuple[Decision, ...]) -> list[tuple[MlpArchitecture, Any]]:
        """The network before and after every edit."""
        shape, params = self.shape, self.params
        steps = [(shape, params)]
        for decision in decisions:
            if decision.edit is None:
                continue
            rule = CapacityRule(8, 0.5)
            for edit in capacity_edits(shape, decision.edit, rule):
                params = edit_parameters(params, shape, edit)
                shape = edit_architecture(shape, edit)
                assert self.nets.unused_are_zero(shape, params)
            steps.append((shape, params))
        return steps


def edits(found: Round, kind: type) -> list[Any]:
    return [d.edit for d in found.decisions if isinstance(d.edit, kind)]


@pytest.fixture(scope="module")
def redundant(nets: Any) -> Redundant:
    return Redundant(nets)


def test_a_round_that_rejects_takes_out_what_repeats(redundant: Redundant, decide: Any) -> None:
    # Nothing is worth adding at this alpha, and copies alone are worth less than this tau.
    found = decide(redundant.view(), noise=1e9)
    assert [d.edit is None for d in found.decisions[:1]] == [True]
    assert edits(found, RemoveUnit) == []  # noise that much: nothing is certain
    found = decide(redundant.view(), max_hidden=10)
    reasons = [d.reason for d in found.decisions]
    assert reasons[0].startswith("max_hidden") and found.finished
    taken, steps = edits(found, RemoveUnit), redundant.apply(found.decisions)
    # From the inputs on, in each layer a copy first.
    assert [e.layer for e in taken] == sorted(e.layer for e in taken)
    one, two = ([e.layer for e in taken].index(layer) for layer in (0, 1))
    assert taken[one].unit in {1, 4} and taken[two].unit in {0, 2}
    for place in (one, two):
        before, after = (
            redundant.nets.run(*step, redundant.x).outputs for step in steps[place : place + 2]
        )
        assert np.abs(after - before).max() < 1e-5 * np.abs(before).max()


def test_predictions_are_close_in_the_whole_network(redundant: Redundant, decide: Any) -> None:
    found = decide(redundant.view(), max_hidden=10, stop=1e-2, threshold=0.0)
    assert len(edits(found, RemoveUnit)) >= 2
    changes = [d.change for d in found.decisions if d.edit is not None]
    losses = [
        0.5
        * np.mean(
            np.sum((redundant.nets.run(*step, redundant.x).outputs - redundant.y) ** 2, axis=1)
        )
        for step in redundant.apply(found.decisions)
    ]
    # The last map's are exact in least squares, those of inner maps to first order.
    np.testing.assert_allclose(np.diff(losses), changes, atol=2e-3)


def test_capacity_is_invisible(nets: Any, redundant: Redundant, decide: Any) -> None:
    wide = Redundant(nets, (9, 12))
    options: dict[str, Any] = {"max_hidden": 10, "stop": 1e-2, "threshold": 0.0}
    one, two = (decide(r.view(), **options) for r in (redundant, wide))
    assert len(one.decisions) == len(two.decisions) > 2
    for ours, theirs in zip(one.decisions[1:], two.decisions[1:], strict=True):
        assert (ours.edit.layer, ours.edit.unit) == (theirs.edit.layer, theirs.edit.unit)
        for name, share in ours.edit.compensation.items():
            np.testing.assert_allclose(share, theirs.edit.compensation[name], atol=1e-3)
        assert ours.change == pytest.approx(theirs.change, abs=1e-5)


def test_off_by_default_and_not_after_a_layer(redundant: Redundant, decide: Any) -> None:
    found = decide(redundant.view(), max_hidden=10, prune=None)
    assert len(found.decisions) == 1
    loose: dict[str, Any] = {"threshold": 0.0, "stop": -1.0}
    found = decide(redundant.view(), widens=False, deepens=True, depth=DEPTH, **loose)
    assert [type(d.edit) for d in found.decisions] == [InsertLayer]


def test_neurons_of_this_round_are_numbered_and_stay(nets: Any, decide: Any) -> None:
    # Targets that call for more: what has just passed the threshold stays above it.
    redundant = Redundant(nets)
    redundant.y = redundant.y + np.tanh(3 * redundant.x[:, :1])
    for limits in ({"per_round": 1}, {"per_round": 4}):
        found = decide(redundant.view(), stop=5e-3, **limits)
        added, taken = edits(found, AddUnits), edits(found, RemoveUnit)
        assert added and taken
        kinds = [type(d.edit) for d in found.decisions if d.edit is not None]
        assert kinds == [AddUnits] * len(added) + [RemoveUnit] * len(taken)
        steps = redundant.apply(found.decisions)
        names = [[f"old {i}" for i in range(width)] for width in redundant.shape.widths]
        for edit in added:
            names[edit.layer].append("new")
        for edit, (shape, _) in zip(taken, steps[len(added) :], strict=False):
            assert edit.compensation[f"map_{edit.layer + 1}"].shape == (
                1 + shape.widths[edit.layer],
                1,
            )
            assert names[edit.layer][edit.unit] != "new"
            last = names[edit.layer].pop()
            if edit.unit < len(names[edit.layer]):
                names[edit.layer][edit.unit] = last
        assert [len(n) for n in names] == list(steps[-1][0].widths)


def test_limits_of_a_round(redundant: Redundant, decide: Any) -> None:
    options: dict[str, Any] = {"max_hidden": 10, "stop": 1e3, "threshold": 1e3}
    for settings, count in (
        (PruneSettings(1, None), 8),
        (PruneSettings(3, None), 4),
        (PruneSettings(1, 3), 3),
        (PruneSettings(6, None), 0),
    ):
        found = decide(redundant.view(), prune=settings, **options)
        assert len(edits(found, RemoveUnit)) == count
        shape, _ = redundant.apply(found.decisions)[-1]
        assert min(w for w in shape.widths) >= min(settings.min_width, 4)
