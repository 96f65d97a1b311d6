"""What a network is to everything but its own forward pass: linear maps between features.

A feature is a set of hidden units, or the data, or the outputs. A map reads features and yields
one. How maps are glued together (pooling, sums, norms) is the business of a network's kind alone.
No JAX.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal, Protocol, Self

import numpy as np

from senn_cli.nets.architecture import Layer
from senn_cli.spec.activation import Activation

ArrayTree = dict[str, dict[str, np.ndarray]]
"""Parameters on the host: arrays by the name of their map (or activation) and of their leaf."""

Role = Literal["data", "hidden", "bud", "outputs"]


@dataclass(frozen=True)
class Feature:
    """Units that maps read, or that a map yields.

    Attributes:
      name: by which masks, shifts and lineages know it.
      role: the data, a hidden layer, a bud (a layer that is not in use: a standing proposal for one
        more), or the outputs.
      index: the hidden layer, counted from 0 over the whole network; of a bud the layer that it
        stands before; 0 of the data and of the outputs.
      width: units in use; they are the first `width` of the `capacity`. None of a bud.
      capacity: units allocated.
      activation: of hidden units and buds.
      spare: what units that are not in use are: `empty` (zero, invisible) or `dormant` (they have
        input weights and are standing proposals).
      site: its name for people.
      coefficients: among the parameters, of rational units; None for others.
      passes: whether it is a layer that passes on what it reads where it has no width, so that it
        need not be there; `nets/slots.py`.
    """

    name: str
    role: Role
    index: int
    width: int
    capacity: int
    activation: Activation | None = None
    spare: Literal["empty", "dormant"] = "empty"
    site: str = ""
    coefficients: str | None = None
    passes: bool = False

    @property
    def grows(self) -> bool:
        """Whether its units may come and go."""
        return self.role in ("hidden", "bud")

    @property
    def own(self) -> int:
        """Parameters that every unit has of its own: the coefficients of a rational one."""
        return 0 if self.coefficients is None else 3


def there(feature: str) -> str:
    """By what masks know whether a feature that `passes` has units of its own, a bool scalar."""
    return f"{feature} is there"


@dataclass(frozen=True)
class Source:
    """A feature that a map reads.

    Attributes:
      leaf: the name of its kernel among the map's parameters.
      feature: what is read.
      size: numbers that a unit of the feature has at one position: 1, or the size of a head.
    """

    leaf: str
    feature: Feature
    size: int = 1

    @property
    def rows(self) -> int:
        """Rows of its kernel at one position of the window."""
        return self.feature.capacity * self.size


@dataclass(frozen=True)
class Map:
    """A linear map.

    Attributes:
      name: of its parameters.
      sources: what it reads, in the order of the concatenation.
      target: the feature that it yields.
      bias: whether it has one, the leaf `bias`; a row that reads the constant 1.
      window: of a convolution its positions, such as (3, 3); () of a dense map.
      positions: at how many places of an example it is applied.
    """

    name: str
    sources: tuple[Source, ...]
    target: Feature
    bias: bool
    window: tuple[int, ...] = ()
    positions: int = 1

    @property
    def taps(self) -> int:
        """Positions of the window."""
        return prod(self.window)

    @property
    def inputs(self) -> int:
        """Rows at one position of the window, over all sources."""
        return sum(source.rows for source in self.sources)

    @property
    def rows(self) -> int:
        """Rows of `joined`: those of the sources at every position, and that of the bias."""
        return self.taps * self.inputs + self.bias

    @property
    def columns(self) -> int:
        """Units allocated of what it yields."""
        return self.target.capacity

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns of `joined`."""
        return self.rows, self.columns

    @property
    def rows_used(self) -> int:
        """Rows that read what is in use, the bias counted."""
        read = sum(source.feature.width * source.size for source in self.sources)
        return self.taps * read + self.bias

    @property
    def parameters(self) -> int:
        """Parameters between units in use; none of a map that yields a bud."""
        return self.rows_used * self.target.width

    def source(self, leaf: str) -> Source:
        """The source with that leaf; KeyError if there is none."""
        return {source.leaf: source for source in self.sources}[leaf]

    def reads(self, feature: str) -> tuple[Source, ...]:
        """The sources that read `feature`."""
        return tuple(source for source in self.sources if source.feature.name == feature)

    def groups(self, source: Source) -> np.ndarray:
        """The rows of `joined` of every unit of `source`, int `(units, taps * size)`."""
        first = sum(s.rows for s in self.sources[: self.sources.index(source)])
        units = np.arange(source.feature.capacity)[:, None, None] * source.size
        at = np.arange(self.taps)[None, :, None] * self.inputs
        found = self.bias + at + first + units + np.arange(source.size)[None, None, :]
        return found.reshape(source.feature.capacity, self.taps * source.size)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every leaf among its parameters."""
        found = {s.leaf: (*self.window, s.rows, self.columns) for s in self.sources}
        return found | ({"bias": (self.columns,)} if self.bias else {})


class Architecture(Protocol):
    """An architecture of any kind as plain, hashable data: the single source of all shapes."""

    @property
    def kind(self) -> str:
        """The registry's name of its kind."""

    @property
    def inputs(self) -> int:
        """Numbers in one example."""

    @property
    def outputs(self) -> int:
        """Numbers that the network yields."""

    @property
    def hidden(self) -> tuple[Layer, ...]:
        """The hidden layers, in order."""

    @property
    def blocks(self) -> tuple[tuple[Layer, ...], ...]:
        """The hidden layers by what they are part of, all of a fully connected network in one."""

    @property
    def widths(self) -> tuple[int, ...]:
        """Units in use, a hidden layer each."""

    @property
    def capacities(self) -> tuple[int, ...]:
        """Units allocated, a hidden layer each."""

    @property
    def features(self) -> tuple[Feature, ...]:
        """All features, in the order of computation: the data first, the outputs last."""

    @property
    def maps(self) -> tuple[Map, ...]:
        """All maps, in the order of computation."""

    @property
    def parameters(self) -> int:
        """Parameters in use."""

    def shape(self) -> Self:
        """The architecture with every unit in use: the static key of compiled functions."""

    def compact(self) -> Self:
        """The architecture without spare capacity."""

    def without_buds(self) -> Self:
        """The architecture without buds, which no output depends on."""

    def with_layer(self, index: int, **changes: Any) -> Self:
        """The architecture with fields of hidden layer `index` changed."""

    def with_blocks(self, blocks: Sequence[Sequence[Layer]]) -> Self:
        """The architecture with other hidden layers; see `blocks`."""

    def with_inserted(self, index: int, layer: Layer) -> Self:
        """The architecture with `layer` as hidden layer `index`, before the one that was there."""

    def to_json(self) -> dict[str, Any]:
        """A mapping of plain values, among them its `kind`."""


