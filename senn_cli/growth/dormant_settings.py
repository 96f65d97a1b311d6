"""The options of dormant proposals in a DenseNet, and the limits that they set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from senn_cli.nets.densenet import DenseArchitecture
from senn_cli.spec import Spec
from senn_cli.spec.expansion import StandingSpec
from senn_cli.spec.network import DenseNetSpec


@dataclass(frozen=True)
class DormantSettings:
    """Options of the policy; the spec's sections `expansion` and `network.capacity` say each.

    Probabilities are those of a single step, `redraw` that of an epoch. `width`, `depth` and
    `prune` switch the three kinds of change on.
    """

    threshold: float
    stop: float
    noise: float
    activate: float
    prune: float
    redraw: float
    bud_factor: float
    width: bool
    depth: bool
    min_width: int
    max_width: int | None
    max_hidden: int | None
    max_parameters: int | None
    max_layers: int | None
    per_block: int | None
    per_round: int | None
    pruned_per_round: int | None
    in_use: float
    growth: float

    def room(self, width: int, capacity: int) -> int:
        """The capacity for `width` channels: more while it is full, or used beyond `in_use`."""
        most = self.max_width
        while (width > self.in_use * capacity or width >= capacity) and (
            most is None or capacity < most
        ):
            capacity = max(capacity + 1, int(np.ceil(capacity * (1.0 + self.growth))))
            capacity = capacity if most is None else min(capacity, max(most, width))
        return capacity

    def enlarged(self, architecture: DenseArchitecture) -> DenseArchitecture:
        """The architecture with room in every layer."""
        if self.width:
            for index, layer in enumerate(architecture.hidden):
                room = self.room(layer.width, layer.capacity)
                architecture = architecture.with_layer(index, capacity=room)
        return architecture

    def allows(self, grown: DenseArchitecture, layer: int) -> bool:
        """Whether `grown`, which one more channel in `layer` would yield, respects all limits."""
        return (
            (self.max_width is None or grown.hidden[layer].width <= self.max_width)
            and (self.max_hidden is None or sum(grown.widths) <= self.max_hidden)
            and (self.max_parameters is None or grown.parameters <= self.max_parameters)
        )

    def allows_layer(self, architecture: DenseArchitecture, layer: int) -> bool:
        """Whether the bud before `layer` may become a layer."""
        block, _ = architecture.place(layer)
        width = sum(architecture.widths) + architecture.bud
        return (
            (self.per_block is None or len(architecture.blocks[block]) < self.per_block)
            and (self.max_layers is None or len(architecture.hidden) < self.max_layers)
            and (self.max_width is None or architecture.bud <= self.max_width)
            and (self.max_hidden is None or width <= self.max_hidden)
        )


def settings_of(spec: Spec) -> DormantSettings:
    """The options that `spec` gives, for a DenseNet."""
    expansion, network = spec.expansion, spec.network
    assert isinstance(network, DenseNetSpec) and isinstance(expansion, StandingSpec)
    dormant, prune = expansion.dormant, expansion.prune
    return DormantSettings(
        threshold=expansion.threshold,
        stop=expansion.stop,
        noise=expansion.noise,
        activate=dormant.activate,
        prune=dormant.prune if prune.enabled else 0.0,
        redraw=dormant.redraw,
        bud_factor=dormant.bud_factor,
        width=expansion.width.enabled,
        depth=expansion.depth.enabled,
        min_width=prune.min_width,
        max_width=expansion.width.max_width,
        max_hidden=expansion.max_hidden,
        max_parameters=expansion.max_parameters,
        max_layers=expansion.depth.max_layers,
        per_block=expansion.depth.per_block,
        per_round=expansion.width.per_round,
        pruned_per_round=prune.per_round,
        in_use=network.capacity.in_use,
        growth=network.capacity.growth,
    )
