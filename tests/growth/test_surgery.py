from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.growth.edits import (
    AddNeurons,
    Edit,
    EnlargeCapacity,
    InsertLayer,
    PruneNeuron,
    edit_architecture,
    floored,
)
from senn_cli.growth.surgery import edit_parameters, homogeneous
from senn_cli.nets.architecture import CapacityRule
from senn_cli.nets.features import used_units
from senn_cli.nets.mlp import draw_neurons
from senn_cli.nets.registry import apply
from senn_cli.spec.growth import DepthSearchSpec
from senn_cli.training.network import capacity_edits

ACTIVATIONS = ("rational", "silu", "tanh")
HIDDEN = st.lists(
    st.tuples(st.integers(1, 6), st.integers(0, 3), st.sampled_from(ACTIVATIONS)), max_size=3
)
SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(1, 6)
WELL_CONDITIONED = 0.1
"""A floor on singular values at which single precision inverts a matrix well."""


def drawn_layer(rng: np.random.Generator, q: int, floor: float) -> np.ndarray:
    """W_q with its bias as a proposal begins, singular values floored."""
    kernel, bias, _ = draw_neurons(rng, q, q, "rational")
    return np.concatenate([bias[None], floored(kernel, floor)])


def change(nets: Any, shape: Any, edits: list[Edit], dtype: Any, seed: int) -> float:
    """The largest relative change of the outputs; checks shapes and unused entries on the way."""
    rng = np.random.default_rng(seed)
    params = nets.draw(rng, shape, dtype)
    x = rng.standard_normal((50, shape.inputs)).astype(dtype)
    before = nets.run(shape, params, x).outputs
    for edit in edits:
        after = edit_architecture(shape, edit, CapacityRule(2, 0.5))
        params = edit_parameters(params, shape, edit, after)
        shape = after
        assert nets.unused_are_zero(shape, params)
        assert all(leaf.dtype == dtype for leaves in params.values() for leaf in leaves.values())
    outputs = nets.run(shape, params, x).outputs
    assert outputs.dtype == before.dtype == dtype
    return float(np.abs(outputs - before).max() / np.abs(before).max())


def test_the_reference_network_is_the_package_s(nets: Any) -> None:
    rng = np.random.default_rng(0)
    shape = nets.architecture(4, [(3, 5, "rational"), (2, 2, "silu"), (4, 6, "tanh")], 2)
    params = nets.draw(rng, shape, np.float32)
    x = rng.standard_normal((20, 4)).astype(np.float32)
    signals = apply(shape.shape(), params, x, used_units(shape))
    np.testing.assert_allclose(
        signals.outputs, nets.run(shape, params, x).outputs, rtol=1e-5, atol=1e-5
    )


@settings(max_examples=25)
@given(
    inputs=SIZES, outputs=SIZES, hidden=HIDDEN.filter(len), seed=SEEDS, k=st.integers(1, 4),
    data=st.data(), moments=st.booleans(),
)  # fmt: skip
def test_added_neurons_keep_the_function(
    inputs: int, outputs: int, hidden: Any, seed: int, k: int, data: Any, moments: bool, nets: Any
) -> None:
    shape = nets.architecture(inputs, [(w, w + s, a) for w, s, a in hidden], outputs)
    layer = data.draw(st.integers(0, len(hidden) - 1))
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((1 + shape.map_width(layer)[0], k))
    rational = shape.hidden[layer].activation == "rational"
    edit = AddNeurons(layer, weights, rng.standard_normal((3, k)) if rational else None)
    edits = capacity_edits(shape, edit, CapacityRule(3, 0.5))
    assert len(edits) == 1 + (shape.widths[layer] + k > shape.capacities[layer])
    assert change(nets, shape, edits, np.float64, seed) < 1e-12
    assert change(nets, shape, edits, np.float32, seed) < 1e-5


@settings(max_examples=15)
@given(inputs=SIZES, outputs=SIZES, hidden=HIDDEN.filter(len), seed=SEEDS, data=st.data())
def test_more_capacity_changes_nothing(
    inputs: int, outputs: int, hidden: Any, seed: int, data: Any, nets: Any
) -> None:
    shape = nets.architecture(inputs, [(w, w + s, a) for w, s, a in hidden], outputs)
    layer = data.draw(st.integers(0, len(hidden) - 1))
    edit = EnlargeCapacity(layer, shape.capacities[layer] + data.draw(st.integers(0, 5)))
    assert change(nets, shape, [edit], np.float64, seed) < 1e-12


