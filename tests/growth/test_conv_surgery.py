from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.growth.conv_edits import (
    ActivateChannels,
    Compact,
    ConvEdit,
    EnlargeChannels,
    PromoteBud,
    PruneChannel,
    describe,
    edit_architecture,
)
from senn_cli.growth.conv_surgery import (
    NEW,
    edit_moments,
    edit_parameters,
    lineage,
)
from senn_cli.growth.dormant_score import compensation
from senn_cli.nets.densenet import DenseArchitecture, Masks
from senn_cli.nets.features import map_named, trained
from tests.densenets import (
    Tree,
    architecture,
    architectures,
    convolved,
    cut,
    random_parameters,
    reads,
    run,
    scattered,
    sigma,
    unit_rows,
)

SEEDS = st.integers(0, 2**32 - 1)
NET = architecture((6, 6, 2), 3, [[(3, 5), (2, 4)], [(2, 3), (3, 4)]], bud=2)
EDITS: tuple[ConvEdit, ...] = (
    EnlargeChannels(1, 6, 0, 7),
    PromoteBud(1, 0, 7),
    PromoteBud(3, 0, 7, capacity=4, used=(True, False)),
    Compact(),
)


def any_edit(rng: np.random.Generator, shape: DenseArchitecture, masks: Masks) -> ConvEdit:
    """Some edit, other than pruning, that is possible."""
    layer, step = int(rng.integers(len(shape.hidden))), int(rng.integers(99))
    dormant = np.flatnonzero(~masks.layers[layer])
    choice = rng.integers(4)
    if choice == 0 and len(dormant):
        count = int(rng.integers(1, len(dormant) + 1))
        return ActivateChannels(layer, tuple(int(c) for c in dormant[:count]))
    if choice == 1 and shape.bud and len(shape.hidden) < 6:
        used = (True, *(bool(v) for v in rng.random(shape.bud - 1) < 0.5))
        capacity = int(rng.integers(0, 2)) * (shape.bud + 2)
        return PromoteBud(layer, 1, step, capacity, used if rng.random() < 0.5 else None)
    if choice == 2:
        return Compact()
    return EnlargeChannels(layer, shape.capacities[layer] + int(rng.integers(3)), 1, step)


def check(shape: DenseArchitecture, masks: Masks, params: Tree, dtype: Any) -> None:
    """Shapes of every array; masks as the architecture says; weights of unused rows zero."""
    assert masks.widths == shape.widths
    assert tuple(len(m) for m in masks.layers) == shape.capacities
    assert set(params) == {*reads(shape, masks), "head"}
    for wire in shape.maps:
        leaves = params[wire.name]
        assert list(leaves) == [s.leaf for s in wire.sources] + ["bias"] * (
            wire.target.role == "outputs"
        )
        lead = () if wire.target.role == "outputs" else (3, 3)
        for source in wire.sources:
            kernel = leaves[source.leaf]
            assert kernel.shape == (*lead, source.feature.capacity, wire.target.capacity)
            assert kernel.dtype == dtype
            assert not kernel[..., ~masks.of(source), :].any()


