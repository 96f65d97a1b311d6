"""A DenseNet's whole training state through edits: parameters, Adam's moments, what is tracked.

Entries that tell their own place make the check independent: every channel has a number for life,
the test moves lists of these numbers as an edit says, and every entry of a tree is a function of
the numbers of its map, row and column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.curvature.slow import SlowGradient
from senn_cli.curvature.tracked import Pair, Side, TrackSettings, TrackState
from senn_cli.curvature.tracking import Tracked
from senn_cli.growth.conv_carry import compensations, edit_images
from senn_cli.growth.conv_edits import (
    ActivateChannels,
    ConvEdit,
    EnlargeChannels,
    PromoteBud,
    PruneChannel,
    RedrawChannels,
    ReorderChannels,
)
from senn_cli.nets import features
from senn_cli.nets.densenet import DenseArchitecture, initial_masks
from senn_cli.nets.features import Map, standing, used_units
from senn_cli.nets.registry import used
from senn_cli.training.state import TrainState
from tests.densenets import Look, Tree, architecture, architectures, look_at, random_parameters, run

SEEDS = st.integers(0, 2**32 - 1)
NET = architecture((6, 6, 2), 3, [[(3, 5), (2, 4)], [(2, 3), (3, 4)]], bud=2)
SETTINGS = TrackSettings(damping=1e-4, moving_average=0.9, invert_every=1)
NEW = 500
"""Numbers from here on are of channels that an edit has brought."""


@dataclass
class Numbers:
    """A number for every channel: of the image, of layers, of buds; and one for every map.

    Attributes:
      layers, buds: by layer the numbers of its channels, by their place.
      maps: by layer the number of the map that yields it.
      bud_maps: the same for buds.
    """

    layers: list[list[int]]
    buds: list[list[int]]
    maps: list[int]
    bud_maps: list[int]
    fresh: int = NEW

    @classmethod
    def of(cls, shape: DenseArchitecture) -> Numbers:
        count = iter(range(10, NEW))
        layers = [[next(count) for _ in range(h.capacity)] for h in shape.hidden]
        buds = [[next(count) for _ in range(shape.bud)] for _ in shape.hidden]
        maps = list(range(1, 1 + len(layers)))
        return cls(layers, buds, maps, [8 + m for m in maps])

    def new(self, count: int) -> list[int]:
        self.fresh += count
        return list(range(self.fresh - count, self.fresh))

    def follow(self, edit: ConvEdit, shape: DenseArchitecture) -> None:
        """Moves the numbers as `edit` of a network of `shape` should move channels."""
        if isinstance(edit, RedrawChannels):
            return
        if isinstance(edit, PromoteBud):
            at, n = edit.layer, shape.bud
            spare = self.new(max(edit.capacity - n, 0))
            self.layers.insert(at, self.buds[at] + spare)
            self.maps.insert(at, self.bud_maps[at])
            self.buds[at : at + 1] = [self.new(n), self.new(n)]
            self.bud_maps[at : at + 1] = self.new(2)
            return
        here, width = self.layers[edit.layer], shape.widths[edit.layer]  # type: ignore[union-attr]
        if isinstance(edit, EnlargeChannels):
            here += self.new(edit.capacity - len(here))
        elif isinstance(edit, ReorderChannels):
            here[:] = [here[i] for i in edit.order]
        elif isinstance(edit, ActivateChannels):
            chosen = [here[i] for i in edit.channels]
            rest = [number for number in here[width:] if number not in chosen]
            here[:] = here[:width] + chosen + rest
        elif isinstance(edit, PruneChannel):
            gone = here.pop(edit.channel)
            here.insert(width - 1, gone)

    def map_number(self, wire: Map) -> int:
        if wire.target.role == "outputs":
            return 0
        return (self.maps if wire.target.role == "hidden" else self.bud_maps)[wire.target.index]

    def columns(self, wire: Map) -> np.ndarray:
        if wire.target.role == "outputs":
            return np.arange(wire.target.capacity)
        return np.array(
            (self.layers if wire.target.role == "hidden" else self.buds)[wire.target.index]
        )

    def source(self, origin: str, index: int, channels: int) -> np.ndarray:
        if origin == "data":
            return np.arange(channels)
        return np.array((self.layers if origin == "hidden" else self.buds)[index])

    def rows(self, wire: Map) -> np.ndarray:
        """Of every row of the joined matrix: its kernel position and its channel."""
        read = [
            self.source(s.feature.role, s.feature.index, s.feature.capacity) for s in wire.sources
        ]
        channels = np.concatenate(read)
        if wire.target.role == "outputs":
            return np.concatenate([[999], channels])  # the bias
        rows: np.ndarray = 1000 * np.arange(9)[:, None] + channels
        return rows.reshape(-1)


def code(*numbers: Any) -> np.ndarray:
    """A number in (1, 2) for every combination, the same for the same arguments."""
    total: Any = 0.0
    for place, number in enumerate(numbers):
        total = total + np.sin(number * (1.7 + 0.9 * place) + 3.1 * place) * (1 + place)
    result: np.ndarray = (1.5 + 0.499 * np.sin(977.0 * total)).astype(np.float32)
    return result


def tree_of(shape: DenseArchitecture, numbers: Numbers, salt: float) -> Tree:
    """A tree of the parameters' shape whose entries tell their map, position, row and column."""
    result: Tree = {}
    for wire in shape.maps:
        number, columns = numbers.map_number(wire), numbers.columns(wire)
        result[wire.name] = {}
        for source in wire.sources:
            rows = numbers.source(
                source.feature.role, source.feature.index, source.feature.capacity
            )[:, None]
            if wire.target.role == "outputs":
                array = code(salt + number, np.array(0), rows, columns)
            else:
                taps = np.arange(9).reshape(3, 3, 1, 1)
                array = code(salt + number, taps, rows, columns)
            result[wire.name][source.leaf] = array
        if wire.target.role == "outputs":
            result[wire.name]["bias"] = code(salt + number, np.array(0), np.array(999), columns)
    return result