@settings(max_examples=30)
@given(
    inputs=SIZES, outputs=SIZES, hidden=HIDDEN, seed=SEEDS, data=st.data(),
    side=st.sampled_from(["inputs", "outputs"]),
)  # fmt: skip
def test_an_inserted_layer_keeps_the_function(
    inputs: int, outputs: int, hidden: Any, seed: int, data: Any, side: Any, nets: Any
) -> None:
    shape = nets.architecture(inputs, [(w, w + s, a) for w, s, a in hidden], outputs)
    index = data.draw(st.integers(0, len(shape.maps) - 1))
    q = shape.map_width(index)[side == "outputs"]
    rng = np.random.default_rng(seed)
    edit = InsertLayer(index, side, drawn_layer(rng, q, DepthSearchSpec().singular_floor))
    assert change(nets, shape, [edit], np.float64, seed) < 1e-12
    weights = drawn_layer(rng, q, WELL_CONDITIONED)
    # The bias counts: where it is far larger than the kernel, the signal drowns in it.
    if np.linalg.cond(homogeneous(weights)) < 50:
        edit = InsertLayer(index, side, weights)
        assert change(nets, shape, [edit], np.float32, seed) < 1e-5


def test_the_default_floor_keeps_the_function_in_single_precision(nets: Any) -> None:
    rng = np.random.default_rng(0)
    changes = []
    for seed in range(200):
        q, more = int(rng.integers(2, 33)), int(rng.integers(0, 10))
        shape = nets.architecture(q, [(q + more, q + more, "silu")], 10)
        edit = InsertLayer(0, "inputs", drawn_layer(rng, q, DepthSearchSpec().singular_floor))
        changes.append(change(nets, shape, [edit], np.float32, seed))
    assert max(changes) < 1e-5


def test_a_small_matrix_does_not_drown_in_the_bias(nets: Any) -> None:
    shape = nets.architecture(3, [(1, 1, "rational")], 1)
    kernel = floored(np.array([[0.002]]), DepthSearchSpec().singular_floor)
    edit = InsertLayer(1, "inputs", np.concatenate([[[1.0]], kernel]))
    assert max(change(nets, shape, [edit], np.float32, seed) for seed in range(20)) < 1e-5


def test_an_inserted_layer_is_the_identity_within_the_factorised_map(nets: Any) -> None:
    rng = np.random.default_rng(0)
    shape = nets.architecture(4, [(3, 3, "silu")], 2)
    params = nets.draw(rng, shape)
    for index, side, q in ((1, "inputs", 3), (0, "inputs", 4), (0, "outputs", 3)):
        weights = drawn_layer(rng, q, 0.1)
        after = edit_architecture(shape, InsertLayer(index, side, weights))  # type: ignore[arg-type]
        new = edit_parameters(params, shape, InsertLayer(index, side, weights), after)  # type: ignore[arg-type]
        coefficients = new[f"activation_{index}"]["coefficients"]
        np.testing.assert_array_equal(coefficients, np.tile([[1.0], [0.0], [0.0]], (1, q)))
        if side == "inputs":
            np.testing.assert_allclose(new[f"map_{index}"]["kernel"], weights[1:])
            np.testing.assert_allclose(new[f"map_{index}"]["bias"], weights[0])
        else:
            kernel = new[f"map_{index + 1}"]["kernel"]
            np.testing.assert_allclose(weights[1:] @ kernel, np.eye(q), atol=1e-12)


def test_the_homogeneous_form_acts_on_rows_with_a_constant() -> None:
    rng = np.random.default_rng(0)
    joined, x = rng.standard_normal((4, 2)), rng.standard_normal((5, 3))
    lifted = np.concatenate([np.ones((5, 1)), x], axis=1) @ homogeneous(joined)
    np.testing.assert_allclose(lifted[:, 0], 1.0)
    np.testing.assert_allclose(lifted[:, 1:], x @ joined[1:] + joined[0])


