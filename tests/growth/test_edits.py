"""What edits make of a network of any kind: its shape, and the function that it computes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.growth.carry import edit_parameters
from senn_cli.growth.edits import (
    Activate,
    AddUnits,
    Edit,
    Enlarge,
    InsertLayer,
    PromoteBud,
    Redraw,
    RemoveUnit,
    Reorder,
    SplitUnit,
    describe,
    edit_architecture,
)
from senn_cli.growth.insertion import floored, homogeneous
from senn_cli.nets.architecture import CapacityRule, Layer
from senn_cli.nets.features import hidden_feature, present, readers, used_units, writer
from senn_cli.nets.leaves import joined, row_mask, split
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.nets.tables import compact
from senn_cli.spec.growth import DepthSearchSpec
from senn_cli.training.network import capacity_edits
from tests import densenets, edited
from tests.densenets import initial_masks
from tests.edited import CASES, IDS, Tree, outputs, unread, weights

SEEDS = st.integers(0, 2**32 - 1)
BOTH = [edited.mlp, edited.dormant_mlp, edited.toy, edited.densenet]
NET = densenets.architecture((6, 6, 2), 3, [[(3, 5), (2, 4)], [(2, 3), (3, 4)]], bud=2)
MLP = MlpArchitecture(5, 2, (Layer(3, 8, "silu"), Layer(4, 4, "rational")))
PRECISIONS = [(np.float64, 1e-12), (np.float32, 1e-5)]


def largest_change(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max() / np.abs(b).max())


def unused_are_unread(shape: Any, params: Tree) -> bool:
    """Whether every weight that reads a unit which is not in use is exactly zero."""
    used = used_units(shape)
    return not any(
        joined(m, params[m.name])[~row_mask(m, used)].any()
        for m in shape.maps
        if m.target.role != "bud"
    )


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS, ids=["double", "single"])
@pytest.mark.parametrize(("make_shape", "make_edit"), CASES, ids=IDS)
@settings(max_examples=12)
@given(seed=SEEDS)
def test_the_function_is_kept(
    make_shape: Any, make_edit: Any, dtype: Any, tolerance: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    shape = make_shape(rng)
    edit = make_edit(rng, shape)
    # A unit that nobody reads goes without any change.
    params = unread(shape, weights(rng, shape, dtype), edit)
    x = rng.standard_normal((20, shape.inputs)).astype(dtype)
    after, new = edit_architecture(shape, edit), edit_parameters(params, shape, edit)
    for m in after.maps:
        for leaf, size in m.shapes().items():
            assert new[m.name][leaf].shape == size and new[m.name][leaf].dtype == dtype
    assert unused_are_unread(after, new)
    assert largest_change(outputs(after, new, x), outputs(shape, params, x)) < tolerance


@pytest.mark.parametrize(("make_shape", "make_edit"), CASES, ids=IDS)
@settings(max_examples=6)
@given(seed=SEEDS)
def test_nothing_that_was_passed_in_is_changed(make_shape: Any, make_edit: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = make_shape(rng)
    params, edit = weights(rng, shape), make_edit(rng, shape)
    kept = {name: {k: v.copy() for k, v in leaves.items()} for name, leaves in params.items()}
    edit_parameters(params, shape, edit)
    for name, leaves in kept.items():
        for leaf, array in leaves.items():
            np.testing.assert_array_equal(params[name][leaf], array)


NOT_OF_SPARE = (edited.activate, edited.redraw, edited.enlarge, edited.reorder)
WITHIN = [(k, m) for k, m in CASES if m not in NOT_OF_SPARE]


@pytest.mark.parametrize(
    ("make_shape", "make_edit"), WITHIN, ids=[f"{k.__name__}-{m.__name__}" for k, m in WITHIN]
)
@settings(max_examples=10)
@given(seed=SEEDS)
def test_capacity_is_invisible(make_shape: Any, make_edit: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = make_shape(rng)
    params, edit = weights(rng, shape), make_edit(rng, shape)
    small = shape.compact()
    narrow = compact(params, shape)
    if isinstance(edit, AddUnits):
        m = writer(shape, hidden_feature(shape, edit.layer).name)
        there = {f.name: np.arange(f.capacity) < present(f) for f in shape.features}
        narrow_edit: Edit = replace(edit, incoming=edit.incoming[row_mask(m, there)])
    else:
        narrow_edit = edit
    for step in capacity_edits(small, narrow_edit, CapacityRule(1, 0.5)):
        narrow, small = edit_parameters(narrow, small, step), edit_architecture(small, step)
    after, new = edit_architecture(shape, edit), edit_parameters(params, shape, edit)
    assert after.widths == small.widths
    mine, theirs = compact(new, after), compact(narrow, small)
    for m in after.without_buds().maps:
        for leaf, array in mine[m.name].items():
            if leaf != "bud":
                np.testing.assert_array_equal(array, theirs[m.name][leaf], err_msg=m.name)


def copy_of(shape: Any, params: Tree, layer: int, unit: int, share: float) -> AddUnits:
    """A unit like `unit`, which takes over a share of its output weights."""
    feature = hidden_feature(shape, layer)
    m = writer(shape, feature.name)
    scale = np.ones(feature.width)
    scale[unit] = 1 - share
    outgoing = {}
    for reader, source in readers(shape, feature.name):
        rows = reader.groups(source)[unit]
        outgoing[reader.name] = share * joined(reader, params[reader.name])[rows][None]
    coefficients = None
    if feature.coefficients is not None:
        coefficients = params[feature.coefficients]["coefficients"][:, [unit]]
    incoming = joined(m, params[m.name])[:, [unit]]
    return AddUnits(layer, incoming, coefficients, outgoing, scale)


@pytest.mark.parametrize("make_shape", BOTH)
@settings(max_examples=15)
@given(seed=SEEDS, share=st.floats(-1.0, 2.0))
def test_a_copy_that_takes_over_a_share_keeps_the_function_as_a_split_does(
    make_shape: Any, seed: int, share: float
) -> None:
    rng = np.random.default_rng(seed)
    shape = make_shape(rng)
    params, x = weights(rng, shape), rng.standard_normal((20, shape.inputs))
    layer = int(rng.integers(len(shape.hidden)))
    unit = int(rng.integers(shape.widths[layer]))
    one, other = (
        copy_of(shape, params, layer, unit, share),
        SplitUnit(layer, unit, (1 - share, share)),
    )
    after = edit_architecture(shape, one)
    assert after == edit_architecture(shape, other)
    added, halved = (edit_parameters(params, shape, edit) for edit in (one, other))
    for m in after.maps:
        np.testing.assert_allclose(
            joined(m, added[m.name]), joined(m, halved[m.name]), rtol=1e-14, atol=1e-300
        )
    assert largest_change(outputs(after, added, x), outputs(shape, params, x)) < 1e-12


def last_activations(shape: Any, params: Tree, x: np.ndarray) -> np.ndarray:
    """What the map of the outputs reads, `(N, width)`: by the identity in its place."""
    head = shape.maps[-1]
    probe = MlpArchitecture if isinstance(shape, MlpArchitecture) else type(shape)
    width = shape.widths[-1]
    wide = replace(shape, outputs=width)
    assert isinstance(wide, probe)
    eye = np.eye(shape.capacities[-1], width)
    leaves = {"kernel": eye, "bias": np.zeros(width)}
    return outputs(wide, {**params, head.name: leaves}, x)


@pytest.mark.parametrize("make_shape", BOTH)
@settings(max_examples=15)
@given(seed=SEEDS)
def test_output_weights_change_the_outputs_by_what_was_asked_for(
    make_shape: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    shape = make_shape(rng)
    layer, k = len(shape.hidden) - 1, 1
    edit = edited.add(rng, shape)
    while edit.layer != layer:
        edit = edited.add(rng, shape)
    k, width, head = edit.count, shape.widths[-1], shape.maps[-1].name
    given_out, scale = rng.standard_normal((k, 1, shape.outputs)), rng.standard_normal(width)
    full = replace(edit, outgoing={head: given_out}, scale=scale)
    params, x = weights(rng, shape), rng.standard_normal((20, shape.inputs))
    after, new = edit_architecture(shape, full), edit_parameters(params, shape, full)
    h = last_activations(after, new, x)
    kernel = params[head]["kernel"][:width]
    predicted = h[:, :width] @ (kernel * (scale - 1)[:, None]) + h[:, width:] @ given_out[:, 0]
    change = outputs(after, new, x) - outputs(shape, params, x)
    np.testing.assert_allclose(change, predicted, atol=1e-12 * np.abs(outputs(after, new, x)).max())
    assert np.abs(predicted).max() > 0


@pytest.mark.parametrize("make_shape", BOTH)
@settings(max_examples=10)
@given(seed=SEEDS)
def test_offsets_move_copies_to_opposite_sides(make_shape: Any, seed: int) -> None:
    """Of a splitting step +-e: to first order in e the function stays."""
    rng = np.random.default_rng(seed)
    shape = make_shape(rng)
    params, x = weights(rng, shape), rng.standard_normal((20, shape.inputs))
    feature = hidden_feature(shape, 0)
    m = writer(shape, feature.name)
    direction = rng.standard_normal(m.rows) * row_mask(m, used_units(shape))
    changes = []
    for size in (1e-3, 1e-4):
        both = size * np.stack([direction, -direction], axis=1)
        edit = SplitUnit(0, 1, (0.5, 0.5), both)
        after, new = edit_architecture(shape, edit), edit_parameters(params, shape, edit)
        matrix = joined(m, new[writer(after, feature.name).name])
        np.testing.assert_allclose(
            matrix[:, [1, feature.width]] - joined(m, params[m.name])[:, [1]], both, atol=1e-15
        )
        changes.append(np.abs(outputs(after, new, x) - outputs(shape, params, x)).mean())
    if make_shape is not edited.densenet:  # a maximum has kinks
        assert changes[1] <= 0.02 * changes[0] + 1e-13


@pytest.mark.parametrize("make_shape", BOTH)
@settings(max_examples=15)
@given(seed=SEEDS)
def test_a_copy_is_compensated_for_in_every_map_that_reads_it(make_shape: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = make_shape(rng)
    params, x = weights(rng, shape), rng.standard_normal((20, shape.inputs))
    layer = int(rng.integers(len(shape.hidden)))
    unit, twin = map(int, rng.permutation(shape.widths[layer])[:2])
    feature = hidden_feature(shape, layer)
    m = writer(shape, feature.name)
    matrix = joined(m, params[m.name]).copy()
    matrix[:, unit] = matrix[:, twin]
    params[m.name] = split(m, matrix)
    if feature.coefficients is not None:
        coefficients = params[feature.coefficients]["coefficients"]
        coefficients[:, unit] = coefficients[:, twin]
    shares = {}
    for reader, source in readers(shape, feature.name):
        rows = reader.groups(source)
        share = np.zeros((reader.rows, rows.shape[1]))
        share[rows[twin], np.arange(rows.shape[1])] = 1.0
        share[rows[unit], 0] = 99.0  # its own entries are ignored
        shares[reader.name] = share
    edit = RemoveUnit(layer, unit, shares)
    after, new = edit_architecture(shape, edit), edit_parameters(params, shape, edit)
    assert unused_are_unread(after, new)
    assert largest_change(outputs(after, new, x), outputs(shape, params, x)) < 1e-11


def test_the_best_compensation_leaves_what_the_schur_complement_says(nets: Any) -> None:
    rng = np.random.default_rng(2)
    shape = nets.architecture(3, [(4, 4, "silu"), (3, 3, "tanh")], 2)
    params, x, unit = nets.draw(rng, shape), rng.standard_normal((200, 3)), 2
    seen = nets.run(shape, params, x)
    a = seen.reads[1]
    moment = a.T @ a / len(x)
    rest = np.delete(np.arange(5), 1 + unit)
    share = np.zeros((5, 1))
    share[rest, 0] = np.linalg.solve(moment[np.ix_(rest, rest)], moment[rest, 1 + unit])
    schur = moment[1 + unit, 1 + unit] - moment[1 + unit, rest] @ share[rest, 0]
    edit = RemoveUnit(0, unit, {"map_1": share})
    pruned = edit_parameters(params, shape, edit)
    moved = nets.run(edit_architecture(shape, edit), pruned, x).z[1] - seen.z[1]
    predicted = schur * params["map_1"]["kernel"][unit] ** 2
    np.testing.assert_allclose(np.mean(moved**2, axis=0), predicted, rtol=1e-9)


def test_a_bud_becomes_a_layer_that_computes_what_the_bud_computed() -> None:
    rng = np.random.default_rng(0)
    params, x = weights(rng, NET), rng.standard_normal((5, NET.inputs))
    edit = PromoteBud(1, seed=0, step=5, capacity=3)
    after, new = edit_architecture(NET, edit), edit_parameters(params, NET, edit)
    assert [[h.width for h in layers] for layers in after.blocks] == [[3, 2, 2], [2, 3]]
    assert after.capacities == (5, 3, 4, 3, 4)
    z = densenets.run(NET, params, initial_masks(NET), x)[1]
    then = densenets.run(after, new, initial_masks(after), x)[1]
    np.testing.assert_array_equal(then["block_0/layer_1"][..., :2], z["block_0/bud_1"])
    assert np.abs(new["block_0/layer_1"]["input"][..., 2]).min() > 0, "spare channels are drawn"
    last = new["block_0/layer_2"]
    assert not last["layer_1"].any() and not last["bud"].any()
    # The new buds read all that their layers read, the one behind the new layer that layer too.
    assert np.abs(new["block_0/bud_1"]["input"]).min() > 0
    assert np.abs(new["block_0/bud_2"]["layer_1"][:, :, :2]).min() > 0
    assert (new["block_0/bud_1"]["input"] != params["block_0/bud_1"]["input"]).all()


def test_new_dormant_units_are_drawn_by_seed_and_step_whatever_the_capacity() -> None:
    params = weights(np.random.default_rng(0), NET)
    kernels = {}
    for capacity, step in ((8, 11), (9, 11), (8, 12)):
        new = edit_parameters(params, NET, Enlarge(0, capacity, seed=3, step=step))
        kernels[capacity, step] = new["block_0/layer_0"]["input"]
        np.testing.assert_array_equal(
            kernels[capacity, step][..., :5], params["block_0/layer_0"]["input"]
        )
        assert not new["block_0/layer_1"]["layer_0"][:, :, 5:].any()
    drawn = kernels[8, 11][..., 5:]
    assert np.abs(drawn).min() > 0
    assert drawn.std() == pytest.approx(1 / np.sqrt(9 * 2), rel=0.4)
    np.testing.assert_array_equal(kernels[9, 11][..., :8], kernels[8, 11])
    assert (kernels[8, 12][..., 5:] != drawn).all()


@settings(max_examples=15)
@given(seed=SEEDS)
def test_redrawing_touches_chosen_dormant_units_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = edited.densenet(rng)
    params, used = weights(rng, shape, np.float32), used_units(shape)
    chosen = {
        f.name: tuple(map(int, np.flatnonzero(rng.random(f.capacity) < 0.6)))
        for f in shape.features
        if f.grows
    }
    new = edit_parameters(params, shape, Redraw(chosen, 4, 100))
    again = edit_parameters(params, shape, Redraw(chosen, 4, 101))
    for m in shape.maps:
        picked = np.isin(np.arange(m.columns), chosen.get(m.target.name, ())) & ~used[m.target.name]
        if m.target.role == "outputs":
            picked = np.zeros(m.columns, bool)
        read = row_mask(m, used)
        old, drawn, later = (joined(m, tree[m.name]) for tree in (params, new, again))
        np.testing.assert_array_equal(drawn[:, ~picked], old[:, ~picked])
        assert (drawn[np.ix_(read, picked)] != old[np.ix_(read, picked)]).all()
        assert (drawn[np.ix_(read, picked)] != later[np.ix_(read, picked)]).all()
        assert not drawn[~read][:, picked].any()


def test_an_activated_unit_starts_at_output_weights_of_zero_whatever_they_were() -> None:
    rng = np.random.default_rng(2)
    params = densenets.random_parameters(rng, NET, initial_masks(NET), unused=3.0)
    x = rng.standard_normal((5, NET.inputs))
    edit = Activate(2, (2,))
    after, new = edit_architecture(NET, edit), edit_parameters(params, NET, edit)
    assert after.widths == (3, 2, 3, 3)
    assert largest_change(outputs(after, new, x), outputs(NET, params, x)) < 1e-12
    assert not new["block_1/layer_1"]["layer_0"][:, :, 2].any()


def inserted(rng: np.random.Generator, q: int, floor: float) -> np.ndarray:
    """W_q as a proposal begins, its bias in row 0."""
    kernel = floored(rng.standard_normal((q, q)) / np.sqrt(q), floor)
    return np.concatenate([rng.standard_normal((1, q)), kernel])


def test_the_default_floor_keeps_the_function_in_single_precision() -> None:
    rng, floor = np.random.default_rng(0), DepthSearchSpec().singular_floor
    for _ in range(200):
        q, more = int(rng.integers(2, 33)), int(rng.integers(0, 10))
        shape = MlpArchitecture(q, 10, (Layer(q + more, q + more, "silu"),))
        params = weights(rng, shape, np.float32)
        x = rng.standard_normal((50, q)).astype(np.float32)
        edit = InsertLayer(0, "inputs", inserted(rng, q, floor))
        new = edit_parameters(params, shape, edit)
        after = edit_architecture(shape, edit)
        assert largest_change(outputs(after, new, x), outputs(shape, params, x)) < 1e-5


def test_a_small_matrix_does_not_drown_in_the_bias() -> None:
    shape = MlpArchitecture(3, 1, (Layer(1, 1, "rational"),))
    kernel = floored(np.array([[0.002]]), DepthSearchSpec().singular_floor)
    edit = InsertLayer(1, "inputs", np.concatenate([[[1.0]], kernel]))
    after = edit_architecture(shape, edit)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        params, x = weights(rng, shape, np.float32), rng.standard_normal((50, 3)).astype(np.float32)
        new = edit_parameters(params, shape, edit)
        assert largest_change(outputs(after, new, x), outputs(shape, params, x)) < 1e-5


@pytest.mark.parametrize(("index", "side"), [(1, "inputs"), (0, "inputs"), (0, "outputs")])
def test_an_inserted_layer_is_the_identity_within_the_factorised_map(index: int, side: Any) -> None:
    rng = np.random.default_rng(0)
    shape = MlpArchitecture(4, 2, (Layer(3, 3, "silu"),))
    q = 4 if (index, side) == (0, "inputs") else 3
    edit = InsertLayer(index, side, inserted(rng, q, 0.1))
    new = edit_parameters(weights(rng, shape), shape, edit)
    coefficients = new[f"activation_{index}"]["coefficients"]
    np.testing.assert_array_equal(coefficients, np.tile([[1.0], [0.0], [0.0]], (1, q)))
    if side == "inputs":
        np.testing.assert_allclose(joined_of(new[f"map_{index}"]), edit.weights)
    else:
        kernel = new[f"map_{index + 1}"]["kernel"]
        np.testing.assert_allclose(edit.weights[1:] @ kernel, np.eye(q), atol=1e-12)


def joined_of(leaves: dict[str, np.ndarray]) -> np.ndarray:
    return np.concatenate([leaves["bias"][None], leaves["kernel"]])


def test_an_identity_does_not_fit_into_a_convolution() -> None:
    rng = np.random.default_rng(0)
    shape = densenets.architecture((4, 4, 2), 2, [[(2, 2)]])
    with pytest.raises(ValueError, match="rational"):
        edit_parameters(weights(rng, shape), shape, InsertLayer(0, "inputs", inserted(rng, 2, 0.1)))


def test_the_homogeneous_form_acts_on_rows_with_a_constant() -> None:
    rng = np.random.default_rng(0)
    matrix, x = rng.standard_normal((4, 2)), rng.standard_normal((5, 3))
    lifted = np.concatenate([np.ones((5, 1)), x], axis=1) @ homogeneous(matrix)
    np.testing.assert_allclose(lifted[:, 0], 1.0)
    np.testing.assert_allclose(lifted[:, 1:], x @ matrix[1:] + matrix[0])


@settings(max_examples=15)
@given(
    seed=SEEDS, q=st.integers(1, 12), floor=st.sampled_from([0.0, 1e-3, 0.1, 0.9]),
    rank=st.integers(1, 12),
)  # fmt: skip
def test_singular_values_are_floored(seed: int, q: int, floor: float, rank: int) -> None:
    rng = np.random.default_rng(seed)
    kernel = rng.standard_normal((q, rank)) @ rng.standard_normal((rank, q))
    before = np.linalg.svd(kernel, compute_uv=False)
    result = floored(kernel, floor)
    least = floor * max(before.mean(), 1.0)
    after, wanted = np.linalg.svd(result, compute_uv=False), np.maximum(before, least)
    np.testing.assert_allclose(after, np.sort(wanted)[::-1], rtol=1e-8, atol=1e-12 * before[0])
    if before.min() >= least:
        np.testing.assert_allclose(result, kernel, atol=1e-12 * before[0])


@pytest.mark.parametrize(
    ("index", "q", "widths"), [(0, 5, (5, 3, 4)), (1, 3, (3, 3, 4)), (2, 2, (3, 4, 2))]
)
def test_a_layer_is_inserted_within_its_map(index: int, q: int, widths: tuple[int, ...]) -> None:
    edit = InsertLayer(index, "inputs", np.zeros((1 + q, q)))
    after = edit_architecture(MLP, edit)
    assert after.widths == widths and after.hidden[index] == Layer(q, q, "rational")
    (roomy,) = capacity_edits(MLP, edit, CapacityRule(multiple=8, growth=0.5))
    assert edit_architecture(MLP, roomy).hidden[index] == Layer(q, 8, "rational")


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


def test_what_does_not_fit_is_preceded_by_room() -> None:
    rule, one = CapacityRule(4, 0.5), AddUnits(1, np.zeros((4, 2)), np.zeros((3, 2)))
    room, edit = capacity_edits(MLP, one, rule, seed=3, step=7)
    assert (room, edit) == (Enlarge(1, 8, 3, 7), one)
    assert capacity_edits(MLP, replace(one, layer=0), rule) != [room, edit]
    split_, copies = capacity_edits(MLP, SplitUnit(1, 0, (0.5, 0.5)), rule)
    assert isinstance(split_, Enlarge) and copies.name == "add_neurons"


def test_all_layers_have_the_same_room_together() -> None:
    rule, one = CapacityRule(4, 0.5, together=True), AddUnits(1, np.zeros((4, 2)), np.zeros((3, 2)))
    assert capacity_edits(MLP, one, rule, seed=3, step=7) == [Enlarge(1, 8, 3, 7), one]
    within = replace(one, layer=0)
    assert capacity_edits(MLP, within, rule) == [within]
    for q, capacity in ((2, 8), (9, 12)):
        *rooms, layer = capacity_edits(MLP, InsertLayer(2, "inputs", np.zeros((1 + q, q))), rule)
        assert isinstance(layer, InsertLayer) and layer.capacity == capacity
        after = MLP
        for edit in (*rooms, layer):
            after = edit_architecture(after, edit)
        assert after.capacities == (capacity,) * 3


@pytest.mark.parametrize(
    ("shape", "edit", "message"),
    [
        (MLP, AddUnits(1, np.zeros((4, 1)), np.zeros((3, 1))), "capacity"),
        (MLP, Activate(0, (4,)), "no dormant units"),
        (MLP, PromoteBud(0, 0, 0), "no bud"),
        (MLP, Enlarge(0, 7), "cannot enlarge 8 units to 7"),
        (MLP, RemoveUnit(0, 3), "not in use"),
        (MLP, SplitUnit(0, 3, (0.5, 0.5)), "not in use"),
        (MLP.with_layer(0, width=1), RemoveUnit(0, 0), "width"),
        (NET, Enlarge(0, 4), "cannot enlarge 5 units to 4"),
        (NET, Activate(0, (3, 1)), "in use already"),
        (NET, Activate(0, (3, 3)), "different"),
        (NET, RemoveUnit(0, 3), "not in use"),
        (NET.with_layer(0, width=1), RemoveUnit(0, 0), "width"),
        (NET, Reorder(0, (0, 1, 1, 3, 4)), "no order"),
        (NET, Reorder(0, (0, 1, 3, 2, 4)), "in front"),
        (NET, PromoteBud(0, 0, 0, capacity=1), "width"),
        (NET.without_buds(), PromoteBud(0, 0, 0), "no bud"),
    ],
)
def test_impossible_edits_are_refused(shape: Any, edit: Edit, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        edit_architecture(shape, edit)


def test_a_history_line_has_no_weights() -> None:
    zeros = np.zeros((4, 2))
    first = {"layer": 1, "site": "layer 1"}
    lines: list[tuple[Any, Edit, dict[str, Any]]] = [
        (MLP, AddUnits(1, zeros, None), {"edit": "add_neurons", **first, "neurons": 2}),
        (MLP, SplitUnit(1, 3, (0.5, 0.25, 0.25)),
         {"edit": "add_neurons", **first, "neurons": 2, "neuron": 3}),
        (MLP, InsertLayer(0, "outputs", np.zeros((4, 3))),
         {"edit": "insert_layer", "map": 0, "side": "outputs", "neurons": 3}),
        (MLP, Enlarge(1, 16), {"edit": "enlarge_capacity", **first, "capacity": 16}),
        (MLP, RemoveUnit(1, 3), {"edit": "prune_neurons", **first, "neuron": 3}),
        (NET, Activate(0, (4, 3)),
         {"edit": "add_neurons", "layer": 0, "site": "block 0 layer 0", "neurons": 2,
          "channels": [4, 3]}),
        (NET, PromoteBud(2, 0, 7),
         {"edit": "insert_layer", "layer": 2, "site": "block 1 layer 0", "neurons": 2}),
        (NET, Reorder(3, (2, 1, 0, 3)),
         {"edit": "reorder", "layer": 3, "site": "block 1 layer 1", "order": [2, 1, 0, 3]}),
        (NET, Redraw({"block_0/bud_0": (1,)}, 0, 7), {"edit": "redraw"}),
    ]  # fmt: skip
    for shape, edit, line in lines:
        assert describe(edit, shape) == line
