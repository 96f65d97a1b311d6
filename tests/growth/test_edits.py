from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.growth.edits import (
    AddNeurons,
    EnlargeCapacity,
    InsertLayer,
    PruneNeuron,
    describe,
    edit_architecture,
    floored,
)
from senn_cli.nets.architecture import CapacityRule, Layer


@pytest.fixture(scope="module")
def shape(nets: Any) -> Any:
    return nets.architecture(5, [(3, 8, "silu"), (4, 4, "rational")], 2)


def test_neurons_are_added_within_the_capacity(shape: Any) -> None:
    after = edit_architecture(shape, AddNeurons(0, np.zeros((6, 2)), None))
    assert after.hidden == (Layer(5, 8, "silu"), Layer(4, 4, "rational"))
    assert (after.inputs, after.outputs) == (5, 2)


def test_neurons_without_room_are_refused(shape: Any) -> None:
    with pytest.raises(ValueError, match="capacity"):
        edit_architecture(shape, AddNeurons(1, np.zeros((4, 1)), np.zeros((3, 1))))


def test_capacity_grows(shape: Any) -> None:
    after = edit_architecture(shape, EnlargeCapacity(1, 6))
    assert after.hidden == (Layer(3, 8, "silu"), Layer(4, 6, "rational"))


def test_the_last_neuron_cannot_be_pruned(nets: Any, shape: Any) -> None:
    assert edit_architecture(shape, PruneNeuron(0, 2)).hidden[0] == Layer(2, 8, "silu")
    with pytest.raises(ValueError, match="width"):
        edit_architecture(nets.architecture(2, [(1, 4, "tanh")], 1), PruneNeuron(0, 0))


@pytest.mark.parametrize(
    ("index", "q", "expected"),
    [(0, 5, (5, 3, 4)), (1, 3, (3, 3, 4)), (2, 2, (3, 4, 2))],
)
def test_a_layer_is_inserted_within_its_map(
    shape: Any, index: int, q: int, expected: tuple[int, ...]
) -> None:
    edit = InsertLayer(index, "inputs", np.zeros((1 + q, q)))
    after = edit_architecture(shape, edit)
    assert after.widths == expected
    assert after.hidden[index] == Layer(q, q, "rational")
    roomy = edit_architecture(shape, edit, CapacityRule(multiple=8, growth=0.5))
    assert roomy.hidden[index] == Layer(q, 8, "rational")


@pytest.mark.parametrize(
    ("width", "capacity", "expected"),
    [
        (3, 0, 8),  # from nothing: the next multiple
        (8, 8, 8),  # what suffices stays
        (9, 8, 16),  # 8 * 1.5 = 12, rounded up to a multiple of 8
        (17, 16, 24),
        (41, 24, 48),  # more than half as much again
    ],
)
def test_room_grows_by_half_in_multiples(width: int, capacity: int, expected: int) -> None:
    assert CapacityRule(multiple=8, growth=0.5).room(width, capacity) == expected


@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    q=st.integers(1, 12),
    floor=st.sampled_from([0.0, 1e-3, 0.1, 0.9]),
    rank=st.integers(1, 12),
)
def test_singular_values_are_floored(seed: int, q: int, floor: float, rank: int) -> None:
    rng = np.random.default_rng(seed)
    kernel = rng.standard_normal((q, rank)) @ rng.standard_normal((rank, q))
    before = np.linalg.svd(kernel, compute_uv=False)
    result = floored(kernel, floor)
    after = np.linalg.svd(result, compute_uv=False)
    least = floor * max(before.mean(), 1.0)
    expected = np.maximum(before, least)
    np.testing.assert_allclose(after, np.sort(expected)[::-1], rtol=1e-8, atol=1e-12 * before[0])
    if before.min() >= least:
        np.testing.assert_allclose(result, kernel, atol=1e-12 * before[0])


def test_a_history_line_has_no_weights() -> None:
    lines = [
        describe(AddNeurons(1, np.zeros((4, 2)), None)),
        describe(InsertLayer(0, "outputs", np.zeros((4, 3)))),
        describe(EnlargeCapacity(2, 16)),
        describe(PruneNeuron(0, 3)),
    ]
    assert lines == [
        {"edit": "add_neurons", "layer": 1, "neurons": 2},
        {"edit": "insert_layer", "map": 0, "side": "outputs", "neurons": 3},
        {"edit": "enlarge_capacity", "layer": 2, "capacity": 16},
        {"edit": "prune_neurons", "layer": 0, "neuron": 3},
    ]