@settings(max_examples=20)
@given(
    inputs=SIZES, outputs=SIZES, hidden=HIDDEN.filter(lambda h: any(w > 1 for w, _, _ in h)),
    seed=SEEDS, data=st.data(),
)  # fmt: skip
def test_a_pruned_neuron_is_gone(
    inputs: int, outputs: int, hidden: Any, seed: int, data: Any, nets: Any
) -> None:
    shape = nets.architecture(inputs, [(w, w + s, a) for w, s, a in hidden], outputs)
    layer = data.draw(st.sampled_from([i for i, h in enumerate(hidden) if h[0] > 1]))
    neuron = data.draw(st.integers(0, hidden[layer][0] - 1))
    rng = np.random.default_rng(seed)
    params = nets.draw(rng, shape)
    x = rng.standard_normal((50, inputs))
    # Without what it puts out, the neuron is gone; then its removal changes nothing at all.
    params[f"map_{layer + 1}"]["kernel"][neuron] = 0.0
    before = nets.run(shape, params, x).outputs
    edit = PruneNeuron(layer, neuron)
    after = edit_architecture(shape, edit)
    assert after.widths[layer] == shape.widths[layer] - 1
    assert after.capacities == shape.capacities
    pruned = edit_parameters(params, shape, edit, after)
    assert nets.unused_are_zero(after, pruned)
    np.testing.assert_allclose(
        nets.run(after, pruned, x).outputs, before, rtol=0, atol=1e-13 * np.abs(before).max()
    )
    used = np.abs(params[f"map_{layer}"]["kernel"][:, : shape.widths[layer]]).sum()
    lost = np.abs(params[f"map_{layer}"]["kernel"][:, neuron]).sum()
    assert np.abs(pruned[f"map_{layer}"]["kernel"]).sum() == pytest.approx(used - lost)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("last", [False, True])
def test_a_duplicate_is_compensated_for(activation: str, last: bool, nets: Any) -> None:
    rng = np.random.default_rng(1)
    shape = nets.architecture(3, [(4, 6, activation), (3, 3, "tanh")], 2)
    params = nets.draw(rng, shape)
    twin, neuron = 1, 3 if last else 0
    for name, leaf in (("map_0", "kernel"), ("map_0", "bias"), ("activation_0", "coefficients")):
        if name in params:
            params[name][leaf][..., neuron] = params[name][leaf][..., twin]
    share = np.zeros(5)
    share[1 + twin], share[1 + neuron] = 1.0, 99.0  # its own entry is ignored
    edit = PruneNeuron(0, neuron, share)
    after = edit_architecture(shape, edit)
    pruned = edit_parameters(params, shape, edit, after)
    assert nets.unused_are_zero(after, pruned)
    x = rng.standard_normal((50, 3))
    np.testing.assert_allclose(
        nets.run(after, pruned, x).outputs, nets.run(shape, params, x).outputs, atol=1e-12
    )


def test_the_best_compensation_leaves_what_the_schur_complement_says(nets: Any) -> None:
    rng = np.random.default_rng(2)
    shape = nets.architecture(3, [(4, 4, "silu"), (3, 3, "tanh")], 2)
    params = nets.draw(rng, shape)
    x = rng.standard_normal((200, 3))
    seen, neuron = nets.run(shape, params, x), 2
    a = seen.reads[1]
    moment = a.T @ a / len(x)
    rest = np.delete(np.arange(5), 1 + neuron)
    share = np.zeros(5)
    share[rest] = np.linalg.solve(moment[np.ix_(rest, rest)], moment[rest, 1 + neuron])
    schur = moment[1 + neuron, 1 + neuron] - moment[1 + neuron, rest] @ share[rest]
    edit = PruneNeuron(0, neuron, share)
    after = edit_architecture(shape, edit)
    pruned = edit_parameters(params, shape, edit, after)
    moved = nets.run(after, pruned, x).z[1] - seen.z[1]
    predicted = schur * params["map_1"]["kernel"][neuron] ** 2
    np.testing.assert_allclose(np.mean(moved**2, axis=0), predicted, rtol=1e-9)


def test_nothing_that_was_passed_in_is_changed(nets: Any) -> None:
    rng = np.random.default_rng(3)
    shape = nets.architecture(3, [(2, 4, "rational")], 2)
    params = nets.draw(rng, shape)
    kept = {name: {k: v.copy() for k, v in leaves.items()} for name, leaves in params.items()}
    for edit in (
        AddNeurons(0, rng.standard_normal((4, 1)), rng.standard_normal((3, 1))),
        EnlargeCapacity(0, 5),
        InsertLayer(0, "inputs", drawn_layer(rng, 3, 0.1)),
        PruneNeuron(0, 0, np.array([0.5, 0.0, 1.0])),
    ):
        edit_parameters(params, shape, edit, edit_architecture(shape, edit))
        for name, leaves in kept.items():
            for leaf, array in leaves.items():
                np.testing.assert_array_equal(params[name][leaf], array)