def side_of(number: float, names: np.ndarray, used: np.ndarray) -> Side:
    moment = code(np.array(number), np.minimum.outer(names, names), np.maximum.outer(names, names))
    ages = (names % 97 + 3).astype(np.int32)
    mask = np.outer(used, used)
    return Side(moment, ages, np.where(mask, moment, 0), used, np.float32(0.1))  # type: ignore[arg-type]


def masked_rows(shape: DenseArchitecture, wire: Map) -> np.ndarray:
    """Rows of a map that are in use, told by the widths alone."""
    used = []
    for source in wire.sources:
        used.append(np.arange(source.feature.capacity) < source.feature.width)
    flat = np.concatenate(used)
    return np.concatenate([[True], flat]) if wire.target.role == "outputs" else np.tile(flat, 9)


def tracked_of(shape: DenseArchitecture, numbers: Numbers) -> Tracked:
    maps, averages, ages = {}, {}, {}
    for wire in standing(shape):
        number, rows, columns = numbers.map_number(wire), numbers.rows(wire), numbers.columns(wire)
        out = np.arange(len(columns)) < wire.target.width
        maps[wire.name] = Pair(
            side_of(number, rows, masked_rows(shape, wire)), side_of(40 + number, columns, out)
        )
        turns = np.arange(2)[:, None, None]
        averages[wire.name] = code(turns, np.array(number), rows[:, None], columns)
        ages[wire.name] = (rows[None] % 89 + 2 + np.arange(2)[:, None]).astype(np.int32)
    return Tracked(TrackState(np.int32(7), maps), SlowGradient(averages, ages))  # type: ignore[arg-type]


def trained(shape: DenseArchitecture) -> Tree:
    return features.trained(shape, used_units(shape))


