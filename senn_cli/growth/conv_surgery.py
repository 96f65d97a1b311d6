"""Surgery on a DenseNet's parameters, and on whatever in an optimizer's state has their shape.

All on the host in NumPy, so that no edit compiles anything. Every edit says by a `Lineage` which
channel each channel was before; one function moves trees of the parameters' shape along it.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from senn_cli.growth.conv_edits import (
    ActivateChannels,
    Compact,
    ConvEdit,
    EnlargeChannels,
    PromoteBud,
    PruneChannel,
    RedrawChannels,
    ReorderChannels,
    edit_architecture,
)
from senn_cli.growth.dormant_score import compensated
from senn_cli.nets.densenet import (
    DenseArchitecture,
    Masks,
    Tree,
    draw_channels,
    redraw,
    split_sources,
    with_columns,
)
from senn_cli.nets.features import Map, map_named, trained

Feature = tuple[Literal["data", "hidden", "bud", "outputs"], int]
"""What yields channels: the image, a hidden layer or the bud before it."""
NEW = -1
"""In a lineage: a channel that was not there before."""


Lineage = dict[Feature, tuple[Feature | None, np.ndarray]]
"""For every feature after an edit: the feature it was before, None for a new one, and for each of
its channels the number it had there, int `(channels,)`, or `NEW`."""


def lineage(architecture: DenseArchitecture, masks: Masks, edit: ConvEdit) -> Lineage:
    """Where every channel after `edit` comes from; for everything that has rows or columns."""
    after, _ = edit_architecture(architecture, masks, edit)
    found: Lineage = {("data", 0): (("data", 0), np.arange(architecture.image[2]))}
    for index, layer in enumerate(after.hidden):
        old: Feature = ("hidden", index)
        here = np.arange(layer.capacity)
        bud: Feature | None = ("bud", index)
        if isinstance(edit, Compact):
            here = np.flatnonzero(masks.layers[index])
        elif isinstance(edit, EnlargeChannels) and edit.layer == index:
            here = np.where(here < architecture.capacities[index], here, NEW)
        elif isinstance(edit, ReorderChannels) and edit.layer == index:
            here = np.array(edit.order)
        elif isinstance(edit, PromoteBud) and index == edit.layer:
            old, bud = ("bud", index), None
            here = np.where(here < architecture.bud, here, NEW)
        elif isinstance(edit, PromoteBud) and index > edit.layer:
            old = ("hidden", index - 1)
            bud = None if index == edit.layer + 1 else ("bud", index - 1)
        found["hidden", index] = (old, here)
        if after.bud:
            found["bud", index] = (bud, np.arange(after.bud) if bud else np.full(after.bud, NEW))
    return found


def _at(architecture: DenseArchitecture, feature: Feature) -> Map:
    """The map that yields `feature`."""
    return next(w for w in architecture.maps if (w.target.role, w.target.index) == feature)


def ancestor(
    architecture: DenseArchitecture, lines: Lineage, wire: Map
) -> tuple[Map | None, np.ndarray]:
    """The map that `wire` was before an edit, None if new, and the old number of its columns."""
    if wire.target.role == "outputs":
        return map_named(architecture, "head"), np.arange(wire.target.capacity)
    old, columns = lines[wire.target.role, wire.target.index]
    return (None if old is None else _at(architecture, old)), columns


def _taken(array: np.ndarray, axis: int, index: np.ndarray) -> np.ndarray:
    """Entries `index` of `array` along `axis`, zero where they are `NEW`."""
    room = [(0, 0)] * array.ndim
    room[axis] = (0, 1)
    return np.take(np.pad(array, room), index, axis=axis)


def moved(
    tree: Tree, architecture: DenseArchitecture, after: DenseArchitecture, lines: Lineage
) -> Tree:
    """A tree of the parameters' shape, rows and columns moved along `lines`; new entries zero."""
    dtype = tree["head"]["kernel"].dtype
    lead = tree[architecture.maps[0].name]["input"].shape[:-2]
    result: Tree = {}
    for wire in after.maps:
        before, columns = ancestor(architecture, lines, wire)
        leaves: dict[str, np.ndarray] = {}
        for source in wire.sources:
            origin, rows = lines[source.feature.role, source.feature.index]
            sources = before.sources if before is not None else ()
            match = [s.leaf for s in sources if (s.feature.role, s.feature.index) == origin]
            if before is None or not match:
                leaves[source.leaf] = np.zeros(
                    (*lead, source.feature.capacity, wire.target.capacity), dtype
                )
            else:
                kernel = _taken(tree[before.name][match[0]], -1, columns)
                leaves[source.leaf] = _taken(kernel, -2, rows)
        if wire.target.role == "outputs":
            leaves["bias"] = tree["head"]["bias"].copy()
        result[wire.name] = leaves
    return result


