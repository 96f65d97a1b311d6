"""Every entry of every tree stays with its units, whatever the kind of network and the edit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.growth.edits import (
    Edit,
    PromoteBud,
    RemoveUnit,
    Reorder,
    SplitUnit,
    edit_architecture,
)
from senn_cli.growth.lineage import NEW, Line, lineage, moved, origin, taken, trained
from senn_cli.nets.features import Architecture, hidden_feature
from senn_cli.nets.mlp import MlpArchitecture
from tests import edited
from tests.densenets import architecture
from tests.edited import CASES, IDS, Numbers, tree_of

SEEDS = st.integers(0, 2**32 - 1)
NET = architecture((6, 6, 2), 3, [[(3, 5), (2, 4)], [(2, 3), (3, 4)]], bud=2)


def shares(edit: SplitUnit, shape: Architecture) -> dict[str, np.ndarray]:
    """By the name of the layer that is split, what each of its units has of the old weights."""
    feature = hidden_feature(shape, edit.layer)
    result = np.ones(feature.capacity)
    result[[edit.unit, *range(feature.width, feature.width + edit.count)]] = edit.shares
    return {feature.name: result}


def expected(tree: edited.Tree, shape: Any, after: Any, edit: Edit, kind: str) -> edited.Tree:
    """The entries of `tree` of the network after `edit`, as they are where a unit was split."""
    if not isinstance(edit, SplitUnit):
        return tree
    of, result = shares(edit, shape), {}
    for name, leaves in tree.items():
        result[name] = dict(leaves)
    for m in after.maps:
        for source in m.sources:
            if kind == "vector" and source.feature.name in of:
                result[m.name][source.leaf] = (
                    tree[m.name][source.leaf] * of[source.feature.name][:, None]
                ).astype(np.float32)
        if kind != "vector" and m.target.name in of:
            factor = of[m.target.name] ** (2 if kind == "square" else 1)
            for part in (m.name, m.target.coefficients):
                for leaf, array in tree.get(str(part), {}).items():
                    result[str(part)][leaf] = (array * factor).astype(np.float32)
    return result


@pytest.mark.parametrize("kind", ["vector", "covector", "square"])
@pytest.mark.parametrize(("make_shape", "make_edit"), CASES, ids=IDS)
@settings(max_examples=12)
@given(seed=SEEDS)
def test_every_entry_stays_with_its_units(
    make_shape: Any, make_edit: Any, kind: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    shape = make_shape(rng)
    edit, numbers = make_edit(rng, shape), Numbers.of(shape)
    tree, after = tree_of(shape, numbers), edit_architecture(shape, edit)
    new = moved(tree, shape, after, lineage(shape, edit), kind)
    numbers.follow(edit, shape)
    wanted = expected(tree_of(after, numbers), shape, after, edit, kind)
    assert new.keys() == wanted.keys()
    for name, leaves in wanted.items():
        assert new[name].keys() == leaves.keys()
        for leaf, array in leaves.items():
            assert new[name][leaf].dtype == np.float32
            np.testing.assert_allclose(
                new[name][leaf], array, rtol=2e-7 if isinstance(edit, SplitUnit) else 0,
                err_msg=f"{name} {leaf}",
            )  # fmt: skip


@pytest.mark.parametrize(
    "make_shape", [edited.mlp, edited.dormant_mlp, edited.toy, edited.densenet]
)
@settings(max_examples=15)
@given(seed=SEEDS)
def test_many_edits_in_turn_are_followed(make_shape: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = make_shape(rng)
    numbers, makers = Numbers.of(shape), [make for kind, make in CASES if kind is make_shape]
    tree = tree_of(shape, numbers)
    for _ in range(6):
        room = min(h.capacity - h.width for h in shape.hidden)
        width = min(shape.widths)
        makers_now = [
            m for m in makers
            if m is not edited.halve
            and (room or m not in (edited.add, edited.activate))
            and (width > 1 or m is not edited.remove)
        ]  # fmt: skip
        edit = makers_now[rng.integers(len(makers_now))](rng, shape)
        after = edit_architecture(shape, edit)
        tree = moved(tree, shape, after, lineage(shape, edit))
        numbers.follow(edit, shape)
        shape = after
    for name, leaves in tree_of(shape, numbers).items():
        for leaf, array in leaves.items():
            np.testing.assert_array_equal(tree[name][leaf], array)


@pytest.mark.parametrize(("make_shape", "make_edit"), CASES, ids=IDS)
@settings(max_examples=10)
@given(seed=SEEDS)
def test_units_in_use_stay_in_use_but_for_the_one_that_goes(
    make_shape: Any, make_edit: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    shape = make_shape(rng)
    edit = make_edit(rng, shape)
    after, lines = edit_architecture(shape, edit), lineage(shape, edit)
    old = {f.name: f for f in shape.features}
    assert list(lines) == [f.name for f in after.features]
    for feature in shape.features:
        here = [(n, line) for n, line in lines.items() if line.before == feature.name]
        if feature.role == "bud" and isinstance(edit, PromoteBud):
            continue
        ((name, line),) = here
        width = next(f for f in after.features if f.name == name).width
        gone = set(range(feature.width)) - set(line.units[:width].tolist())
        removed = isinstance(edit, RemoveUnit) and feature == hidden_feature(shape, edit.layer)
        assert gone == ({edit.unit} if removed else set())  # type: ignore[union-attr]
    for m in after.maps:
        found = origin(shape, lines, m)
        assert found.before is None or found.before in shape.maps
        assert all(line.before is None or line.before in old for line in lines.values())


def test_the_lineage_of_a_promotion_by_hand() -> None:
    found = lineage(NET, PromoteBud(1, 0, 5, capacity=3))
    assert {name: line.before for name, line in found.items()} == {
        "image": "image",
        "block_0/bud_0": "block_0/bud_0",
        "block_0/layer_0": "block_0/layer_0",
        "block_0/bud_1": None,
        "block_0/layer_1": "block_0/bud_1",
        "block_0/bud_2": None,
        "block_0/layer_2": "block_0/layer_1",
        "block_1/bud_0": "block_1/bud_0",
        "block_1/layer_0": "block_1/layer_0",
        "block_1/bud_1": "block_1/bud_1",
        "block_1/layer_1": "block_1/layer_1",
        "outputs": "outputs",
    }
    assert found["block_0/layer_1"].units.tolist() == [0, 1, NEW]
    assert found["block_0/bud_2"].units.tolist() == [NEW, NEW]
    assert found["block_0/layer_2"].units.tolist() == [0, 1, 2, 3]


def test_what_takes_the_place_of_a_removed_unit() -> None:
    """As it always was: histories that are resumed count on it."""
    dense = lineage(NET, RemoveUnit(0, 0))["block_0/layer_0"]
    assert dense.units.tolist() == [1, 2, 0, 3, 4]  # the others close ranks; it stays, dormant
    shape = edited.mlp(np.random.default_rng(0)).with_layer(0, width=4, capacity=6)
    assert lineage(shape, RemoveUnit(0, 1))["layer_0"].units.tolist() == [0, 3, 2, NEW, 4, 5]
    assert lineage(shape, RemoveUnit(0, 3))["layer_0"].units.tolist() == [0, 1, 2, NEW, 4, 5]


def test_the_rows_of_a_map_that_a_promoted_bud_is_put_before() -> None:
    # Old bud 1 and layer 1 are bud 2 and layer 2 now; what they called layer 0 is layer 1.
    edit = PromoteBud(0, 0, 5)
    after, lines = edit_architecture(NET, edit), lineage(NET, edit)
    m = next(m for m in after.maps if m.name == "block_0/layer_2")
    found = origin(NET, lines, m)
    assert found.before is not None and found.before.name == "block_0/layer_1"
    for leaf, old in (
        ("input", "input"),
        ("layer_0", None),
        ("layer_1", "layer_0"),
        ("bud", "bud"),
    ):
        rows = found.rows[m.groups(m.source(leaf))]
        if old is None:
            assert (rows == NEW).all()
        else:
            there = found.before.groups(found.before.source(old))
            np.testing.assert_array_equal(rows, there)


def test_taking_along_two_axes_leaves_zeros_at_what_is_new() -> None:
    array = np.arange(1.0, 10.0).reshape(3, 3)
    np.testing.assert_array_equal(
        taken(array, np.array([2, NEW, 0]), 0, 1), [[9, 0, 7], [0, 0, 0], [3, 0, 1]]
    )


def test_trained_is_what_lies_between_units_in_use() -> None:
    shape = MlpArchitecture(2, 1, edited.mlp(np.random.default_rng(1)).hidden[:1])
    shape = shape.with_layer(0, width=2, capacity=3)
    first, last = shape.maps
    np.testing.assert_array_equal(trained(shape, first), [[1, 1, 0]] * 3)
    np.testing.assert_array_equal(trained(shape, last), [[1], [1], [1], [0]])
    bud = next(m for m in NET.maps if m.target.role == "bud")
    assert not trained(NET, bud).any()


def test_an_order_is_the_lineage_itself() -> None:
    found = lineage(NET, Reorder(0, (2, 0, 1, 4, 3)))
    assert found["block_0/layer_0"] == Line("block_0/layer_0", found["block_0/layer_0"].units)
    assert found["block_0/layer_0"].units.tolist() == [2, 0, 1, 4, 3]