def state_of(shape: DenseArchitecture, numbers: Numbers) -> TrainState:
    mask = trained(shape)

    def only(tree: Tree) -> Tree:
        return {
            name: {leaf: np.where(mask[name][leaf], v, 0) for leaf, v in leaves.items()}
            for name, leaves in tree.items()
        }

    params = tree_of(shape, numbers, 0.0)
    for wire in shape.maps:
        for source in wire.sources:
            params[wire.name][source.leaf][..., source.feature.width :, :] = 0
    adam = optax.ScaleByAdamState(
        np.int32(5),
        only(tree_of(shape, numbers, 100.0)),
        only(tree_of(shape, numbers, 200.0)),
    )
    scale = optax.ScaleByScheduleState(count=np.int32(5))
    return TrainState(np.int32(5), params, (adam, scale), tracked_of(shape, numbers))  # type: ignore[arg-type]


def any_edit(rng: np.random.Generator, shape: DenseArchitecture, prune: bool = True) -> ConvEdit:
    """Some edit that is possible."""
    layer, step = int(rng.integers(len(shape.hidden))), int(rng.integers(99))
    width, capacity = shape.hidden[layer].width, shape.hidden[layer].capacity
    choice = int(rng.integers(6))
    if choice == 0 and width < capacity:
        count = int(rng.integers(1, capacity - width + 1))
        picked = rng.permutation(np.arange(width, capacity))[:count]
        return ActivateChannels(layer, tuple(int(c) for c in picked))
    if choice == 1 and shape.bud and len(shape.hidden) < 6:
        return PromoteBud(layer, 1, step, shape.bud + int(rng.integers(3)))
    if choice == 2 and width > 1 and prune:
        return PruneChannel(layer, int(rng.integers(width)))
    if choice == 3:
        # What is in use stays in front.
        order = [*rng.permutation(width), *(width + rng.permutation(capacity - width))]
        return ReorderChannels(layer, tuple(int(c) for c in order))
    if choice == 4:
        return redraw_of(rng, shape, step)
    return EnlargeChannels(layer, capacity + int(rng.integers(3)), 1, step)


def redraw_of(rng: np.random.Generator, shape: DenseArchitecture, step: int) -> RedrawChannels:
    layers = tuple(
        tuple(int(c) for c in range(h.width, h.capacity) if rng.random() < 0.5)
        for h in shape.hidden
    )
    buds = tuple(tuple(int(c) for c in range(shape.bud) if rng.random() < 0.5) for _ in layers)
    return RedrawChannels(layers, buds, 3, step)


def names_of(shape: DenseArchitecture, numbers: Numbers) -> dict[int, tuple[set[int], set[int]]]:
    """The numbers of rows and columns that every map has."""
    return {
        numbers.map_number(wire): (set(numbers.rows(wire)), set(numbers.columns(wire)))
        for wire in standing(shape)
    }


def redrawn_rows(edit: ConvEdit, numbers: Numbers) -> set[int]:
    """The numbers of channels that `edit` draws anew."""
    if not isinstance(edit, RedrawChannels):
        return set()
    found = {numbers.layers[i][c] for i, picked in enumerate(edit.layers) for c in picked}
    return found | {numbers.buds[i][c] for i, picked in enumerate(edit.buds) for c in picked}