def edit_parameters(
    params: Tree, architecture: DenseArchitecture, masks: Masks, edit: ConvEdit
) -> Tree:
    """Parameters (NumPy) after `edit`, which compute what `params` compute."""
    after, masks_after = edit_architecture(architecture, masks, edit)
    lines = lineage(architecture, masks, edit)
    if isinstance(edit, RedrawChannels):
        picked = chosen(architecture, edit).used(architecture)
        used = masks.used(architecture)
        return redraw(params, architecture, used, picked, edit.seed, edit.step)
    result = moved(params, architecture, after, lines)
    if isinstance(edit, EnlargeChannels | PromoteBud):
        dtype, used_after = params["head"]["kernel"].dtype, masks_after.used(after)
        for wire in after.maps:
            where = np.flatnonzero(ancestor(architecture, lines, wire)[1] == NEW)
            if len(where):
                drawn = draw_channels(wire, used_after, where, edit.seed, edit.name, edit.step)
                new = {leaf: kernel.astype(dtype) for leaf, kernel in drawn.items()}
                result[wire.name] = with_columns(result[wire.name], where, new)
    if isinstance(edit, ActivateChannels | PruneChannel):
        given = (edit.compensation or {}) if isinstance(edit, PruneChannel) else {}
        which = [edit.channel] if isinstance(edit, PruneChannel) else list(edit.channels)
        for wire, source in after.readers(edit.layer):
            if wire.name in given:
                rows = wire.groups(source)[which[0]]
                result[wire.name] = _compensated(wire, result[wire.name], given[wire.name], rows)
            result[wire.name][source.leaf][..., which, :] = 0
    return result


def chosen(architecture: DenseArchitecture, edit: RedrawChannels) -> Masks:
    """The channels that `edit` draws anew, as masks."""

    def mask(channels: tuple[int, ...], size: int) -> np.ndarray:
        return np.isin(np.arange(size), channels)

    layers = map(mask, edit.layers, architecture.capacities)
    return Masks(tuple(layers), tuple(mask(c, architecture.bud) for c in edit.buds))


def _compensated(
    wire: Map, leaves: dict[str, np.ndarray], combination: np.ndarray, rows: np.ndarray
) -> dict[str, np.ndarray]:
    if wire.target.role == "outputs":
        weights = np.concatenate([leaves["bias"][None], leaves["kernel"]])
        weights = compensated(weights, combination, rows)
        return {"kernel": weights[1:], "bias": weights[0]}
    kernel = np.concatenate([leaves[source.leaf] for source in wire.sources], axis=2)
    weights = compensated(kernel.reshape(-1, wire.target.capacity), combination, rows)
    return split_sources(wire, weights.reshape(kernel.shape))


def edit_moments(
    tree: Tree,
    architecture: DenseArchitecture,
    masks: Masks,
    edit: ConvEdit,
    kind: Literal["vector", "covector", "square"],
) -> Tree:
    """A tree of the parameters' shape within an optimizer's state, after `edit`.

    What belongs to weights that are trained before and after stays. Weights that come into training
    start at zero, but a mean of squared gradients (`square`) at the mean over the trained weights
    of their map, as in `surgery.edit_moments`; a promoted bud takes that of the layer behind it.
    What is not trained (`features.trained`) is zero. No edit of a DenseNet changes coordinates,
    so that steps (`vector`) and gradients (`covector`) change alike.
    """
    after, masks_after = edit_architecture(architecture, masks, edit)
    lines = lineage(architecture, masks, edit)
    old = trained(architecture, masks.used(architecture))
    was = moved(old, architecture, after, lines)
    now = trained(after, masks_after.used(after))
    result = moved(tree, architecture, after, lines)
    for wire in after.maps:
        before = ancestor(architecture, lines, wire)[0]
        level = _level(tree, old, architecture, before) if kind == "square" else 0.0
        for leaf, array in result[wire.name].items():
            stays = np.broadcast_to(was[wire.name][leaf], array.shape)
            array = np.where(stays, array, np.asarray(level, array.dtype))
            result[wire.name][leaf] = np.where(now[wire.name][leaf], array, np.zeros_like(array))
    return result


def _level(tree: Tree, used: Tree, architecture: DenseArchitecture, wire: Map | None) -> float:
    """The mean over the trained weights of `wire`; of a bud over those of the layer behind it."""
    if wire is None:
        return 0.0
    names = [wire.name]
    if wire.target.role == "bud":
        names.append(_at(architecture, ("hidden", wire.target.index)).name)
    for name in names:
        chosen = [
            array[np.broadcast_to(used[name][leaf], array.shape)]
            for leaf, array in tree[name].items()
        ]
        values = np.concatenate(chosen)
        if len(values):
            return float(values.mean(dtype=np.float64))
    return 0.0
