"""Edits of a DenseNet: of its architecture, masks, parameters and whatever has their shape.

All on the host in NumPy, so that no edit compiles anything. Every edit says by a `Lineage` which
channel each channel was before; one function moves trees of the parameters' shape along it. All
edits keep the function that the network computes, but for pruning, which changes it as little as
the remaining channels allow (ingredient 1 and section 3.6 of the paper).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from senn_cli.growth.dormant_score import compensated
from senn_cli.nets.architecture import Layer
from senn_cli.nets.conv_architecture import DenseArchitecture, Wiring
from senn_cli.nets.densenet import feature_rows, update_mask
from senn_cli.nets.densenet_initial import (
    Masks,
    Tree,
    draw_channels,
    split_sources,
    with_columns,
)

Feature = tuple[Literal["image", "layer", "bud"], int]
"""What yields channels: the image, a hidden layer or the bud before it."""
NEW = -1
"""In a lineage: a channel that was not there before."""


@dataclass(frozen=True)
class EnlargeChannels:
    """Room for `capacity` channels in hidden layer `layer`; new ones are drawn, dormant.

    Attributes:
      seed, step: what the draws are a function of, besides the channel.
    """

    layer: int
    capacity: int
    seed: int
    step: int
    name: str = "enlarge_capacity"


@dataclass(frozen=True)
class ActivateChannels:
    """Takes dormant `channels` of hidden layer `layer` into use, at output weights of zero."""

    layer: int
    channels: tuple[int, ...]
    name: str = "add_neurons"


@dataclass(frozen=True, eq=False)
class PruneChannel:
    """Takes channel `channel` of hidden layer `layer` out of use; it stays as a dormant one.

    Attributes:
      compensation: by reading map, how its other rows stand in for the channel's, `(n_a, G)` over
        the rows of `densenet.joined`, G = 9 (of the head 1); `dormant_score.compensation` makes
        it. Maps that are missing are not compensated.
    """

    layer: int
    channel: int
    compensation: Mapping[str, np.ndarray] | None = None
    name: str = "prune_neurons"


@dataclass(frozen=True)
class PromoteBud:
    """The bud before hidden layer `layer` becomes a layer; before each of both stands a new bud.

    The new layer has the number `layer`, later ones move up by one.

    Attributes:
      seed, step: what the draws of the buds are a function of.
      capacity: channels allocated for the new layer; 0 for those of the bud.
      used: which of the bud's channels are taken into use; None for all.
    """

    layer: int
    seed: int
    step: int
    capacity: int = 0
    used: tuple[bool, ...] | None = None
    name: str = "insert_layer"


@dataclass(frozen=True)
class Compact:
    """Drops all channels that are not in use; buds stay."""

    name: str = "compact"


ConvEdit = EnlargeChannels | ActivateChannels | PruneChannel | PromoteBud | Compact
Lineage = dict[Feature, tuple[Feature | None, np.ndarray]]
"""For every feature after an edit: the feature it was before, None for a new one, and for each of
its channels the number it had there, int `(channels,)`, or `NEW`."""


def edit_architecture(
    architecture: DenseArchitecture, masks: Masks, edit: ConvEdit
) -> tuple[DenseArchitecture, Masks]:
    """Architecture and masks after `edit`.

    Raises:
      ValueError: less capacity than before, a channel that is in use already (activation), one
        that is not in use or the last of its layer (pruning), or no bud to promote.
    """
    if isinstance(edit, Compact):
        layers = tuple(np.ones(width, bool) for width in masks.widths)
        return architecture.compact(), masks._replace(layers=layers)
    if isinstance(edit, PromoteBud):
        return _promoted(architecture, masks, edit)
    used = np.array(masks.layers[edit.layer], bool)
    capacity = len(used)
    if isinstance(edit, EnlargeChannels):
        if edit.capacity < capacity:
            raise ValueError(f"cannot enlarge {capacity} channels to {edit.capacity}")
        used, capacity = np.pad(used, (0, edit.capacity - capacity)), edit.capacity
    else:
        active = isinstance(edit, ActivateChannels)
        chosen = list(edit.channels) if isinstance(edit, ActivateChannels) else [edit.channel]
        if (used[chosen] == active).any():
            raise ValueError(f"channels {chosen} are {'' if active else 'not '}in use already")
        used[chosen] = active
        if not used.any():
            raise ValueError(f"channel {chosen[0]} is the last of its layer")
    after = architecture.with_layer(edit.layer, width=int(used.sum()), capacity=capacity)
    layers = (*masks.layers[: edit.layer], used, *masks.layers[edit.layer + 1 :])
    return after, masks._replace(layers=layers)


def _promoted(
    architecture: DenseArchitecture, masks: Masks, edit: PromoteBud
) -> tuple[DenseArchitecture, Masks]:
    if not architecture.bud:
        raise ValueError("there are no buds")
    at, n = edit.layer, architecture.bud
    used = np.array(edit.used, bool) if edit.used is not None else np.ones(n, bool)
    if masks.buds:
        used = used | masks.buds[at]
    capacity = edit.capacity or n
    if len(used) != n or capacity < n:
        raise ValueError(f"a bud of {n} channels needs {n} entries of `used` and room for them")
    new = Layer(int(used.sum()), capacity, architecture.hidden[at].activation)
    layers = (*masks.layers[:at], np.pad(used, (0, capacity - n)), *masks.layers[at:])
    fresh = np.zeros(n, bool)
    buds = (*masks.buds[:at], fresh, fresh, *masks.buds[at + 1 :]) if masks.buds else ()
    return architecture.with_inserted(at, new), Masks(layers, buds)


def lineage(architecture: DenseArchitecture, masks: Masks, edit: ConvEdit) -> Lineage:
    """Where every channel after `edit` comes from; for everything that has rows or columns."""
    after, _ = edit_architecture(architecture, masks, edit)
    found: Lineage = {("image", 0): (("image", 0), np.arange(architecture.image[2]))}
    for index, layer in enumerate(after.hidden):
        old: Feature = ("layer", index)
        here = np.arange(layer.capacity)
        bud: Feature | None = ("bud", index)
        if isinstance(edit, Compact):
            here = np.flatnonzero(masks.layers[index])
        elif isinstance(edit, EnlargeChannels) and edit.layer == index:
            here = np.where(here < architecture.capacities[index], here, NEW)
        elif isinstance(edit, PromoteBud) and index == edit.layer:
            old, bud = ("bud", index), None
            here = np.where(here < architecture.bud, here, NEW)
        elif isinstance(edit, PromoteBud) and index > edit.layer:
            old = ("layer", index - 1)
            bud = None if index == edit.layer + 1 else ("bud", index - 1)
        found["layer", index] = (old, here)
        if after.bud:
            found["bud", index] = (bud, np.arange(after.bud) if bud else np.full(after.bud, NEW))
    return found


def _at(architecture: DenseArchitecture, feature: Feature) -> Wiring:
    """The map that yields `feature`."""
    return next(w for w in architecture.wiring if (w.kind, w.index) == feature)


def ancestor(
    architecture: DenseArchitecture, lines: Lineage, wire: Wiring
) -> tuple[Wiring | None, np.ndarray]:
    """The map that `wire` was before an edit, None if new, and the old number of its columns."""
    if wire.kind == "head":
        return architecture.map_named("head"), np.arange(wire.channels)
    old, columns = lines[wire.kind, wire.index]
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
    lead = tree[architecture.wiring[0].name]["input"].shape[:-2]
    result: Tree = {}
    for wire in after.wiring:
        before, columns = ancestor(architecture, lines, wire)
        leaves: dict[str, np.ndarray] = {}
        for source in wire.sources:
            origin, rows = lines[source.origin, source.index]
            sources = before.sources if before is not None else ()
            match = [s.leaf for s in sources if (s.origin, s.index) == origin]
            if before is None or not match:
                leaves[source.leaf] = np.zeros((*lead, source.channels, wire.channels), dtype)
            else:
                kernel = _taken(tree[before.name][match[0]], -1, columns)
                leaves[source.leaf] = _taken(kernel, -2, rows)
        if wire.kind == "head":
            leaves["bias"] = tree["head"]["bias"].copy()
        result[wire.name] = leaves
    return result


def edit_parameters(
    params: Tree, architecture: DenseArchitecture, masks: Masks, edit: ConvEdit
) -> Tree:
    """Parameters (NumPy) after `edit`, which compute what `params` compute."""
    after, masks_after = edit_architecture(architecture, masks, edit)
    lines = lineage(architecture, masks, edit)
    result = moved(params, architecture, after, lines)
    if isinstance(edit, EnlargeChannels | PromoteBud):
        dtype = params["head"]["kernel"].dtype
        for wire in after.wiring:
            where = np.flatnonzero(ancestor(architecture, lines, wire)[1] == NEW)
            if len(where):
                drawn = draw_channels(wire, masks_after, where, edit.seed, edit.name, edit.step)
                new = {leaf: kernel.astype(dtype) for leaf, kernel in drawn.items()}
                result[wire.name] = with_columns(result[wire.name], where, new)
    if isinstance(edit, ActivateChannels | PruneChannel):
        given = (edit.compensation or {}) if isinstance(edit, PruneChannel) else {}
        chosen = [edit.channel] if isinstance(edit, PruneChannel) else list(edit.channels)
        for wire, source in after.readers(edit.layer):
            if wire.name in given:
                first = _first_row(wire, source.leaf)
                rows = feature_rows(wire)[first + chosen[0]]
                result[wire.name] = _compensated(wire, result[wire.name], given[wire.name], rows)
            result[wire.name][source.leaf][..., chosen, :] = 0
    return result


def _first_row(wire: Wiring, leaf: str) -> int:
    """How many input channels come before those of source `leaf`."""
    leaves = [source.leaf for source in wire.sources]
    return sum(source.channels for source in wire.sources[: leaves.index(leaf)])


def _compensated(
    wire: Wiring, leaves: dict[str, np.ndarray], combination: np.ndarray, rows: np.ndarray
) -> dict[str, np.ndarray]:
    if wire.kind == "head":
        weights = np.concatenate([leaves["bias"][None], leaves["kernel"]])
        weights = compensated(weights, combination, rows)
        return {"kernel": weights[1:], "bias": weights[0]}
    kernel = np.concatenate([leaves[source.leaf] for source in wire.sources], axis=2)
    weights = compensated(kernel.reshape(-1, wire.channels), combination, rows)
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
    What is not trained (`densenet.update_mask`) is zero. No edit of a DenseNet changes coordinates,
    so that steps (`vector`) and gradients (`covector`) change alike.
    """
    after, masks_after = edit_architecture(architecture, masks, edit)
    lines = lineage(architecture, masks, edit)
    trained = update_mask(architecture, masks)
    was, now = moved(trained, architecture, after, lines), update_mask(after, masks_after)
    result = moved(tree, architecture, after, lines)
    for wire in after.wiring:
        before = ancestor(architecture, lines, wire)[0]
        level = _level(tree, trained, architecture, before) if kind == "square" else 0.0
        for leaf, array in result[wire.name].items():
            stays = np.broadcast_to(was[wire.name][leaf], array.shape)
            array = np.where(stays, array, np.asarray(level, array.dtype))
            result[wire.name][leaf] = np.where(now[wire.name][leaf], array, np.zeros_like(array))
    return result