def check_tracked(
    found: Tracked,
    shape: DenseArchitecture,
    numbers: Numbers,
    before: dict[int, tuple[set[int], set[int]]],
    redrawn: set[int],
) -> None:
    """Every entry that was there is with its channels, and whatever is new has seen nothing."""
    expected = tracked_of(shape, numbers)
    assert found.factors.maps.keys() == expected.factors.maps.keys()
    assert found.slow is not None and expected.slow is not None
    for wire in standing(shape):
        name, number = wire.name, numbers.map_number(wire)
        rows, columns = numbers.rows(wire), numbers.columns(wire)
        old_rows, old_columns = before.get(number, (set(), set()))
        known = np.isin(rows, list(old_rows)) & ~(
            np.isin(rows % 1000, list(redrawn)) & (rows != 999)
        )
        sides = (
            (found.factors.maps[name].a, expected.factors.maps[name].a, known),
            (
                found.factors.maps[name].s,
                expected.factors.maps[name].s,
                np.isin(columns, list(old_columns)),
            ),
        )
        for side, wanted, there in sides:
            both = np.outer(there, there)
            np.testing.assert_array_equal(side.moment, np.where(both, wanted.moment, 0))
            np.testing.assert_array_equal(side.ages, np.where(there, wanted.ages, 0))
            # An inverse is of the rows that say so: of all the rows in use that it is about.
            assert not np.asarray(side.used)[~there].any()
        both = known[:, None] & np.isin(columns, list(old_columns))
        np.testing.assert_array_equal(
            found.slow.averages[name], np.where(both, expected.slow.averages[name], 0)
        )
        np.testing.assert_array_equal(
            found.slow.ages[name], np.where(known, expected.slow.ages[name], 0)
        )


def identified(tree: Tree, shape: DenseArchitecture, numbers: Numbers) -> dict[Any, float]:
    """Every entry of a tree by the numbers of its map, row and column."""
    result = {}
    for wire in shape.maps:
        leaves, n_out = tree[wire.name], wire.target.capacity
        if wire.target.role == "outputs":
            matrix = np.concatenate([leaves["bias"][None], leaves["kernel"]])
        else:
            kernel = np.concatenate([leaves[s.leaf] for s in wire.sources], axis=2)
            matrix = kernel.reshape(-1, n_out)
        for row, values in zip(numbers.rows(wire), matrix, strict=True):
            for column, value in zip(numbers.columns(wire), values, strict=True):
                result[numbers.map_number(wire), int(row), int(column)] = float(value)
    return result


@settings(max_examples=25)
@given(shape=architectures(), seed=SEEDS)
def test_everything_stays_with_its_channels(shape: DenseArchitecture, seed: int) -> None:
    rng = np.random.default_rng(seed)
    numbers = Numbers.of(shape)
    edit = any_edit(rng, shape)
    state, masks = state_of(shape, numbers), trained(shape)
    names, redrawn = names_of(shape, numbers), redrawn_rows(edit, numbers)
    adam = state.optimizer[0]
    before = [identified(tree, shape, numbers) for tree in (state.params, adam.mu, adam.nu)]
    ones = {n: {k: np.ones_like(v) for k, v in leaves.items()} for n, leaves in adam.mu.items()}

    def full(mask: Tree, like: Tree) -> Tree:
        return {n: {k: v * mask[n][k] for k, v in leaves.items()} for n, leaves in like.items()}

    was = identified(full(masks, ones), shape, numbers)
    # No settings: what a pruning leaves is not compensated.
    new, after = edit_images(state, shape, edit, natural=False)
    numbers.follow(edit, shape)
    assert after.capacities == tuple(map(len, numbers.layers))
    check_tracked(new.curvature, after, numbers, names, redrawn)
    assert int(new.step) == 5 and int(new.optimizer[1].count) == 5
    adam = new.optimizer[0]
    assert int(adam.count) == 5
    found = [identified(tree, after, numbers) for tree in (new.params, adam.mu, adam.nu)]
    ones = {n: {k: np.ones_like(v) for k, v in leaves.items()} for n, leaves in adam.mu.items()}
    now = identified(full(trained(after), ones), after, numbers)
    in_use = {number for line, h in zip(numbers.layers, after.hidden, strict=True)
              for number in line[: h.width]} | set(range(10)) | {999}  # fmt: skip
    for key, mask in now.items():
        _, row, column = key
        stays = was.get(key, 0) == 1 and mask == 1
        if stays:
            assert found[1][key] == before[1][key] and found[2][key] == before[2][key]
        elif mask == 0:
            assert found[1][key] == found[2][key] == 0
        else:
            assert found[1][key] == 0 and found[2][key] > 0
        if row % 1000 not in in_use and row != 999:
            assert found[0][key] == 0  # nothing is read of what is not in use
        elif key in before[0] and column not in redrawn:
            assert found[0][key] == before[0][key]
        elif key not in before[0] and column >= NEW:
            assert found[0][key] != 0  # drawn
        elif column not in redrawn:
            assert found[0][key] == 0  # a layer that reads another one anew


