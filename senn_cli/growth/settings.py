"""The options of growth, of whatever policy, proposals and kind of network, and their limits.

No JAX: the plan of a run asks how large a network may become.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np

from senn_cli.nets.features import Architecture, hidden_feature
from senn_cli.nets.registry import kind_named
from senn_cli.spec import Spec
from senn_cli.spec.expansion import ScoredSpec, SearchSpec
from senn_cli.spec.growth import DepthSearchSpec, WidthSearchSpec
from senn_cli.words import plural

A = TypeVar("A", bound=Architecture)
Method = Literal["closed_form", "gradient_ascent", "mala"]


@dataclass(frozen=True)
class WidthSearch:
    """Options of `search_neurons`; the spec's `expansion.width` describes each."""

    method: Method
    proposals: int
    polished: int
    steps: int
    rank: int
    learning_rate: float
    temperature: float


@dataclass(frozen=True)
class DepthSearch:
    """Options of `search_layers`; the spec's `expansion.depth` describes each."""

    method: Method
    proposals: int
    polished: int
    steps: int
    learning_rate: float
    temperature: float
    log_determinant: float


@dataclass(frozen=True)
class PruneSettings:
    """Limits to pruning.

    Attributes:
      min_width: no layer gets narrower than this.
      per_round: most units pruned in one round, None for any number.
    """

    min_width: int
    per_round: int | None


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How far anything may grow, whatever the policy; the spec's `expansion` describes each.

    Attributes:
      widens, deepens: whether units, and whether layers, are added.
      prune: limits to pruning, None for none at all.
      in_use, growth: where more than this share of a layer with dormant units is in use, it gets
        this share more room.
    """

    max_hidden: int | None = None
    max_parameters: int | None = None
    widens: bool = True
    per_round: int | None = None
    max_width: int | None = None
    deepens: bool = True
    max_layers: int | None = None
    per_block: int | None = None
    prune: PruneSettings | None = None
    in_use: float = 0.9
    growth: float = 0.5

    def exhausted(self, architecture: Architecture, added: int) -> str | None:
        """Why nothing at all may be added, `added` units into a round, if so."""
        width = sum(architecture.widths)
        if self.max_hidden is not None and width >= self.max_hidden:
            return f"max_hidden: {plural(width, 'hidden neuron')} of at most {self.max_hidden}"
        if self.max_parameters is not None and architecture.parameters >= self.max_parameters:
            return f"max_parameters: {architecture.parameters} of at most {self.max_parameters}"
        if self.per_round is not None and added >= self.per_round:
            return f"per_round: {plural(added, 'neuron')} added in this round"
        return None

    def allows(self, before: Architecture, after: Architecture) -> bool:
        """Whether `after`, which one addition to `before` would yield, respects all limits."""
        grown = len(after.hidden) > len(before.hidden)
        deeper = [
            len(new)
            for old, new in zip(before.blocks, after.blocks, strict=True)
            if len(new) > len(old)
        ]
        new = Counter(after.widths) - Counter(before.widths)  # of what was added to, and added
        return (
            (self.max_hidden is None or sum(after.widths) <= self.max_hidden)
            and (self.max_parameters is None or after.parameters <= self.max_parameters)
            and (self.max_layers is None or not grown or len(after.hidden) <= self.max_layers)
            and (self.per_block is None or all(n <= self.per_block for n in deeper))
            and (self.max_width is None or all(width <= self.max_width for width in new))
        )

    def room(self, width: int, capacity: int) -> int:
        """The capacity for `width` units and dormant ones: more beyond `in_use`."""
        most = self.max_width
        while (width > self.in_use * capacity or width >= capacity) and (
            most is None or capacity < most
        ):
            capacity = max(capacity + 1, int(np.ceil(capacity * (1.0 + self.growth))))
            capacity = capacity if most is None else min(capacity, max(most, width))
        return capacity

    def enlarged(self, architecture: A) -> A:
        """The architecture with room for proposals in every layer that has dormant units."""
        if self.widens:
            for index, layer in enumerate(architecture.hidden):
                if hidden_feature(architecture, index).spare == "dormant":
                    room = self.room(layer.width, layer.capacity)
                    architecture = architecture.with_layer(index, capacity=room)
        return architecture


@dataclass(frozen=True, kw_only=True)
class Settings(Limits):
    """Options of growth by scores; the spec's `expansion` section describes each.

    Attributes:
      price: nats that the gain over all training examples must bring for every parameter added.
      patience: rounds without progress after which growth has ended; None for any number.
      weights: `score` for the proposals' own weights, `random` for draws from the initial
        distribution at the same times and sites (the control).
      realise: whether new units gain at once, where the function need not be kept.
      width, depth: how units and layers are searched for.
      activate, leave: probabilities a step that a standing proposal comes into use, and that a unit
        leaves; `redraw` that of new weights in an epoch.
    """

    threshold: float
    stop: float
    noise: float
    price: float = 0.0
    patience: int | None = None
    samples: int = 8192
    held_out: bool = True
    bias_removed: bool = True
    realise: bool = False
    width: WidthSearch = WidthSearch("closed_form", 256, 16, 10, 24, 0.1, 10.0)
    initial_coefficients: bool = False
    depth: DepthSearch = DepthSearch("closed_form", 16, 4, 60, 0.1, 10.0, 0.01)
    layer_cost: float = 1.0
    singular_floor: float = 0.05
    weights: Literal["score", "random"] = "score"
    activate: float = 0.0
    leave: float = 0.0
    redraw: float = 0.0
    bud_factor: float = 1.0

    def cost(self, kind: str) -> float:
        """What the scores and gains of additions of a kind, `width` or `depth`, are divided by."""
        return self.layer_cost if kind == "depth" else 1.0


def limits_of(spec: Spec) -> Limits:
    """The limits that `spec` gives, whatever its policy."""
    growth = spec.growth
    if growth is None:
        raise ValueError("nothing grows")
    prune = growth.prune
    in_use, more = kind_named(spec.network.kind).crowding(spec)
    return Limits(
        max_hidden=growth.max_hidden,
        max_parameters=growth.max_parameters,
        per_round=growth.width.per_round,
        max_width=growth.width.max_width,
        max_layers=growth.depth.max_layers,
        per_block=growth.depth.per_block,
        widens=growth.width.enabled,
        deepens=growth.depth.enabled,
        prune=PruneSettings(prune.min_width, prune.per_round) if prune.enabled else None,
        in_use=in_use,
        growth=more,
    )


def settings_of(spec: Spec) -> Settings:
    """The options that `spec` gives; nothing that no member of its union has is read."""
    growth = spec.growth
    if not isinstance(growth, ScoredSpec):
        raise ValueError("nothing grows by scores")
    found = Settings(
        threshold=growth.threshold,
        stop=growth.stop,
        noise=growth.noise,
        price=growth.price if growth.accept == "paid" else 0.0,
        weights="random" if growth.policy == "random" else "score",
        **vars(limits_of(spec)),
    )
    if isinstance(growth, SearchSpec):
        return replace(
            found,
            patience=growth.patience if growth.accept == "paid" else None,
            samples=growth.samples,
            bias_removed=growth.bias_removed,
            held_out=growth.score_on == "held_out",
            realise=growth.realise,
            width=_width(growth.width),
            initial_coefficients=growth.width.coefficients == "initial",
            depth=_depth(growth.depth),
            layer_cost=growth.depth.layer_cost,
            singular_floor=growth.depth.singular_floor,
        )
    dormant = growth.dormant
    return replace(
        found,
        activate=dormant.activate,
        leave=dormant.prune,
        redraw=dormant.redraw,
        bud_factor=dormant.bud_factor,
    )


def _width(spec: WidthSearchSpec) -> WidthSearch:
    return WidthSearch(
        method=spec.method,
        proposals=spec.proposals,
        polished=min(spec.polished, spec.proposals),
        steps=spec.steps,
        rank=spec.rank,
        learning_rate=spec.learning_rate,
        temperature=spec.temperature,
    )


def _depth(spec: DepthSearchSpec) -> DepthSearch:
    return DepthSearch(
        method=spec.method,
        proposals=spec.proposals,
        polished=min(spec.polished, spec.proposals),
        steps=spec.steps,
        learning_rate=spec.learning_rate,
        temperature=spec.temperature,
        log_determinant=spec.log_determinant,
    )
