"""Edits: changes of architecture, applied to everything that has its shape (ingredient 1).

An edit is plain data, the same for networks of every kind. `edit_architecture` here says what it
makes of the architecture, `lineage` which unit every unit was before, and `carry` applies it to a
whole training state. All keep the function that the network computes, but for pruning, which
changes it as little as the remaining units allow, and for additions that ask for a change.

A layer's units in use are its first ones, before an edit and after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from senn_cli.nets.architecture import Layer
from senn_cli.nets.features import Architecture, Feature, hidden_feature

A = TypeVar("A", bound=Architecture)


@dataclass(frozen=True, eq=False)
class AddUnits:
    """k units for hidden layer `layer`, behind those in use; dormant ones there make way.

    Attributes:
      incoming: input weights, `(n, k)` over the first n rows of the joined map that yields the
        layer, the bias first; zero in all others.
      coefficients: `(3, k)`, for rational layers, else None.
      outgoing: by the map that reads the layer, output weights `(k, G, n)`: G rows a unit, the
        first n columns. Those that are not told are zero, as all are by default: then the function
        stays.
      scale: what the output weights of the units in use are multiplied by, `(width,)`.
      moments: E[a a^T], `(1 + width + k, 1 + width + k)`, on one sample: second moments of the
        constant, the layer's units in use and the new ones; for the curvature. None if unknown.
    """

    name: ClassVar[str] = "add_neurons"
    layer: int
    incoming: np.ndarray
    coefficients: np.ndarray | None
    outgoing: Mapping[str, np.ndarray] | None = None
    scale: np.ndarray | None = None
    moments: np.ndarray | None = None

    @property
    def count(self) -> int:
        """How many units come."""
        return int(self.incoming.shape[1])


@dataclass(frozen=True)
class Activate:
    """Takes dormant `units` of hidden layer `layer` into use, at output weights of zero."""

    name: ClassVar[str] = "add_neurons"
    layer: int
    units: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class SplitUnit:
    """Copies of unit `unit` of hidden layer `layer`, behind those in use.

    Attributes:
      shares: of its output weights, first its own, then those of the copies. The function stays
        where they add up to 1.
      offsets: added to the input weights of the unit and its copies, `(n, 1 + k)` over the first n
        rows of the joined map that yields the layer; None for nothing.
    """

    name: ClassVar[str] = "add_neurons"
    layer: int
    unit: int
    shares: tuple[float, ...]
    offsets: np.ndarray | None = None

    @property
    def count(self) -> int:
        """How many units come."""
        return len(self.shares) - 1


@dataclass(frozen=True, eq=False)
class RemoveUnit:
    """Takes unit `unit` of hidden layer `layer` out of use; where others are dormant, it is one.

    Attributes:
      compensation: by the map that reads the layer, how its other rows stand in for the unit's,
        `(n, G)` over the first n rows of the joined map, zero in all others; G rows a unit: its
        activation is replaced by that combination of theirs, A_cc^-1 A_cp (optimal brain surgeon,
        section 3.5). Maps that are missing are not compensated.
    """

    name: ClassVar[str] = "prune_neurons"
    layer: int
    unit: int
    compensation: Mapping[str, np.ndarray] | None = None


@dataclass(frozen=True)
class Enlarge:
    """Room for `capacity` units in hidden layer `layer`; new ones that are dormant are drawn.

    Attributes:
      seed, step: what the draws are a function of, besides the unit.
    """

    name: ClassVar[str] = "enlarge_capacity"
    layer: int
    capacity: int
    seed: int = 0
    step: int = 0


@dataclass(frozen=True)
class Reorder:
    """Unit `order[i]` of hidden layer `layer` takes place i; those in use stay in front."""

    name: ClassVar[str] = "reorder"
    layer: int
    order: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Redraw:
    """New input weights for dormant units of layers and buds: other proposals.

    Attributes:
      units: by the name of the feature; those in use are left alone.
      seed, step: what the draws are a function of, besides map and unit.
    """

    name: ClassVar[str] = "redraw"
    units: Mapping[str, tuple[int, ...]]
    seed: int
    step: int


@dataclass(frozen=True, eq=False)
class InsertLayer:
    """A layer of `q` rational units at the identity, within the map that yields layer `map`.

    Attributes:
      map: the number that the new layer gets; as many as there are for the map of the outputs.
      side: `inputs`: W becomes W_q, then W_q^-1 W; `outputs`: W W_q, then W_q^-1.
      weights: W_q with its bias in row 0, `(1 + q, q)`; invertible without the bias.
      capacity: units allocated; 0 for q.
    """

    name: ClassVar[str] = "insert_layer"
    map: int
    side: Literal["inputs", "outputs"]
    weights: np.ndarray
    capacity: int = 0


@dataclass(frozen=True)
class PromoteBud:
    """The bud before hidden layer `layer` becomes a layer; before each of both stands a new bud.

    The new layer has the number `layer`, later ones move up by one.

    Attributes:
      seed, step: what the draws of the buds are a function of.
      capacity: units allocated for the new layer; 0 for those of the bud.
    """

    name: ClassVar[str] = "insert_layer"
    layer: int
    seed: int
    step: int
    capacity: int = 0


Edit = (
    AddUnits
    | Activate
    | SplitUnit
    | RemoveUnit
    | Enlarge
    | Reorder
    | Redraw
    | InsertLayer
    | PromoteBud
)


def inserted_at(edit: Edit) -> int | None:
    """The number of the layer that `edit` brings; None if it brings none."""
    if isinstance(edit, InsertLayer):
        return edit.map
    return edit.layer if isinstance(edit, PromoteBud) else None


def edit_architecture(architecture: A, edit: Edit) -> A:
    """The architecture after `edit`.

    Raises:
      ValueError: there is no room for added units, no unit would remain, a unit is in use already
        (activation) or is not (removal, split), less capacity than before, an order that leaves
        units out or takes one that is in use from the front, or no bud to promote.
    """
    if isinstance(edit, Redraw):
        return architecture
    if isinstance(edit, InsertLayer):
        q = edit.weights.shape[1]  # rational units are the only ones that can be the identity
        return architecture.with_inserted(edit.map, Layer(q, edit.capacity or q, "rational"))
    if isinstance(edit, PromoteBud):
        return architecture.with_inserted(edit.layer, _promoted(architecture, edit))
    layer = architecture.hidden[edit.layer]
    if isinstance(edit, Enlarge):
        if edit.capacity < layer.capacity:
            raise ValueError(f"cannot enlarge {layer.capacity} units to {edit.capacity}")
        return architecture.with_layer(edit.layer, capacity=edit.capacity)
    if isinstance(edit, Reorder):
        _check_order(edit.order, layer)
        return architecture
    if isinstance(edit, Activate):
        _check_dormant(hidden_feature(architecture, edit.layer), edit.units)
        return architecture.with_layer(edit.layer, width=layer.width + len(edit.units))
    if not isinstance(edit, AddUnits) and not 0 <= edit.unit < layer.width:
        raise ValueError(f"unit {edit.unit} is not in use")
    change = -1 if isinstance(edit, RemoveUnit) else edit.count
    return architecture.with_layer(edit.layer, width=layer.width + change)


def _promoted(architecture: Architecture, edit: PromoteBud) -> Layer:
    for bud in architecture.features:
        if bud.role == "bud" and bud.index == edit.layer and bud.activation is not None:
            return Layer(bud.capacity, edit.capacity or bud.capacity, bud.activation)
    raise ValueError(f"there is no bud before layer {edit.layer}")


def _check_order(order: tuple[int, ...], layer: Layer) -> None:
    if sorted(order) != list(range(layer.capacity)):
        raise ValueError(f"{order} is no order of {layer.capacity} units")
    if max(order[: layer.width]) >= layer.width:
        raise ValueError(f"{order} does not keep the {layer.width} units in use in front")


def _check_dormant(feature: Feature, units: tuple[int, ...]) -> None:
    if feature.spare != "dormant":
        raise ValueError(f"{feature.site} has no dormant units")
    if len(set(units)) < len(units) or min(units) < 0 or max(units) >= feature.capacity:
        raise ValueError(f"{units} are no different units of {feature.capacity}")
    if min(units) < feature.width:
        raise ValueError(f"units {units} are in use already")


def describe(edit: Edit, architecture: Architecture) -> dict[str, Any]:
    """The edit's line in the history, without weights; `architecture` is that before it."""
    if isinstance(edit, Redraw):
        return {"edit": edit.name}
    if isinstance(edit, InsertLayer):
        width = int(edit.weights.shape[1])
        return {"edit": edit.name, "map": edit.map, "side": edit.side, "neurons": width}
    site = hidden_feature(architecture, edit.layer).site
    place = {"edit": edit.name, "layer": edit.layer, "site": site}
    if isinstance(edit, Enlarge):
        return {**place, "capacity": edit.capacity}
    if isinstance(edit, AddUnits):
        return {**place, "neurons": edit.count}
    if isinstance(edit, SplitUnit):
        return {**place, "neurons": edit.count, "neuron": edit.unit}
    if isinstance(edit, Activate):
        return {**place, "neurons": len(edit.units), "channels": list(edit.units)}
    if isinstance(edit, RemoveUnit):
        return {**place, "neuron": edit.unit}
    if isinstance(edit, Reorder):
        return {**place, "order": list(edit.order)}
    return {**place, "neurons": _promoted(architecture, edit).width}
