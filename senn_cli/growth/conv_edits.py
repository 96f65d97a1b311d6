"""Edits of a DenseNet as plain data: what they are, and what they make of architecture and masks.

`conv_surgery` applies them to parameters and to whatever has their shape; `conv_carry` to the whole
training state. All keep the function that the network computes, but for pruning, which changes it
as little as the remaining channels allow (ingredient 1 and section 3.5 of the paper).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from senn_cli.nets.architecture import Layer
from senn_cli.nets.densenet import DenseArchitecture, Masks


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
        the rows of the joined map, G = 9 (of the head 1); `dormant_score.compensation` makes
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
class ReorderChannels:
    """Channel `order[i]` of hidden layer `layer` takes place i; keeps those in use in front.

    A network whose layers use their first `width` channels needs no masks beside its architecture.
    """

    layer: int
    order: tuple[int, ...]
    name: str = "reorder"


@dataclass(frozen=True)
class RedrawChannels:
    """New input weights for dormant channels of layers and buds: other proposals.

    Attributes:
      layers, buds: for every hidden layer, and for the bud before it, the channels.
      seed, step: what the draws are a function of, besides map and channel.
    """

    layers: tuple[tuple[int, ...], ...]
    buds: tuple[tuple[int, ...], ...]
    seed: int
    step: int
    name: str = "redraw"


@dataclass(frozen=True)
class Compact:
    """Drops all channels that are not in use; buds stay."""

    name: str = "compact"


ConvEdit = (
    EnlargeChannels
    | ActivateChannels
    | PruneChannel
    | PromoteBud
    | ReorderChannels
    | RedrawChannels
    | Compact
)


def edit_architecture(
    architecture: DenseArchitecture, masks: Masks, edit: ConvEdit
) -> tuple[DenseArchitecture, Masks]:
    """Architecture and masks after `edit`.

    Raises:
      ValueError: less capacity than before, a channel that is in use already (activation), one
        that is not in use or the last of its layer (pruning), an order that leaves channels out, or
        no bud to promote.
    """
    if isinstance(edit, RedrawChannels):
        return architecture, masks
    if isinstance(edit, Compact):
        layers = tuple(np.ones(width, bool) for width in masks.widths)
        return architecture.compact(), masks._replace(layers=layers)
    if isinstance(edit, PromoteBud):
        return _promoted(architecture, masks, edit)
    used = np.array(masks.layers[edit.layer], bool)
    capacity = len(used)
    if isinstance(edit, ReorderChannels):
        if sorted(edit.order) != list(range(capacity)):
            raise ValueError(f"{edit.order} is no order of {capacity} channels")
        used = used[list(edit.order)]
    elif isinstance(edit, EnlargeChannels):
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


def describe(edit: ConvEdit, architecture: DenseArchitecture) -> dict[str, Any]:
    """The edit's line in the history, without weights; `architecture` is that before it."""
    if isinstance(edit, Compact | RedrawChannels):
        return {"edit": edit.name}
    place: dict[str, Any] = {"edit": edit.name, "layer": edit.layer}
    place["site"] = architecture.site(edit.layer)
    if isinstance(edit, EnlargeChannels):
        return {**place, "capacity": edit.capacity}
    if isinstance(edit, ActivateChannels):
        return {**place, "neurons": len(edit.channels), "channels": list(edit.channels)}
    if isinstance(edit, PruneChannel):
        return {**place, "neuron": edit.channel}
    if isinstance(edit, ReorderChannels):
        return {**place, "order": list(edit.order)}
    return {**place, "neurons": sum(edit.used) if edit.used else architecture.bud}
