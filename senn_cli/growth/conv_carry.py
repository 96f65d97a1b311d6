"""Carrying a DenseNet's whole training state through an edit: on the host, in NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import numpy as np

from senn_cli.curvature import tracked
from senn_cli.curvature.slow import SlowGradient
from senn_cli.curvature.tracked import Pair, Side, TrackSettings
from senn_cli.curvature.tracking import Tracked
from senn_cli.growth import dormant_score
from senn_cli.growth.conv_edits import (
    ActivateChannels,
    ConvEdit,
    PruneChannel,
    RedrawChannels,
    ReorderChannels,
    edit_architecture,
)
from senn_cli.growth.conv_surgery import (
    NEW,
    Lineage,
    ancestor,
    chosen,
    edit_moments,
    edit_parameters,
    lineage,
)
from senn_cli.growth.optimizer_state import Kind, moved
from senn_cli.nets.densenet import TAPS, DenseArchitecture, Masks, initial_masks
from senn_cli.nets.features import Map, row_mask


def edit_images(
    state: Any,
    architecture: DenseArchitecture,
    edit: ConvEdit,
    *,
    natural: bool,
    settings: TrackSettings | None = None,
) -> tuple[Any, DenseArchitecture]:
    """A training state (NumPy leaves) and the architecture after `edit`.

    The network uses the first `width` channels of every layer, before the edit and after it: what
    is activated or pruned changes places for that. A pruning without a compensation gets the best
    one by the tracked factors.

    Args:
      natural: whether an optimizer's momentum is one of natural gradients.
      settings: of the tracking; without them a pruning is not compensated.
    """
    masks = initial_masks(architecture)
    bare = isinstance(edit, PruneChannel) and edit.compensation is None
    if bare and isinstance(state.curvature, Tracked) and settings is not None:
        assert isinstance(edit, PruneChannel)
        found = compensations(settings, state.curvature, architecture, edit)
        edit = replace(edit, compensation=found)
    for step in _steps(architecture, edit):
        after, masks_after = edit_architecture(architecture, masks, step)

        def change(tree: Any, kind: Kind, step: ConvEdit = step) -> Any:
            return edit_moments(tree, architecture, masks, step, kind)  # noqa: B023

        curvature = state.curvature
        if isinstance(curvature, Tracked):
            curvature = edit_tracked(curvature, architecture, masks, step)
        state = state._replace(
            params=edit_parameters(state.params, architecture, masks, step),
            optimizer=moved(state.optimizer, change, natural=natural),
            curvature=curvature,
        )
        architecture, masks = after, masks_after
    return state, architecture


def _steps(architecture: DenseArchitecture, edit: ConvEdit) -> list[ConvEdit]:
    """`edit`, with the changes of places that keep channels in use in front."""
    if not isinstance(edit, ActivateChannels | PruneChannel):
        return [edit]
    layer = architecture.hidden[edit.layer]
    used, unused = list(range(layer.width)), list(range(layer.width, layer.capacity))
    if isinstance(edit, PruneChannel):
        used.remove(edit.channel)
        order = ReorderChannels(edit.layer, (*used, edit.channel, *unused))
        return [edit, order]
    rest = [channel for channel in unused if channel not in edit.channels]
    new = tuple(range(layer.width, layer.width + len(edit.channels)))
    order = ReorderChannels(edit.layer, (*used, *edit.channels, *rest))
    return [order, ActivateChannels(edit.layer, new)]


def compensations(
    settings: TrackSettings, state: Tracked, architecture: DenseArchitecture, edit: PruneChannel
) -> dict[str, np.ndarray]:
    """How the maps that read a channel stand in for it, by their tracked factors."""
    masks, found = initial_masks(architecture), {}
    for wire, source in architecture.readers(edit.layer):
        if wire.target.role == "bud":
            continue
        used = row_mask(wire, masks.used(architecture))
        rows = wire.groups(source)[edit.channel]
        moment = np.asarray(tracked.consistent(settings, state.factors.maps[wire.name].a))
        found[wire.name] = dormant_score.compensation(moment, used, rows)
    return found


def edit_tracked(
    state: Tracked, architecture: DenseArchitecture, masks: Masks, edit: ConvEdit
) -> Tracked:
    """What is tracked, after `edit`.

    What belongs to channels that stay, stays with them; rows of new channels, and of those drawn
    anew, begin at their next batch. Inverses are made anew at the next look.
    """
    if isinstance(edit, RedrawChannels):
        return _renewed(state, architecture, masks, edit)
    after, _ = edit_architecture(architecture, masks, edit)
    lines = lineage(architecture, masks, edit)
    maps: dict[str, Pair] = {}
    averages: dict[str, np.ndarray] = {}
    ages: dict[str, np.ndarray] = {}
    for wire in after.maps:
        if wire.target.role == "bud":
            continue
        before, columns = ancestor(architecture, lines, wire)
        rows = rows_before(before, wire, lines)
        if before is None or before.target.role == "bud":  # nothing was tracked of the new layer
            maps[wire.name] = Pair(_blank(len(rows)), _blank(len(columns)))
        else:
            pair = state.factors.maps[before.name]
            maps[wire.name] = Pair(tracked.moved(pair.a, rows), tracked.moved(pair.s, columns))
        if state.slow is None:
            continue
        averages[wire.name] = np.zeros((2, len(rows), len(columns)), np.float32)
        ages[wire.name] = np.zeros((2, len(rows)), np.int32)
        if before is not None and before.target.role != "bud":
            old = _taken(state.slow.averages[before.name], rows, 1)
            averages[wire.name] = _taken(old, columns, 2)
            ages[wire.name] = _taken(state.slow.ages[before.name], rows, 1)
    factors = state.factors._replace(maps=maps)
    return _on_host(Tracked(factors, state.slow and SlowGradient(averages, ages)))  # type: ignore[arg-type]


def rows_before(before: Map | None, wire: Map, lines: Lineage) -> np.ndarray:
    """For every row of `features.joined` of `wire` the row that it was before, or `NEW`."""
    channels = []
    sources = before.sources if before is not None else ()
    firsts = np.cumsum([0, *(source.feature.capacity for source in sources)])
    for source in wire.sources:
        origin, numbers = lines[source.feature.role, source.feature.index]
        match = [i for i, s in enumerate(sources) if (s.feature.role, s.feature.index) == origin]
        first = firsts[match[0]] if match else 0
        known = np.asarray(numbers) != NEW if match else np.zeros(source.feature.capacity, bool)
        channels.append(np.where(known, first + np.asarray(numbers), NEW))
    numbers = np.concatenate(channels)
    if wire.target.role == "outputs":
        return np.concatenate([[0], np.where(numbers == NEW, NEW, 1 + numbers)])
    taps = np.arange(TAPS)[:, None] * firsts[-1]
    rows: np.ndarray = np.where(numbers == NEW, NEW, taps + numbers)
    return rows.reshape(-1)


def _taken(array: Any, index: np.ndarray, axis: int) -> np.ndarray:
    room = [(0, 0)] * np.ndim(array)
    room[axis] = (0, 1)
    return np.take(np.pad(np.asarray(array), room), index, axis=axis)


def _blank(size: int) -> Side:
    square = np.zeros((size, size), np.float32)
    return Side(
        square,  # type: ignore[arg-type]
        np.zeros(size, np.int32),  # type: ignore[arg-type]
        square,  # type: ignore[arg-type]
        np.zeros(size, bool),  # type: ignore[arg-type]
        np.zeros((), np.float32),  # type: ignore[arg-type]
    )


def _renewed(
    state: Tracked, architecture: DenseArchitecture, masks: Masks, edit: RedrawChannels
) -> Tracked:
    """The rows of the channels that were drawn anew begin at their next batch."""
    picked, used = chosen(architecture, edit).used(architecture), masks.used(architecture)
    new = {name: mask & ~used[name] for name, mask in picked.items()}
    maps, averages, ages = dict(state.factors.maps), {}, {}
    for wire in architecture.maps:
        if wire.target.role == "bud":
            continue
        rows = row_mask(wire, new, bias=False)
        pair = state.factors.maps[wire.name]
        if rows.any():
            maps[wire.name] = pair._replace(a=tracked.renewed(pair.a, rows))
        if state.slow is not None:
            old, age = state.slow.averages[wire.name], state.slow.ages[wire.name]
            averages[wire.name] = np.where(rows[:, None], 0, old).astype(np.float32)
            ages[wire.name] = np.where(rows, 0, age).astype(np.int32)
    factors = state.factors._replace(maps=maps)
    slow = None if state.slow is None else SlowGradient(averages, ages)  # type: ignore[arg-type]
    return _on_host(Tracked(factors, slow))


def _on_host(state: Tracked) -> Tracked:
    found: Tracked = jax.device_get(state)
    return found
