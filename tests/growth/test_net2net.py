"""Copies share what they were, and layers come at the identity: outputs stay to 1e-6."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from senn_cli.growth.carry import edit_parameters
from senn_cli.growth.edits import InsertLayer, SplitUnit, edit_architecture
from senn_cli.growth.policies.given import NOWHERE, Places
from senn_cli.growth.policies.net2net import Net2Net
from senn_cli.growth.policy import Round
from senn_cli.growth.settings import Limits
from senn_cli.nets.architecture import Layer
from senn_cli.nets.mlp import MlpArchitecture, initial_parameters
from senn_cli.nets.registry import outputs
from tests.views import bare

START = MlpArchitecture(5, 3, (Layer(4, 30, "tanh"), Layer(6, 30, "relu")))


def decided(jitter: float, layers: tuple[int, ...] | None = None, **limits: Any) -> Round:
    view = bare(START, params=initial_parameters(START, 0), step=5)
    return Net2Net(Places(Limits(**limits), layers), jitter).decide(view)


def grown(found: Round) -> tuple[Any, MlpArchitecture]:
    params, architecture = initial_parameters(START, 0), START
    for decision in found.decisions:
        edit = decision.edit
        assert edit is not None
        if isinstance(edit, InsertLayer):
            edit = InsertLayer(edit.map, edit.side, edit.weights, 30)
        params = edit_parameters(params, architecture, edit)
        architecture = edit_architecture(architecture, edit)
    return params, architecture


def answers(params: Any, architecture: MlpArchitecture) -> np.ndarray:
    x = np.random.default_rng(0).standard_normal((20, 5)).astype(np.float32)
    widths: Any = np.array(architecture.widths)
    return np.asarray(outputs(architecture.shape(), params, x, widths))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("limits", "widths"),
    [
        ({"per_round": 20, "deepens": False}, (15, 15)),
        ({"per_round": 3, "deepens": False, "max_width": 6}, (6, 6)),
        ({"widens": False}, (4, 6, 6)),
        ({"per_round": 4}, (7, 7, 6)),
    ],
)
def test_outputs_stay(limits: dict[str, Any], widths: tuple[int, ...]) -> None:
    found = decided(0.0, **limits)
    params, architecture = grown(found)
    assert architecture.widths == widths
    assert all(decision.keeps for decision in found.decisions)
    before = answers(initial_parameters(START, 0), START)
    np.testing.assert_allclose(answers(params, architecture), before, rtol=0, atol=1e-6)


def test_every_copy_is_one_of_a_unit_and_shares_its_output() -> None:
    """As the paper has it: column j of the wider layer is g(j), its row divided by how many."""
    found = decided(0.0, (0,), per_round=9, deepens=False)
    edits = [d.edit for d in found.decisions if isinstance(d.edit, SplitUnit)]
    drawn = Counter({edit.unit: edit.count for edit in edits})
    assert drawn.total() == 9
    g = [0, 1, 2, 3, *(edit.unit for edit in edits for _ in range(edit.count))]
    copies = Counter(g)
    old, (new, _) = initial_parameters(START, 0), grown(found)
    np.testing.assert_array_equal(new["map_0"]["kernel"][:, :13], old["map_0"]["kernel"][:, g])
    share = np.array([copies[unit] for unit in g])[:, None]
    wanted = old["map_1"]["kernel"][g] / share
    np.testing.assert_allclose(new["map_1"]["kernel"][:13], wanted, rtol=1e-6)


def test_noise_is_a_share_of_the_weights_and_of_copies_alone() -> None:
    found = decided(0.1, (1,), per_round=20, deepens=False)
    assert not any(decision.keeps for decision in found.decisions)
    params, _ = grown(found)
    old, new = initial_parameters(START, 0)["map_1"]["kernel"], params["map_1"]["kernel"]
    np.testing.assert_array_equal(new[:, :6], old[:, :6])
    units = [
        d.edit.unit
        for d in found.decisions
        if isinstance(d.edit, SplitUnit)
        for _ in range(d.edit.count)
    ]
    noise = new[:4, 6:26] - old[:4, units]
    size = np.sqrt(np.mean(np.vstack([old[:4], np.zeros((1, 30))])[:, units] ** 2, axis=0))
    assert (noise / size).std() == pytest.approx(0.1, rel=0.25)
    np.testing.assert_array_equal(new[4:], 0)  # rows of units that are not in use


def test_limits_say_when_nothing_comes() -> None:
    (decision,) = decided(0.0, per_round=1, max_width=4, max_layers=2).decisions
    assert (decision.edit, decision.reason) == (None, NOWHERE)
    (decision,) = decided(0.0, per_round=1, max_hidden=10).decisions
    assert decision.reason.startswith("max_hidden")