@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-12), (np.float32, 1e-5)])
@settings(max_examples=40)
@given(shape=architectures(), seed=SEEDS)
def test_edits_keep_the_function(
    dtype: Any, tolerance: float, shape: DenseArchitecture, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    masks = scattered(rng, shape)
    params = random_parameters(rng, shape, masks, dtype)
    x = rng.standard_normal((5, shape.inputs)).astype(dtype)
    before = run(shape, params, masks, x)[0]
    for _ in range(4):
        edit = any_edit(rng, shape, masks)
        params = edit_parameters(params, shape, masks, edit)
        shape, masks = edit_architecture(shape, masks, edit)
        check(shape, masks, params, dtype)
        outputs = run(shape, params, masks, x)[0]
        assert outputs.dtype == dtype
        assert np.abs(outputs - before).max() < tolerance * np.abs(before).max(), edit


def random_net(seed: int = 0, shape: DenseArchitecture = NET) -> tuple[Masks, Tree, np.ndarray]:
    rng = np.random.default_rng(seed)
    masks = scattered(rng, shape)
    x = rng.standard_normal((5, shape.inputs))
    return masks, random_parameters(rng, shape, masks), x


def test_compact_keeps_what_is_in_use_and_the_buds() -> None:
    masks, params, _ = random_net()
    after, full = edit_architecture(NET, masks, Compact())
    assert after == NET.compact() and all(m.all() for m in full.layers)
    found, expected = edit_parameters(params, NET, masks, Compact()), cut(params, NET, masks)
    for name, leaves in expected.items():
        for leaf, array in leaves.items():
            np.testing.assert_array_equal(found[name][leaf], array)


def test_old_channels_stay_and_new_ones_are_drawn_when_capacity_grows() -> None:
    masks, params, _ = random_net()
    edit = EnlargeChannels(0, 8, seed=3, step=11)
    after, wide = edit_architecture(NET, masks, edit)
    new = edit_parameters(params, NET, masks, edit)
    assert after.capacities == (8, 4, 3, 4) and after.widths == NET.widths
    np.testing.assert_array_equal(wide.layers[0], np.pad(masks.layers[0], (0, 3)))
    old, kernel = params["block_0/layer_0"]["input"], new["block_0/layer_0"]["input"]
    np.testing.assert_array_equal(kernel[..., :5], old)
    assert np.abs(kernel[..., 5:]).min() > 0
    assert kernel[..., 5:].std() == pytest.approx(1 / np.sqrt(9 * 2), rel=0.4)
    for name in ("block_0/layer_1", "block_0/bud_1"):
        rows = new[name]["layer_0"]
        np.testing.assert_array_equal(rows[:, :, :5], params[name]["layer_0"])
        assert not rows[:, :, 5:].any()
    again = edit_parameters(params, NET, masks, edit)
    later = edit_parameters(params, NET, masks, EnlargeChannels(0, 8, seed=3, step=12))
    np.testing.assert_array_equal(again["block_0/layer_0"]["input"], kernel)
    assert (later["block_0/layer_0"]["input"][..., 5:] != kernel[..., 5:]).all()


def test_a_bud_becomes_a_layer_that_computes_what_the_bud_computed() -> None:
    masks, params, x = random_net()
    edit = PromoteBud(1, seed=0, step=5, capacity=3)
    after, wide = edit_architecture(NET, masks, edit)
    new = edit_parameters(params, NET, masks, edit)
    assert [[h.width for h in layers] for layers in after.blocks] == [[3, 2, 2], [2, 3]]
    assert after.capacities == (5, 3, 4, 3, 4)
    assert wide.layers[1].tolist() == [True, True, False]
    z, then = run(NET, params, masks, x)[1], run(after, new, wide, x)[1]
    np.testing.assert_array_equal(then["block_0/layer_1"][..., :2], z["block_0/bud_1"])
    assert np.abs(new["block_0/layer_1"]["input"][..., 2]).min() > 0, "spare channels are drawn"
    for here, there in (("layer_0", "layer_0"), ("layer_2", "layer_1"), ("bud_0", "bud_0")):
        np.testing.assert_allclose(then[f"block_0/{here}"], z[f"block_0/{there}"], rtol=1e-12)
    for name in ("block_1/bud_0", "block_1/layer_1", "block_1/bud_1"):
        np.testing.assert_array_equal(then[name], z[name])
    last = new["block_0/layer_2"]
    assert not last["layer_1"].any() and not last["bud"].any()
    assert not new["block_0/layer_1"]["bud"].any()
    # The new buds read all that their layers read, the one behind the new layer that layer too.
    assert np.abs(new["block_0/bud_1"]["input"]).min() > 0
    assert np.abs(new["block_0/bud_2"]["layer_1"][:, :, :2]).min() > 0
    assert (new["block_0/bud_1"]["input"] != params["block_0/bud_1"]["input"]).all()


def test_layers_and_buds_further_on_read_nothing_of_a_promoted_bud() -> None:
    masks, params, _ = random_net()
    new = edit_parameters(params, NET, masks, PromoteBud(0, 0, 5))
    # Old bud 1 and layer 1 are bud 2 and layer 2 now; what they called layer 0 is layer 1.
    for name, old in (("block_0/bud_2", "block_0/bud_1"), ("block_0/layer_2", "block_0/layer_1")):
        assert not new[name]["layer_0"].any()
        np.testing.assert_array_equal(new[name]["layer_1"], params[old]["layer_0"])
        np.testing.assert_array_equal(new[name]["input"], params[old]["input"])


def test_the_lineage_of_a_promotion_by_hand() -> None:
    masks, _, _ = random_net()
    found = lineage(NET, masks, PromoteBud(1, 0, 5, capacity=3))
    origin = {key: old for key, (old, _) in found.items()}
    assert origin == {
        ("data", 0): ("data", 0),
        ("hidden", 0): ("hidden", 0),
        ("hidden", 1): ("bud", 1),
        ("hidden", 2): ("hidden", 1),
        ("hidden", 3): ("hidden", 2),
        ("hidden", 4): ("hidden", 3),
        ("bud", 0): ("bud", 0),
        ("bud", 1): None,
        ("bud", 2): None,
        ("bud", 3): ("bud", 2),
        ("bud", 4): ("bud", 3),
    }
    assert found["hidden", 1][1].tolist() == [0, 1, NEW]
    assert found["bud", 2][1].tolist() == [NEW, NEW]
    assert found["hidden", 2][1].tolist() == [0, 1, 2, 3]


def test_a_bud_in_use_keeps_its_part_when_promoted() -> None:
    masks, _, x = random_net()
    masks = masks._replace(buds=tuple(np.array([i == 2, False]) for i in range(4)))
    params = random_parameters(np.random.default_rng(1), NET, masks)
    edit = PromoteBud(2, 0, 5, used=(False, True))
    after, wide = edit_architecture(NET, masks, edit)
    assert wide.layers[2].all() and len(wide.buds) == 5 and not np.any(wide.buds)
    new = edit_parameters(params, NET, masks, edit)
    check(after, wide, new, np.float64)
    np.testing.assert_allclose(
        run(after, new, wide, x)[0], run(NET, params, masks, x)[0], rtol=1e-12
    )


def test_activation_is_a_change_of_masks() -> None:
    masks, params, _ = random_net()
    chosen = tuple(int(c) for c in np.flatnonzero(~masks.layers[0]))
    edit = ActivateChannels(0, chosen)
    after, full = edit_architecture(NET, masks, edit)
    assert after == NET.with_layer(0, width=5) and full.layers[0].all()
    new = edit_parameters(params, NET, masks, edit)
    for name, leaves in params.items():
        for leaf, array in leaves.items():
            np.testing.assert_array_equal(new[name][leaf], array)


def test_an_activated_channel_starts_at_output_weights_of_zero_whatever_they_were() -> None:
    masks, _, x = random_net()
    params = random_parameters(np.random.default_rng(2), NET, masks, unused=3.0)
    channel = int(np.flatnonzero(~masks.layers[2])[0])
    edit = ActivateChannels(2, (channel,))
    after, more = edit_architecture(NET, masks, edit)
    new = edit_parameters(params, NET, masks, edit)
    np.testing.assert_allclose(
        run(after, new, more, x)[0], run(NET, params, masks, x)[0], rtol=1e-12
    )
    assert not new["block_1/layer_1"]["layer_0"][:, :, channel].any()


def patches(a: np.ndarray) -> np.ndarray:
    """The 3x3 surroundings of every position, `(N H W, 9 c)`."""
    n, height, width, c = a.shape
    around = np.pad(a, ((0, 0), (1, 1), (1, 1), (0, 0)))
    taps = [around[:, i : i + height, j : j + width] for i in range(3) for j in range(3)]
    return np.stack(taps, axis=3).reshape(n * height * width, 9 * c)


@pytest.mark.parametrize("layer", range(4))
def test_a_pruned_copy_is_compensated_for_in_every_map_that_reads_it(layer: int) -> None:
    masks, params, x = random_net(seed=layer)
    twin, channel = np.flatnonzero(masks.layers[layer])[:2]
    name = f"block_{layer // 2}/layer_{layer % 2}"
    for kernel in params[name].values():
        kernel[..., channel] = kernel[..., twin]
    shares = {}
    for wire, source in NET.readers(layer):
        rows = unit_rows(wire)
        first = 0
        for other in wire.sources[: wire.sources.index(source)]:
            first += other.feature.capacity
        share = np.zeros((rows.max() + 1, rows.shape[1]))
        share[rows[first + twin], np.arange(rows.shape[1])] = 1.0
        shares[wire.name] = share
    edit = PruneChannel(layer, int(channel), shares)
    after, fewer = edit_architecture(NET, masks, edit)
    assert after.widths[layer] == NET.widths[layer] - 1 and after.capacities == NET.capacities
    assert not fewer.layers[layer][channel]
    new = edit_parameters(params, NET, masks, edit)
    check(after, fewer, new, np.float64)
    z, then = run(NET, params, masks, x)[1], run(after, new, fewer, x)[1]
    for key in z:
        np.testing.assert_allclose(then[key], z[key], atol=1e-11, err_msg=key)
    for kernel, old in zip(new[name].values(), params[name].values(), strict=True):
        np.testing.assert_array_equal(kernel, old)
    bare = edit_parameters(params, NET, masks, PruneChannel(layer, int(channel)))
    check(after, fewer, bare, np.float64)
    assert np.abs(run(after, bare, fewer, x)[0] - z["head"]).max() > 1e-3


def test_the_best_compensation_leaves_what_the_schur_complement_says() -> None:
    masks, params, x = random_net(seed=5)
    channel = int(np.flatnonzero(masks.layers[0])[0])
    wire = map_named(NET, "block_0/layer_1")
    z = run(NET, params, masks, x)[1]
    image = x.reshape(5, 6, 6, 2)
    h = sigma("silu", z["block_0/layer_0"])
    a = np.concatenate([image, h, sigma("silu", z["block_0/bud_1"])], axis=3)
    rows = unit_rows(wire)
    used = np.zeros(9 * a.shape[3], bool)
    used[rows[np.concatenate([[True] * 2, masks.layers[0], [False] * 2])].ravel()] = True
    b = patches(a)
    moment = b.T @ b / len(b)
    combination = compensation(moment, used, rows[2 + channel], share=1e-12)
    edit = PruneChannel(0, channel, {wire.name: combination})
    after, fewer = edit_architecture(NET, masks, edit)
    new = edit_parameters(params, NET, masks, edit)
    difference = run(after, new, fewer, x)[1][wire.name] - z[wire.name]
    p, c = rows[2 + channel], np.setdiff1d(np.flatnonzero(used), rows[2 + channel])
    cross = moment[np.ix_(c, p)]
    schur = moment[np.ix_(p, p)] - cross.T @ np.linalg.solve(moment[np.ix_(c, c)], cross)
    w = params[wire.name]["layer_0"][:, :, channel].reshape(9, -1)
    expected = np.einsum("pi,pq,qi->i", w, schur, w)
    np.testing.assert_allclose(np.mean(difference**2, axis=(0, 1, 2)), expected, rtol=1e-6)


def test_a_channel_with_output_weights_of_zero_is_pruned_for_nothing() -> None:
    masks, params, x = random_net()
    channel = int(np.flatnonzero(masks.layers[2])[1])
    for wire, source in NET.readers(2):
        params[wire.name][source.leaf][..., channel, :] = 0
    before = run(NET, params, masks, x)[0]
    edit = PruneChannel(2, channel)
    after, fewer = edit_architecture(NET, masks, edit)
    found = run(after, edit_parameters(params, NET, masks, edit), fewer, x)[0]
    np.testing.assert_array_equal(found, before)


def moments(masks: Masks, seed: int = 0) -> Tree:
    """Positive on what is trained, zero elsewhere, as an optimizer keeps it."""
    rng = np.random.default_rng(seed)
    shapes = random_parameters(rng, NET, masks)
    before = trained(NET, masks.used(NET))
    return {
        name: {leaf: (1 + rng.random(v.shape)) * before[name][leaf] for leaf, v in leaves.items()}
        for name, leaves in shapes.items()
    }


@pytest.mark.parametrize("kind", ["vector", "covector", "square"])
@pytest.mark.parametrize("edit", EDITS, ids=lambda e: e.name)
def test_moments_move_with_their_weights(edit: ConvEdit, kind: Any) -> None:
    masks, _, _ = random_net()
    tree = moments(masks)
    after, wide = edit_architecture(NET, masks, edit)
    new = edit_moments(tree, NET, masks, edit, kind)
    now = trained(after, wide.used(after))
    for name, leaves in new.items():
        for leaf, array in leaves.items():
            assert not (array * ~now[name][leaf]).any(), (name, leaf)
    kept, all_of = cut(tree, NET, masks), cut(new, after, wide)
    if not isinstance(edit, PromoteBud):
        for name, leaves in kept.items():
            for leaf, array in leaves.items():
                np.testing.assert_array_equal(all_of[name][leaf], array)
        return
    # What is new are the layer and the rows that read it, and nothing else.
    old = sum(v.sum() for leaves in kept.values() for v in leaves.values())
    found = sum(v.sum() for leaves in new.values() for v in leaves.values())
    block, j = after.place(edit.layer)
    added = [new[f"block_{block}/layer_{j}"][leaf] for leaf in new[f"block_{block}/layer_{j}"]]
    added += [leaves[f"layer_{j}"] for n, leaves in new.items()
              if n.startswith(f"block_{block}/layer") and f"layer_{j}" in leaves]  # fmt: skip
    fresh = sum(v.sum() for v in added)
    assert found - fresh == pytest.approx(old)
    if kind != "square":
        assert fresh == 0
        return
    behind = np.concatenate([v[v > 0] for v in tree[f"block_{block}/layer_{j}"].values()])
    for array in added:
        np.testing.assert_allclose(array[array != 0], behind.mean())
    assert any((array != 0).any() for array in added[:-1]) and (added[-1] != 0).any()


def test_moments_of_weights_that_come_into_training_and_that_leave_it() -> None:
    masks, _, _ = random_net()
    tree = moments(masks)
    channel = int(np.flatnonzero(~masks.layers[0])[0])
    edit = ActivateChannels(0, (channel,))
    _, more = edit_architecture(NET, masks, edit)
    for kind in ("vector", "square"):
        new = edit_moments(tree, NET, masks, edit, kind)  # type: ignore[arg-type]
        for name, leaf, entries in (
            ("block_0/layer_0", "input", np.s_[..., channel]),
            ("block_0/layer_1", "layer_0", np.s_[:, :, channel, masks.layers[1]]),
        ):
            values = np.concatenate([v[v > 0] for v in tree[name].values()])
            level = values.mean() if kind == "square" else 0.0
            np.testing.assert_allclose(new[name][leaf][entries], level)
            rest = new[name][leaf].copy()
            rest[entries] = 0
            np.testing.assert_array_equal(rest, tree[name][leaf])
        np.testing.assert_array_equal(new["head"]["bias"], tree["head"]["bias"])
        assert not new["block_0/bud_1"]["layer_0"].any(), "buds are not trained"
    architecture_after = NET.with_layer(0, width=4)
    back = edit_moments(new, architecture_after, more, PruneChannel(0, channel), "square")
    for name, leaves in tree.items():
        for leaf, array in leaves.items():
            np.testing.assert_array_equal(back[name][leaf], array)


def test_impossible_edits_are_refused() -> None:
    masks, _, _ = random_net()
    used, unused = (int(np.flatnonzero(masks.layers[0] == v)[0]) for v in (True, False))
    plain = architecture((6, 6, 2), 3, [[(1, 2)]])
    few = Masks((np.array([True, False]),))
    for shape, m, edit, message in (
        (NET, masks, EnlargeChannels(0, 4, 0, 0), "cannot enlarge 5 channels to 4"),
        (NET, masks, ActivateChannels(0, (unused, used)), "in use already"),
        (NET, masks, PruneChannel(0, unused), "not in use"),
        (plain, few, PruneChannel(0, 0), "last of its layer"),
        (plain, few, PromoteBud(0, 0, 0), "no buds"),
        (NET, masks, PromoteBud(0, 0, 0, capacity=1), "room for them"),
    ):
        with pytest.raises(ValueError, match=message):
            edit_architecture(shape, m, edit)


def test_nothing_that_was_passed_in_is_changed() -> None:
    masks, params, _ = random_net()
    used, unused = (int(np.flatnonzero(masks.layers[0] == v)[0]) for v in (True, False))
    kept = {n: {k: v.copy() for k, v in leaves.items()} for n, leaves in params.items()}
    before = [m.copy() for m in masks.layers]
    share = {"block_0/layer_1": np.ones((9 * 9, 9))}
    edits = (*EDITS, ActivateChannels(0, (unused,)), PruneChannel(0, used, share))
    for edit in edits:
        edit_parameters(params, NET, masks, edit)
        edit_moments(params, NET, masks, edit, "square")
        for name, leaves in kept.items():
            for leaf, array in leaves.items():
                np.testing.assert_array_equal(params[name][leaf], array)
        for mask, old in zip(masks.layers, before, strict=True):
            np.testing.assert_array_equal(mask, old)


def test_what_the_history_says() -> None:
    assert describe(EnlargeChannels(1, 6, 0, 7), NET) == {
        "edit": "enlarge_capacity", "layer": 1, "site": "block 0 layer 1", "capacity": 6,
    }  # fmt: skip
    assert describe(PromoteBud(2, 0, 7), NET)["neurons"] == 2
    assert describe(PromoteBud(2, 0, 7, used=(True, False)), NET)["neurons"] == 1
    assert describe(ActivateChannels(0, (4, 1)), NET)["channels"] == [4, 1]
    assert describe(PruneChannel(3, 1), NET)["site"] == "block 1 layer 1"
    assert describe(Compact(), NET) == {"edit": "compact"}


def test_the_reference_convolution_is_a_matrix_product_of_patches() -> None:
    rng = np.random.default_rng(0)
    a, kernel = rng.standard_normal((2, 4, 5, 3)), rng.standard_normal((3, 3, 3, 2))
    product = patches(a) @ kernel.reshape(27, 2)
    np.testing.assert_allclose(convolved(a, kernel).reshape(-1, 2), product, rtol=1e-12)