def _level(
    tree: Tree, trained: Tree, architecture: DenseArchitecture, wire: Wiring | None
) -> float:
    """The mean over the trained weights of `wire`; of a bud over those of the layer behind it."""
    if wire is None:
        return 0.0
    names = [wire.name]
    if wire.kind == "bud":
        names.append(_at(architecture, ("layer", wire.index)).name)
    for name in names:
        chosen = [
            array[np.broadcast_to(trained[name][leaf], array.shape)]
            for leaf, array in tree[name].items()
        ]
        values = np.concatenate(chosen)
        if len(values):
            return float(values.mean(dtype=np.float64))
    return 0.0


def describe(edit: ConvEdit, architecture: DenseArchitecture) -> dict[str, Any]:
    """The edit's line in the history, without weights; `architecture` is that before it."""
    if isinstance(edit, Compact):
        return {"edit": edit.name}
    place: dict[str, Any] = {"edit": edit.name, "layer": edit.layer}
    place["site"] = architecture.site(edit.layer)
    if isinstance(edit, EnlargeChannels):
        return {**place, "capacity": edit.capacity}
    if isinstance(edit, ActivateChannels):
        return {**place, "neurons": len(edit.channels), "channels": list(edit.channels)}
    if isinstance(edit, PruneChannel):
        return {**place, "neuron": edit.channel}
    return {**place, "neurons": sum(edit.used) if edit.used else architecture.bud}
