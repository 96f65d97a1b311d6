"""A growing network in training: its architecture with all state that has its shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np

from senn_cli.curvature import tracking
from senn_cli.curvature.tracking import Tracked
from senn_cli.engine.mesh import ONE, Placement, placement_of
from senn_cli.growth.carry import carried
from senn_cli.growth.edits import AddUnits, Edit, Enlarge, InsertLayer, SplitUnit
from senn_cli.nets.architecture import CapacityRule
from senn_cli.nets.features import Architecture, ArrayTree
from senn_cli.nets.registry import Parameters
from senn_cli.nets.slots import Slots, blank_parameters
from senn_cli.training.optimizer import Optimizer


class TrainState(NamedTuple):
    """What changes from step to step.

    Attributes:
      step: steps taken, int32.
      params: the network's parameters.
      optimizer: Optax's state.
      curvature: what is tracked of it; None where nothing needs it.
    """

    step: jax.Array
    params: Parameters
    optimizer: Any
    curvature: Tracked | None


@dataclass(frozen=True)
class Network:
    """An architecture, the training state of its shape, and its widths on the devices."""

    architecture: Architecture
    state: TrainState
    widths: jax.Array

    def on(self, place: Placement) -> Network:
        """The network whole on every device of `place`; itself where there is one."""
        if place.mesh is None:
            return self
        return Network(self.architecture, *place.replicated((self.state, self.widths)))


def widths_of(architecture: Architecture) -> np.ndarray:
    """The dynamic argument that tells compiled functions what is in use."""
    return np.asarray(architecture.widths, np.int32)


def new_network(architecture: Architecture, params: ArrayTree, optimizer: Optimizer) -> Network:
    """A network about to be trained, on the device."""
    curvature: Any = None
    if optimizer.tracking is not None:
        curvature = tracking.initial(architecture.shape(), optimizer.tracking)
    fields: Any = (np.int32(0), params, optimizer.transform.init(params), curvature)
    return on_device(architecture, jax.device_get(TrainState(*fields)))


@lru_cache(maxsize=8)
def _blank(shape: Any, optimizer: Optimizer) -> TrainState:
    blank: TrainState = jax.device_get(new_network(shape, blank_parameters(shape), optimizer).state)
    return blank


class Placed(NamedTuple):
    """What steps take of a network: with places for more layers where there are `slots`."""

    slots: Slots | None
    shape: Architecture
    state: TrainState
    widths: Any


def placed_in(
    slots: Slots | None, network: Network, state: TrainState, optimizer: Optimizer
) -> Placed:
    """A network in this state, its empty places with a state of zeros."""
    if slots is None:
        return Placed(None, network.architecture.shape(), state, network.widths)
    filled = slots.filled(state, _blank(slots.shape, optimizer))
    return Placed(slots, slots.shape, filled, slots.widths(network.widths))


def on_device(
    architecture: Architecture,
    state: Any,
    there: Mapping[int, jax.Array] | None = None,
    place: Placement = ONE,
) -> Network:
    """A network from a state in NumPy arrays.

    Args:
      there: what is on the devices already, by the `id` of its array here.
      place: over which devices the network goes.
    """
    there = there or {}
    leaves, structure = jax.tree.flatten(state)
    # Optax makes some scalars without a fixed dtype; compiled programs want to know.
    new = [np.asarray(leaf) for leaf in leaves if id(leaf) not in there]
    widths, *put = place.replicated([widths_of(architecture), *new])
    placed = iter(put)
    found = [there[id(leaf)] if id(leaf) in there else next(placed) for leaf in leaves]
    return Network(architecture, jax.tree.unflatten(structure, found), widths)


def apply_edits(network: Network, edits: list[Edit], optimizer: Optimizer) -> Network:
    """The network after `edits`, in order; its state goes to the host once and back once."""
    if not edits:
        return network
    start: Any = jax.device_get(network.state)
    host, architecture = start, network.architecture
    # What no edit touches needs no way back.
    pairs = zip(jax.tree.leaves(start), jax.tree.leaves(network.state), strict=True)
    there = {id(here): array for here, array in pairs}
    natural = optimizer.solver is not None
    settings = None if optimizer.tracking is None else optimizer.tracking.settings
    for edit in edits:
        host, architecture = carried(host, architecture, edit, natural=natural, settings=settings)
    return on_device(architecture, host, there, placement_of(network.widths))


def capacity_edits(
    architecture: Architecture, edit: Edit, rule: CapacityRule, *, seed: int = 0, step: int = 0
) -> list[Edit]:
    """`edit`, with the room that it needs: of its own, or by an enlargement before it.

    Args:
      seed, step: what draws of units that come with an enlargement are a function of.
    """
    layers, together = architecture.hidden, 0
    if rule.together:
        together = max((layer.capacity for layer in layers), default=0)
    if isinstance(edit, InsertLayer) and not edit.capacity:
        edit = replace(edit, capacity=rule.room(edit.weights.shape[1], together))
        room = edit.capacity
    elif isinstance(edit, AddUnits | SplitUnit):
        layer = layers[edit.layer]
        width = layer.width + edit.count
        if width <= layer.capacity:
            return [edit]
        room = rule.room(width, max(layer.capacity, together))
        if not rule.together:
            return [Enlarge(edit.layer, room, seed, step), edit]
    else:
        return [edit]
    short = [i for i, layer in enumerate(layers) if rule.together and layer.capacity < room]
    return [*(Enlarge(index, room, seed, step) for index in short), edit]
