"""A whole training state through edits: parameters, the optimizer's arrays, curvature."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import optax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.curvature.sides import Block, Pair, Side, TrackState
from senn_cli.curvature.slow import SlowGradient
from senn_cli.curvature.tracked import TrackSettings
from senn_cli.curvature.tracking import Tracked
from senn_cli.engine.objective import REGRESSION
from senn_cli.growth.carry import carried, compensations, edit_moments, edit_parameters
from senn_cli.growth.carry_curvature import extended
from senn_cli.growth.edits import (
    Activate,
    AddUnits,
    Edit,
    Enlarge,
    InsertLayer,
    PromoteBud,
    Redraw,
    RemoveUnit,
    SplitUnit,
    edit_architecture,
)
from senn_cli.growth.insertion import floored
from senn_cli.growth.lineage import trained
from senn_cli.nets.architecture import CapacityRule
from senn_cli.nets.features import Map, readers, standing, used_units
from senn_cli.nets.leaves import joined, row_mask, split
from senn_cli.spec.optimizer import AdamSpec, NaturalGradientSpec, SgdSpec
from senn_cli.training.network import TrainState, apply_edits, capacity_edits, new_network
from senn_cli.training.optimizer import make_optimizer
from tests import densenets, edited
from tests.edited import CASES, IDS, NEW, Numbers, Tree, code, tree_of

pytestmark = pytest.mark.usefixtures("double")

SEEDS = st.integers(0, 2**32 - 1)
SETTINGS = TrackSettings(damping=1e-4, moving_average=0.9, invert_every=1)
N = 80


def only_trained(tree: Tree, shape: Any) -> Tree:
    result = dict(tree)
    for m in shape.maps:
        matrix = joined(m, tree[m.name])
        result[m.name] = split(m, np.where(trained(shape, m), matrix, 0))
        if (name := m.target.coefficients) is not None:
            used = np.arange(m.columns) < m.target.width
            result[name] = {"coefficients": np.where(used, tree[name]["coefficients"], 0)}
    return result


def square(number: int, names: np.ndarray) -> np.ndarray:
    """A symmetric matrix whose entries tell the numbers of both units."""
    return code(number, np.minimum.outer(names, names), np.maximum.outer(names, names))


def sides(m: Map, numbers: Numbers) -> tuple[tuple[int, np.ndarray], tuple[int, np.ndarray]]:
    number = numbers.map_number(m)
    return (number, numbers.rows(m)), (60 + number, numbers.units(m.target))


def tracked_of(shape: Any, numbers: Numbers) -> Tracked:
    used = used_units(shape)
    maps, blocks, averages, ages = {}, {}, {}, {}
    for m in standing(shape):
        masks, found = (row_mask(m, used), used[m.target.name]), []
        for (number, names), mask in zip(sides(m, numbers), masks, strict=True):
            moment, age = square(number, names), (names % 97 + 3).astype(np.int32)
            solver = np.where(np.outer(mask, mask), moment, 0)
            found.append(Side(moment, age, solver, mask, np.float32(0.1)))  # type: ignore[arg-type]
        maps[m.name] = Pair(*found)
        rows, columns = numbers.rows(m), numbers.units(m.target)
        if (name := m.target.coefficients) is not None:
            moment = code(np.arange(9).reshape(3, 3), columns[:, None, None])
            blocks[name] = Block(moment, (columns % 83 + 2).astype(np.int32), 0 * moment)
        turns = np.arange(2)[:, None, None]
        averages[m.name] = code(turns, numbers.map_number(m), rows[:, None], columns)
        ages[m.name] = (rows[None] % 89 + 2 + np.arange(2)[:, None]).astype(np.int32)
    return Tracked(TrackState(np.int32(7), maps, blocks), SlowGradient(averages, ages))  # type: ignore[arg-type]


def redrawn(edit: Edit, m: Map) -> np.ndarray:
    """Rows of `m` that read what `edit` draws anew."""
    chosen = edit.units if isinstance(edit, Redraw) else {}
    units = {
        f.name: np.isin(np.arange(f.capacity), chosen.get(f.name, ()))
        for f in (source.feature for source in m.sources)
    }
    return row_mask(m, units, bias=False)


SAME = [(k, m) for k, m in CASES if m is not edited.halve]
SAME_IDS = [i for i, (_, m) in zip(IDS, CASES, strict=True) if m is not edited.halve]


@pytest.mark.parametrize(("make_shape", "make_edit"), SAME, ids=SAME_IDS)
@settings(max_examples=10)
@given(seed=SEEDS)
def test_what_is_tracked_stays_with_its_units(make_shape: Any, make_edit: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = make_shape(rng)
    edit, numbers = make_edit(rng, shape), Numbers.of(shape)
    params = tree_of(shape, numbers)
    state: Any = TrainState(np.int32(5), params, (), tracked_of(shape, numbers))  # type: ignore[arg-type]
    new, after = carried(state, shape, edit, natural=False)
    numbers.follow(edit, shape)
    wanted, found = tracked_of(after, numbers), new.curvature
    assert found.factors.maps.keys() == {m.name for m in standing(after)}
    promoted = edit.layer if isinstance(edit, PromoteBud) else None
    for m in standing(after):
        rows, columns = numbers.known(m)
        if promoted is not None and m.target.role == "hidden" and m.target.index == promoted:
            rows, columns = rows & False, columns & False  # nothing is tracked of a bud
        rows = rows & ~redrawn(edit, m)
        inserted = isinstance(edit, InsertLayer) and numbers.map_number(m) >= NEW
        for side, full, known in zip(
            found.factors.maps[m.name], wanted.factors.maps[m.name], (rows, columns), strict=True
        ):
            assert not np.asarray(side.used)[~known].any()
            if not inserted:  # else by the change of coordinates; see below
                both = np.outer(known, known)
                np.testing.assert_array_equal(side.moment, np.where(both, full.moment, 0))
                np.testing.assert_array_equal(side.ages, np.where(known, full.ages, 0))
        if (name := m.target.coefficients) is not None:
            there = numbers.units(m.target) < NEW
            block, full = found.factors.blocks[name], wanted.factors.blocks[name]
            whole = np.where(there[:, None, None], full.moment, 0)
            np.testing.assert_array_equal(block.moment, whole)
            np.testing.assert_array_equal(block.ages, np.where(there, full.ages, 0))
        both, slow = np.outer(rows, columns), wanted.slow
        assert slow is not None
        np.testing.assert_array_equal(
            found.slow.averages[m.name], np.where(both, slow.averages[m.name], 0)
        )
        np.testing.assert_array_equal(found.slow.ages[m.name], np.where(rows, slow.ages[m.name], 0))


@pytest.mark.parametrize("kind", ["vector", "covector", "square"])
@pytest.mark.parametrize(("make_shape", "make_edit"), SAME, ids=SAME_IDS)
@settings(max_examples=8)
@given(seed=SEEDS)
def test_moments_of_weights_that_stay_come_and_go(
    make_shape: Any, make_edit: Any, kind: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    shape = make_shape(rng)
    edit, numbers = make_edit(rng, shape), Numbers.of(shape)
    tree = only_trained(tree_of(shape, numbers), shape)
    was = {
        (numbers.map_number(m), int(r), int(c))
        for m in shape.maps
        for i, r in enumerate(numbers.rows(m))
        for j, c in enumerate(numbers.units(m.target))
        if trained(shape, m)[i, j]
    }
    of_map = {numbers.map_number(m): mean(tree, shape, m) for m in shape.maps}
    new, after = edit_moments(tree, shape, edit, kind), edit_architecture(shape, edit)
    into = None
    if isinstance(edit, InsertLayer | PromoteBud):
        at = edit.map if isinstance(edit, InsertLayer) else edit.layer
        into = of_map[(*numbers.maps, numbers.head)[at]]
    buds = list(numbers.bud_maps)
    numbers.follow(edit, shape)
    full, now = tree_of(after, numbers), only_trained(jax.tree.map(np.ones_like, new), after)
    for m in after.maps:
        number, matrix = numbers.map_number(m), joined(m, new[m.name])
        if isinstance(edit, InsertLayer) and number >= NEW and kind != "square":
            continue  # by the change of coordinates; see below
        level = into if number >= NEW or number in buds else of_map[number]
        stays = np.array(
            [[(number, int(r), int(c)) in was for c in numbers.units(m.target)]
             for r in numbers.rows(m)]
        )  # fmt: skip
        fresh = np.float32(level if kind == "square" and level is not None else 0.0)
        wanted = np.where(stays, joined(m, full[m.name]), fresh) * joined(m, now[m.name])
        np.testing.assert_allclose(matrix, wanted, rtol=1e-6, err_msg=m.name)


def mean(tree: Tree, shape: Any, m: Map) -> float:
    values = joined(m, tree[m.name])[trained(shape, m)].astype(np.float64)
    return float(values.mean()) if len(values) else 0.0


HIDDEN = [(4, 6, "rational"), (3, 5, "silu")]
SIDES = [(i, side) for i in range(3) for side in ("inputs", "outputs")]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def shape(nets: Any) -> Any:
    return nets.architecture(3, HIDDEN, 2)


def layer(rng: np.random.Generator, shape: Any, index: int, side: Any) -> InsertLayer:
    q = shape.map_width(index)[side == "outputs"]
    kernel = floored(rng.standard_normal((q, q)), 0.1)
    return InsertLayer(index, side, np.concatenate([rng.standard_normal((1, q)), kernel]))


def units(rng: np.random.Generator, index: int, n_in: int, k: int = 2) -> AddUnits:
    coefficients = rng.standard_normal((3, k)) if HIDDEN[index][2] == "rational" else None
    return AddUnits(index, rng.standard_normal((1 + n_in, k)), coefficients)


def derivative(nets: Any, shape: Any, at: Tree, along: Tree, x: np.ndarray) -> np.ndarray:
    """Of the outputs, along a direction in the parameters."""
    eps = 1e-6
    up, down = (
        nets.run(shape, jax.tree.map(lambda p, v, h=h: p + h * v, at, along), x).outputs
        for h in (eps, -eps)
    )
    result: np.ndarray = (up - down) / (2 * eps)
    return result


def loss_gradient(nets: Any, shape: Any, params: Any, x: np.ndarray, y: np.ndarray) -> Any:
    """The gradient of half the mean squared error for every map, `(1 + n_in, n_out)`."""
    seen = nets.run(shape, params, x)
    to_z, _ = nets.gradients(shape, params, seen, seen.outputs - y)
    return [a.T @ g / len(x) for a, g in zip(seen.reads, to_z, strict=True)]


@pytest.mark.parametrize(("index", "side"), SIDES)
def test_a_step_changes_the_function_as_before_a_layer_was_inserted(
    index: int, side: Any, nets: Any, rng: Any, shape: Any
) -> None:
    params, momentum, x = nets.draw(rng, shape), nets.draw(rng, shape), rng.standard_normal((N, 3))
    edit = layer(rng, shape, index, side)
    after, new = edit_architecture(shape, edit), edit_moments(momentum, shape, edit, "vector")
    assert nets.unused_are_zero(after, new)
    assert not np.any(new[f"activation_{index}"]["coefficients"])
    before = derivative(nets, shape, params, momentum, x)
    now = derivative(nets, after, edit_parameters(params, shape, edit), new, x)
    np.testing.assert_allclose(now, before, atol=1e-6 * np.abs(before).max())


def test_a_step_changes_the_function_as_before_a_unit_was_split(
    nets: Any, rng: Any, shape: Any
) -> None:
    params, momentum, x = nets.draw(rng, shape), nets.draw(rng, shape), rng.standard_normal((N, 3))
    for edit in (SplitUnit(0, 1, (0.3, 0.7)), SplitUnit(1, 2, (0.5, 0.7, -0.2))):
        after, new = edit_architecture(shape, edit), edit_moments(momentum, shape, edit, "vector")
        before = derivative(nets, shape, params, momentum, x)
        now = derivative(nets, after, edit_parameters(params, shape, edit), new, x)
        np.testing.assert_allclose(now, before, atol=1e-6 * np.abs(before).max())


def gradient_tree(nets: Any, shape: Any, params: Tree, x: np.ndarray, y: np.ndarray) -> Tree:
    """The gradient as a tree; that of coefficients is left out."""
    tree = jax.tree.map(np.zeros_like, params)
    for i, g in enumerate(loss_gradient(nets, shape, params, x, y)):
        n_in, n_out = shape.map_width(i)
        tree[f"map_{i}"]["kernel"][:n_in, :n_out] = g[1:]
        tree[f"map_{i}"]["bias"][:n_out] = g[0]
    return tree


@pytest.mark.parametrize(
    "edit", [*SIDES, SplitUnit(0, 1, (0.3, 0.7)), SplitUnit(1, 2, (0.5, 0.7, -0.2))]
)
def test_a_plain_gradient_changes_as_gradients_do(
    edit: Any, nets: Any, rng: Any, shape: Any
) -> None:
    params = nets.draw(rng, shape)
    x, y = rng.standard_normal((N, 3)), rng.standard_normal((N, 2))
    if not isinstance(edit, SplitUnit):
        edit = layer(rng, shape, *edit)
    after = edit_architecture(shape, edit)
    tree = gradient_tree(nets, shape, params, x, y)
    new = edit_moments(tree, shape, edit, "covector")
    wanted = gradient_tree(nets, after, edit_parameters(params, shape, edit), x, y)
    fresh = None  # the map whose momentum starts from nothing
    if isinstance(edit, InsertLayer):
        fresh = f"map_{edit.map + (edit.side == 'outputs')}"
    for name in (m.name for m in after.maps):
        for leaf, array in wanted[name].items():
            np.testing.assert_allclose(new[name][leaf], 0 if name == fresh else array, atol=1e-10)


def padded(shape: Any, factors: Any) -> Tracked:
    """Factors over the neurons in use as a state at full capacity; those in use are of age 5."""
    used, maps, blocks = used_units(shape), {}, {}

    def placed(block: np.ndarray, size: int) -> np.ndarray:
        full = np.zeros((size, *((size,) if block.ndim == 2 else block.shape[1:])))
        full[tuple(slice(n) for n in block.shape)] = block
        return full

    def ages(mask: np.ndarray) -> np.ndarray:
        return np.where(mask, 5, 0).astype(np.int32)

    for m in shape.maps:
        sides = []
        for symbol, mask in (("a", row_mask(m, used)), ("s", used[m.target.name])):
            moment = placed(factors[m.name][symbol], len(mask))
            side: Any = (moment, ages(mask), 0 * moment, np.zeros(len(mask), bool), np.float32(0))
            sides.append(Side(*side))
        maps[m.name] = Pair(*sides)
        if (name := m.target.coefficients) is not None:
            moment = placed(factors[name]["c"], m.columns)
            blocks[name] = Block(moment, ages(used[m.target.name]), 0 * moment)  # type: ignore[arg-type]
    return Tracked(TrackState(np.int32(9), maps, blocks), None)  # type: ignore[arg-type]


def measured(nets: Any, rng: Any, shape: Any, params: Tree, x: np.ndarray, name: str) -> Edit:
    """An edit; new units come with their second moments."""
    kind, _, rest = name.partition(" ")
    if kind == "insert":
        index, side = rest.split()
        return layer(rng, shape, int(index), side)
    at = int(rest.split()[0])
    if kind == "add":
        plain = units(rng, at, shape.map_width(at)[0])
        after = edit_architecture(shape, plain)
        a = nets.run(after, edit_parameters(params, shape, plain), x).reads[at + 1]
        return replace(plain, moments=a.T @ a / N)
    if kind == "split":
        return SplitUnit(at, 1, (0.25, 0.75))
    if kind == "remove":
        params[f"map_{at + 1}"]["kernel"][int(rest.split()[1])] = 0.0
        return RemoveUnit(at, int(rest.split()[1]))
    return Enlarge(at, 8)


NAMES = [f"insert {i} {side}" for i, side in SIDES] + [f"add {i}" for i in (0, 1)]
NAMES += ["split 0", "split 1", "remove 0 0", "remove 0 2", "remove 1 0", "remove 1 2"]


@pytest.mark.parametrize("name", [*NAMES, "enlarge 0", "enlarge 1"])
def test_curvature_is_what_is_measured_on_the_edited_network(
    name: str, nets: Any, rng: Any, shape: Any
) -> None:
    params = nets.draw(rng, shape)
    x, v = rng.standard_normal((N, 3)), rng.standard_normal((N, 2))
    edit = measured(nets, rng, shape, params, x, name)
    curvature = padded(shape, nets.factors(shape, params, x, v))
    state: Any = TrainState(np.int32(0), params, (), curvature)  # type: ignore[arg-type]
    new, after = carried(state, shape, edit, natural=True)
    expected = padded(after, nets.factors(after, new.params, x, v))
    found, wanted, used = new.curvature.factors, expected.factors, used_units(after)
    assert found.maps.keys() == wanted.maps.keys() and found.blocks.keys() == wanted.blocks.keys()
    assert int(found.seen) == 9
    for m in after.maps:
        masks = [row_mask(m, used), used[m.target.name]]
        if isinstance(edit, AddUnits) and m.target.index == edit.layer and m.target.grows:
            masks[1] = masks[1] & (np.arange(m.columns) < shape.hidden[edit.layer].width)
        for side, full, known in zip(found.maps[m.name], wanted.maps[m.name], masks, strict=True):
            # A new unit, which nothing reads yet, has told nothing; all else is as measured.
            np.testing.assert_array_equal(side.ages, np.where(known, 5, 0))
            assert not np.asarray(side.used).any()
            scale = max(np.abs(full.moment).max(), 1)
            np.testing.assert_allclose(side.moment, full.moment, atol=1e-10 * scale)
        if (name := m.target.coefficients) is not None:
            block, full = found.blocks[name], wanted.blocks[name]
            if isinstance(edit, InsertLayer) and name == f"activation_{edit.map}":
                assert not np.any(block.moment) and not np.any(block.ages)
            else:
                np.testing.assert_allclose(block.moment, full.moment, atol=1e-10)
                np.testing.assert_array_equal(block.ages, np.where(masks[1], 5, 0))


@settings(max_examples=40)
@given(seed=SEEDS, c=st.integers(1, 6), k=st.integers(1, 3))
def test_an_extended_factor_is_positive_semi_definite(seed: int, c: int, k: int) -> None:
    # The old block was measured on other data than the new rows: copied as they are, the new rows
    # make the factor indefinite, and its inverse blows up the next step.
    rng = np.random.default_rng(seed)
    batches, sample = rng.standard_normal((4 * c, c)), rng.standard_normal((3 * (c + k), c + k))
    sample[:, c:] = 30 * sample[:, :c] @ rng.standard_normal((c, k)) + 0.1 * sample[:, c:]
    a = np.zeros((c + k + 2, c + k + 2))
    a[:c, :c] = batches.T @ batches / len(batches)
    found = extended(a, sample.T @ sample / len(sample), k)
    np.testing.assert_array_equal(found[:c, :c], a[:c, :c])
    np.testing.assert_array_equal(found[c + k :], 0)
    np.testing.assert_allclose(found, found.T, rtol=1e-12, atol=1e-13 * np.abs(found).max())
    values = np.linalg.eigvalsh(found)
    assert values[0] >= -1e-10 * values[-1]


SPECS = [
    NaturalGradientSpec(momentum=0.9),
    AdamSpec(kind="adam"),
    SgdSpec(kind="sgd", momentum=0.9),
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.kind)
@pytest.mark.parametrize(
    "make_shape", [edited.mlp, edited.dormant_mlp, edited.toy, edited.densenet]
)
def test_a_whole_network_through_many_edits(spec: Any, make_shape: Any, rng: Any) -> None:
    optimizer = make_optimizer(spec, REGRESSION, 100, 10)
    if make_shape not in (edited.mlp, edited.dormant_mlp):
        optimizer = replace(optimizer, solver=None)
    network = new_network(shape := make_shape(rng), edited.weights(rng, shape), optimizer)
    for make in (make for kind, make in CASES if kind is make_shape):
        shape = network.architecture
        for index, h in enumerate(shape.hidden):
            room = [Enlarge(index, h.capacity + 2)] if h.capacity == h.width else []
            network = apply_edits(network, room, optimizer)
        edit = make(rng, network.architecture)
        steps = capacity_edits(network.architecture, edit, CapacityRule(4, 0.5))
        network = apply_edits(network, steps, optimizer)
    # The state has the structure and shapes of one that was made for the new architecture.
    after = network.architecture
    assert network.widths.tolist() == list(after.widths)
    fresh = new_network(after, edited.weights(rng, after), optimizer)
    assert jax.tree.structure(network.state) == jax.tree.structure(fresh.state)
    shapes = jax.tree.map(lambda a, b: a.shape == b.shape, network.state, fresh.state)
    assert all(jax.tree.leaves(shapes))


def test_the_optimizer_s_arrays_change_as_what_they_are(nets: Any, rng: Any, shape: Any) -> None:
    params, first, second = (nets.draw(rng, shape) for _ in range(3))
    second = jax.tree.map(np.square, second)
    adam = optax.ScaleByAdamState(np.int32(7), first, second)  # type: ignore[arg-type]
    state: Any = TrainState(np.int32(0), params, (adam, optax.EmptyState()), None)  # type: ignore[arg-type]
    edit = units(rng, 0, 3)
    new, after = carried(state, shape, edit, natural=False)
    assert new.curvature is None and int(new.optimizer[0].count) == 7
    for tree, old, kind in (
        (new.optimizer[0].mu, first, "covector"),
        (new.optimizer[0].nu, second, "square"),
    ):
        assert nets.unused_are_zero(after, tree)
        wanted = edit_moments(old, shape, edit, kind)  # type: ignore[arg-type]
        jax.tree.map(np.testing.assert_array_equal, tree, wanted)
    level = second["activation_0"]["coefficients"][:, :4].mean()
    np.testing.assert_allclose(
        new.optimizer[0].nu["activation_0"]["coefficients"][:, 4:6], level, rtol=1e-12
    )


NET = densenets.architecture((6, 6, 2), 3, [[(3, 5), (2, 4)], [(2, 3), (3, 4)]], bud=2)


def tracked_head(rng: np.random.Generator) -> tuple[Any, Map]:
    """A state with a random A of every map, all rows equally old."""
    maps = {}
    for m in standing(NET):
        found = []
        for size in m.size:
            rows = rng.standard_normal((3 * size, size))
            blank, ages = np.zeros((size, size)), np.full(size, 100, np.int32)
            moment = rows.T @ rows / len(rows)
            found.append(Side(moment, ages, blank, np.zeros(size, bool), np.float32(0)))  # type: ignore[arg-type]
        maps[m.name] = Pair(*found)
    tracked = Tracked(TrackState(np.int32(1), maps), None)  # type: ignore[arg-type]
    params = edited.weights(rng, NET)
    return TrainState(np.int32(0), params, (), tracked), NET.maps[-1]  # type: ignore[arg-type]


def test_what_is_tracked_stands_in_for_a_unit_as_well_as_can_be(rng: Any) -> None:
    """By least squares over the rows in use, in every map that is in use and reads it."""
    state, head = tracked_head(rng)
    edit = RemoveUnit(3, 1)
    found = compensations(SETTINGS, state.curvature, NET, edit)
    assert set(found) == {head.name}
    moment = state.curvature.factors.maps[head.name].a.moment
    keep = [0, 1, 3]  # the bias and channels 0 and 2 of those in use
    best = np.linalg.solve(moment[np.ix_(keep, keep)], moment[keep, 2])
    np.testing.assert_allclose(found[head.name][keep, 0], best, rtol=1e-3)
    assert not found[head.name][[2, 4]].any()
    inner = compensations(SETTINGS, state.curvature, NET, RemoveUnit(0, 1))
    assert set(inner) == {"block_0/layer_1"} and inner["block_0/layer_1"].shape[1] == 9
    # A removal without a compensation gets this one, where anything is tracked.
    with_it = carried(state, NET, replace(edit, compensation=found), natural=True)[0].params
    asked = carried(state, NET, edit, natural=True, settings=SETTINGS)[0].params
    jax.tree.map(np.testing.assert_array_equal, with_it, asked)
    bare = carried(state, NET, edit, natural=True)[0].params
    assert np.abs(bare["head"]["bias"] - asked["head"]["bias"]).max() > 1e-3


def test_young_rows_do_not_spoil_a_compensation(rng: Any) -> None:
    """Rows of different ages: a tracked A may be indefinite, and what stands in is made of it."""
    state, head = tracked_head(rng)
    pair = state.curvature.factors.maps[head.name]
    # Channel 2 has seen but one batch of a hundred, in which everything was ten times as large.
    moment, ages = pair.a.moment.copy(), pair.a.ages.copy()
    moment[3] *= 10
    moment[:, 3] *= 10
    moment[3, 3] /= 1000
    ages[3] = 1
    assert np.linalg.eigvalsh(moment[:4, :4]).min() < 0  # no second moment at all
    side = pair.a._replace(moment=moment, ages=ages)
    maps = {**state.curvature.factors.maps, head.name: pair._replace(a=side)}
    tracked = state.curvature._replace(factors=state.curvature.factors._replace(maps=maps))
    long = replace(SETTINGS, moving_average=0.99)
    found = compensations(long, tracked, NET, RemoveUnit(3, 1))[head.name]
    assert np.isfinite(found).all() and not found[[2, 4]].any()


def test_a_unit_that_is_activated_is_read_by_nobody_at_first() -> None:
    edit, params = Activate(0, (4,)), edited.weights(np.random.default_rng(0), NET)
    new = edit_parameters(params, NET, edit)
    for m, source in readers(edit_architecture(NET, edit), "block_0/layer_0"):
        assert not joined(m, new[m.name])[m.groups(source)[3]].any()
