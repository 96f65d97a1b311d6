"""A moment as arrays and JSON, and back: the same bits, under names that follow from its shape."""

from __future__ import annotations

import json
from typing import Any

import jax
import numpy as np
import pytest

from senn_cli.engine.objective import CLASSIFICATION
from senn_cli.errors import RunError
from senn_cli.nets.architecture import Layer
from senn_cli.nets.mlp import MlpArchitecture, initial_parameters
from senn_cli.runs.arrays import check_names
from senn_cli.runs.jsonl import dumps
from senn_cli.spec import parse_spec
from senn_cli.training.best import Best
from senn_cli.training.network import new_network
from senn_cli.training.optimizer import Optimizer, make_optimizer
from senn_cli.training.snapshot import (
    GrowthMemory,
    Moment,
    architecture_in,
    arrays_of,
    document_of,
    expected_arrays,
    moment_from,
)
from senn_cli.training.step import Progress

ARCHITECTURE = MlpArchitecture(3, 2, (Layer(2, 4, "rational"), Layer(3, 3, "tanh")))

KEPT = ((2, 0.1 + 0.2), (4, 0.3))

OPTIMIZERS = [
    "{kind: adam, schedule: {kind: cosine, warmup: 2 steps}}",
    "{kind: sgd, momentum: 0.9}",
    "{kind: sgd, schedule: wsd}",
    "{kind: natural_gradient, momentum: 0.5}",
    "{kind: natural_gradient, solver: cg}",
]


def optimizer(text: str) -> Optimizer:
    spec = parse_spec(f"data: moons\nnetwork: mlp\noptimizer: {text}\n")
    return make_optimizer(spec.optimizer, CLASSIFICATION, 10, 5)


def moment(chosen: Optimizer, architecture: MlpArchitecture = ARCHITECTURE) -> Moment:
    """A moment whose every array is random, with an infinity and a negative zero among them."""
    network = new_network(architecture, initial_parameters(architecture, 0), chosen)
    random = np.random.default_rng(0)

    def filled(leaf: Any) -> np.ndarray:
        leaf = np.asarray(leaf)
        found = random.standard_normal(leaf.shape) * 100
        if found.size > 3 and leaf.dtype.kind == "f":
            found.flat[0], found.flat[1], found.flat[2] = np.inf, -0.0, 1e-41  # a subnormal number
        cast: np.ndarray = found.astype(leaf.dtype)
        return cast

    state = jax.tree.map(filled, network.state)
    progress = Progress(np.int32(7), np.float32(0.1), np.float32(np.pi), np.int32(0))
    network = type(network)(architecture, jax.device_put(state), network.widths)
    best = Best("train_loss", 3, 0.1 + 0.2, 0.5, 1)
    memory = GrowthMemory(4, 3, pending=True, idle=2, kept=KEPT, rest=6, ended=4)
    return Moment(network, jax.device_put(progress), memory, best)


@pytest.mark.parametrize("text", OPTIMIZERS)
def test_every_bit_comes_back(text: str) -> None:
    chosen = optimizer(text)
    before = moment(chosen)
    arrays = {name: np.array(array) for name, array in arrays_of(before).items()}
    after = moment_from(arrays, json.loads(dumps(document_of(before))), chosen)
    assert after.network.architecture == ARCHITECTURE
    assert (after.memory, after.best) == (before.memory, before.best)
    assert after.step == before.step
    np.testing.assert_array_equal(after.network.widths, [2, 3])
    pairs = [
        (after.network.state, before.network.state),
        (after.progress, before.progress),
    ]
    for found, wanted in pairs:
        structures: list[Any] = [jax.tree.structure(tree) for tree in (found, wanted)]
        assert structures[0] == structures[1]
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            assert isinstance(a, jax.Array)
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("text", OPTIMIZERS)
@pytest.mark.parametrize("architecture", [ARCHITECTURE, MlpArchitecture(3, 2, ())])
def test_names_shapes_and_types_follow_from_the_architecture(
    text: str, architecture: MlpArchitecture
) -> None:
    chosen = optimizer(text)
    arrays = arrays_of(moment(chosen, architecture))
    check_names(arrays)
    found = {name: (array.shape, np.dtype(array.dtype)) for name, array in arrays.items()}
    assert found == expected_arrays(architecture, chosen)


def test_the_documented_names() -> None:
    arrays = arrays_of(moment(optimizer("{kind: natural_gradient, momentum: 0.5}")))
    assert arrays["step"].shape == ()
    assert arrays["params/map_0/kernel"].shape == (3, 4)  # at the capacity
    assert arrays["params/map_2/bias"].shape == (2,)
    assert {"progress/steps", "progress/loss", "progress/eta", "progress/fault"} <= arrays.keys()
    assert any(name.startswith("curvature/factors/maps/map_1/") for name in arrays)
    assert any(name.startswith("optimizer/0/") for name in arrays)
    adam = arrays_of(moment(optimizer("{kind: adam}")))
    assert adam["optimizer/0/mu/map_0/bias"].shape == (4,)
    assert not any(name.startswith("curvature") for name in adam)


def test_the_document_is_json() -> None:
    document = document_of(moment(optimizer("{kind: sgd}")))
    assert json.loads(dumps(document)) == {
        "architecture": ARCHITECTURE.to_json(),
        "growth": {
            "last_layer_step": 4,
            "accepted": 3,
            "pending": True,
            "idle": 2,
            "kept": [[2, 0.1 + 0.2], [4, 0.3]],
            "rest": 6,
            "ended": 4,
        },
        "best": {
            "metric": "train_loss",
            "step": 3,
            "value": 0.1 + 0.2,
            "reference": 0.5,
            "waited": 1,
        },
    }
    assert architecture_in(document) == ARCHITECTURE


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"architecture": None},
        {"architecture": {"inputs": 3}},
        {"architecture": {"inputs": 3, "outputs": 2, "hidden": [{"width": 5}]}},
        {"architecture": {**ARCHITECTURE.to_json(), "inputs": -1}},
        {"architecture": [1]},
    ],
)
def test_a_damaged_architecture(document: dict[str, Any]) -> None:
    with pytest.raises(RunError, match="architecture is damaged"):
        architecture_in(document)