def present(feature: Feature) -> int:
    """Units that are there to be shown or exported: those in use, of a bud all."""
    return feature.capacity if feature.role == "bud" else feature.width


def map_named(architecture: Architecture, name: str) -> Map:
    """The map of that name; KeyError if there is none."""
    return {m.name: m for m in architecture.maps}[name]


def feature_named(architecture: Architecture, name: str) -> Feature:
    """The feature of that name; KeyError if there is none."""
    return {f.name: f for f in architecture.features}[name]


def hidden_feature(architecture: Architecture, index: int) -> Feature:
    """The feature that is hidden layer `index`."""
    return next(f for f in architecture.features if f.role == "hidden" and f.index == index)


def readers(architecture: Architecture, feature: str) -> tuple[tuple[Map, Source], ...]:
    """The maps that read `feature`, those that yield buds among them, each with its source."""
    return tuple((m, s) for m in architecture.maps for s in m.reads(feature))


def writer(architecture: Architecture, feature: str) -> Map:
    """The map that yields `feature`."""
    return next(m for m in architecture.maps if m.target.name == feature)


def standing(architecture: Architecture) -> tuple[Map, ...]:
    """The maps that are in use: all but those that yield buds."""
    return tuple(m for m in architecture.maps if m.target.role != "bud")


def used_units(architecture: Architecture) -> dict[str, np.ndarray]:
    """Which units of every feature are in use, bool `(capacity,)`: the first `width`."""
    return {f.name: np.arange(f.capacity) < f.width for f in architecture.features}