@settings(max_examples=25)
@given(shape=architectures(), seed=SEEDS)
def test_the_function_is_kept_and_channels_in_use_are_the_first_ones(
    shape: DenseArchitecture, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    masks = initial_masks(shape)
    params = random_parameters(rng, shape, masks, np.float32)
    state: Any = TrainState(np.int32(0), params, (), None)  # type: ignore[arg-type]
    x = rng.standard_normal((4, shape.inputs)).astype(np.float32)
    before = run(shape, params, masks, x)[0]
    for _ in range(5):
        edit = any_edit(rng, shape, prune=False)
        state, after = edit_images(state, shape, edit, natural=False)
        if isinstance(edit, ActivateChannels):
            assert after.widths[edit.layer] == shape.widths[edit.layer] + len(edit.channels)
        shape = after
        # The first `width` channels alone are read.
        outputs = run(shape, state.params, initial_masks(shape), x)[0]
        assert outputs.dtype == np.float32
        assert np.abs(outputs - before).max() <= 1e-5 * np.abs(before).max(), edit


def test_what_is_promoted_and_enlarged_in_turn_keeps_its_moments() -> None:
    numbers, shape = Numbers.of(NET), NET
    state: Any = state_of(NET, numbers)
    start = identified(state.optimizer[0].mu, NET, numbers)
    edits: tuple[ConvEdit, ...] = (
        ActivateChannels(0, (4,)),
        PromoteBud(1, 0, 9, capacity=4),
        EnlargeChannels(0, 8, 0, 9),
        ReorderChannels(2, (1, 0, 3, 2)),
        PruneChannel(0, 1),
        PruneChannel(4, 2),
    )
    for edit in edits:
        state, after = edit_images(state, shape, edit, natural=False)
        numbers.follow(edit, shape)
        shape = after
    assert shape.widths == (3, 2, 2, 2, 2) and shape.capacities == (8, 4, 4, 3, 4)
    end = identified(state.optimizer[0].mu, shape, numbers)
    # Old channel 1 of layer 0 and channel 2 of the last layer are gone; all else is as it was.
    gone = {NET_FIRST[1], NET_LAST[2]}
    kept = {k: v for k, v in start.items() if v and k[1] % 1000 not in gone and k[2] not in gone}
    assert len(kept) > 200
    for key, value in kept.items():
        assert end[key] == value
    assert {k for k, v in end.items() if v} == set(kept)


NET_FIRST = Numbers.of(NET).layers[0]
NET_LAST = Numbers.of(NET).layers[3]


class Looked:
    """A network, data, and a state that holds what one look at all of the data sees."""

    def __init__(self, params: Tree | None = None, net: DenseArchitecture = NET) -> None:
        rng = np.random.default_rng(0)
        self.net = net
        drawn = random_parameters(rng, net, initial_masks(net), np.float32)
        self.params = drawn if params is None else params
        self.x = rng.standard_normal((64, net.inputs)).astype(np.float32)
        self.y = rng.integers(0, net.outputs, 64).astype(np.int32)

    def look(self, shape: DenseArchitecture, params: Tree) -> Look:
        found: Look = _look(shape.shape(), params, _widths(shape), self.x, self.y)
        return jax.device_get(found)  # type: ignore[no-any-return]

    def state(self) -> Any:
        seen = self.look(self.net, self.params)
        maps, averages, ages = {}, {}, {}
        for wire in standing(self.net):
            a, s = map(np.asarray, seen.factors[wire.name])
            rows, columns = masked_rows(self.net, wire), np.arange(len(s)) < wire.target.width

            def side(moment: np.ndarray, used: np.ndarray) -> Side:
                blank = np.zeros_like(moment)
                ages = np.ones(len(moment), np.int32)
                return Side(moment, ages, blank, used, np.float32(0.01))  # type: ignore[arg-type]

            maps[wire.name] = Pair(side(a, rows), side(s, columns))
            averages[wire.name] = np.stack([seen.gradients[wire.name]] * 2)
            ages[wire.name] = np.ones((2, len(rows)), np.int32)
        tracked = Tracked(TrackState(np.int32(1), maps), SlowGradient(averages, ages))  # type: ignore[arg-type]
        return TrainState(np.int32(0), self.params, (), tracked)  # type: ignore[arg-type]

    def outputs(self, shape: DenseArchitecture, params: Tree) -> np.ndarray:
        return run(shape, params, initial_masks(shape), self.x)[0]


def _widths(shape: DenseArchitecture) -> np.ndarray:
    return np.asarray(shape.widths, np.int32)


def _observed(shape: Any, params: Any, widths: Any, x: Any, y: Any) -> Look:
    return look_at(shape, params, used(shape, widths), x, y, jax.random.key(0))


_look = jax.jit(_observed, static_argnums=0)

OBSERVED: tuple[ConvEdit, ...] = (
    ActivateChannels(0, (4,)),
    ActivateChannels(2, (2,)),
    ReorderChannels(1, (1, 0, 3, 2)),
    RedrawChannels(((3,), (), (), (3,)), ((1,), (0, 1), (), ()), 0, 5),
    EnlargeChannels(0, 7, 0, 5),
    PromoteBud(1, 0, 5, capacity=3),
)


@pytest.fixture(scope="module")
def looked() -> Looked:
    return Looked()


@pytest.mark.parametrize("edit", OBSERVED, ids=lambda e: f"{e.name}-{getattr(e, 'layer', '')}")
def test_factors_and_gradients_are_what_the_edited_network_would_show(
    looked: Looked, edit: ConvEdit
) -> None:
    state = looked.state()
    new, after = edit_images(state, NET, edit, natural=False, settings=SETTINGS)
    seen = looked.look(after, new.params)
    old_rows = sum(len(pair.a.ages) for pair in state.curvature.factors.maps.values())
    kept = 0
    for wire in standing(after):
        pair = new.curvature.factors.maps[wire.name]
        known = np.asarray(pair.a.ages) == 1
        kept += int(known.sum())
        scale = np.abs(seen.factors[wire.name][0]).max()
        np.testing.assert_allclose(
            np.asarray(pair.a.moment)[np.ix_(known, known)],
            seen.factors[wire.name][0][np.ix_(known, known)],
            atol=1e-5 * scale,
            err_msg=wire.name,
        )
        columns = np.asarray(pair.s.ages) == 1
        gradient, slow = seen.gradients[wire.name], new.curvature.slow
        for turn in range(2):
            np.testing.assert_array_equal(slow.ages[wire.name][turn] == 1, known)
            np.testing.assert_allclose(
                slow.averages[wire.name][turn][np.ix_(known, columns)],
                gradient[np.ix_(known, columns)],
                atol=1e-5 * np.abs(gradient).max(),
            )
    lost = {RedrawChannels: 9 * (1 + 1 + 2) + 1}
    # What was drawn anew: a channel that the second layer reads, that of the last layer (the head's
    # row) and three of buds; spare channels of other layers and everything else stays.
    assert kept == old_rows - (lost[RedrawChannels] if isinstance(edit, RedrawChannels) else 0)


def test_a_channel_that_nothing_reads_is_pruned_without_any_change(looked: Looked) -> None:
    for layer in (0, 3):
        params = jax.tree.map(np.copy, looked.params)
        for wire, source in NET.readers(layer):
            params[wire.name][source.leaf][..., 1, :] = 0
        one = Looked(params)
        numbers = Numbers.of(NET)
        before = identified(params, NET, numbers)
        edit = PruneChannel(layer, 1)
        new, after = edit_images(one.state(), NET, edit, natural=False, settings=SETTINGS)
        numbers.follow(edit, NET)
        # Bit for bit what it was, each weight at the place of its channels.
        assert identified(new.params, after, numbers) == before
        expected = one.outputs(NET, params)
        np.testing.assert_allclose(one.outputs(after, new.params), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("layer", range(4))
def test_a_copy_and_a_half_are_pruned_without_loss(looked: Looked, layer: int) -> None:
    params = jax.tree.map(np.copy, looked.params)
    name = f"block_{layer // 2}/layer_{layer % 2}"
    for kernel in params[name].values():
        kernel[..., 1] = kernel[..., 0]
    copy = Looked(params)
    expected = copy.outputs(NET, params)
    seen = copy.state()
    for channel in (0, 1):
        edit = PruneChannel(layer, channel)
        new, after = edit_images(seen, NET, edit, natural=False, settings=SETTINGS)
        assert after.widths[layer] == NET.widths[layer] - 1
        found = copy.outputs(after, new.params)
        assert np.abs(found - expected).max() < 1e-5 * np.abs(expected).max()
        # The copy takes over the weights of the other: their sum.
        for wire, source in NET.readers(layer):
            if wire.target.role != "bud":
                old = params[wire.name][source.leaf]
                both = old[..., 0, :] + old[..., 1, :]
                mine = new.params[wire.name][source.leaf][..., 0, :]
                if wire.target.role == "hidden":  # unused outputs have moved with nothing else here
                    assert mine.shape == both.shape
                np.testing.assert_allclose(mine, both, atol=2e-4 * np.abs(both).max())
    # Without what is tracked there is no compensation, and the function changes.
    bare, after = edit_images(seen, NET, PruneChannel(layer, 1), natural=False)
    change = np.abs(copy.outputs(after, bare.params) - expected).max()
    assert change > 1e-3 * np.abs(expected).max()


def test_a_channel_that_is_no_copy_is_stood_in_for_as_well_as_can_be(looked: Looked) -> None:
    # By least squares over what the maps read, in double precision.
    edit = PruneChannel(3, 1)
    state = looked.state()
    found = compensations(SETTINGS, state.curvature, NET, edit)
    assert set(found) == {"head"}
    moment = state.curvature.factors.maps["head"].a.moment.astype(np.float64)
    keep = [0, 1, 3]  # the bias and channels 0 and 2 of those in use
    best = np.linalg.solve(moment[np.ix_(keep, keep)], moment[keep, 2])
    np.testing.assert_allclose(found["head"][keep, 0], best, rtol=1e-3)
    assert not found["head"][[2, 4]].any()


def test_young_rows_do_not_spoil_a_compensation(looked: Looked) -> None:
    """Rows of different ages: a tracked A may be indefinite, and what stands in is made of it."""
    state = looked.state()
    pair = state.curvature.factors.maps["head"]
    # Channel 2 has seen but one batch of a hundred, in which everything was ten times as large.
    moment, ages = pair.a.moment.copy(), np.full(5, 100, np.int32)
    moment[3] *= 10
    moment[:, 3] *= 10
    ages[3] = 1
    assert np.linalg.eigvalsh(moment[:4, :4]).min() >= -1e-6
    moment[3, 3] /= 100
    assert np.linalg.eigvalsh(moment[:4, :4]).min() < 0  # no second moment at all
    maps = dict(state.curvature.factors.maps)
    maps["head"] = replace_a(pair, moment, ages)
    tracked = state.curvature._replace(factors=state.curvature.factors._replace(maps=maps))
    long = replace(SETTINGS, moving_average=0.99)
    found = compensations(long, tracked, NET, PruneChannel(3, 1))["head"]
    assert np.isfinite(found).all()
    assert np.abs(found[[2, 4]]).max() == 0


def replace_a(pair: Pair, moment: np.ndarray, ages: np.ndarray) -> Pair:
    return pair._replace(a=pair.a._replace(moment=jnp.asarray(moment), ages=jnp.asarray(ages)))
