"""The options of the `senn` policy, and the limits that they set to growth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from senn_cli.growth.removal import PruneSettings
from senn_cli.growth.search import DepthSearch, WidthSearch
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.words import plural


@dataclass(frozen=True)
class SennSettings:
    """Options of the policy; the spec's `expansion` section describes each.

    Attributes:
      price: nats that the gain over all training examples must bring for every parameter added.
      weights: `score` for the proposals' own weights, `random` for draws from the initial
        distribution at the same times and sites (the control).
      prune: limits to pruning, None for none at all.
    """

    threshold: float
    stop: float
    noise: float
    samples: int
    held_out: bool
    bias_removed: bool
    max_hidden: int | None
    max_parameters: int | None
    width: WidthSearch | None
    per_round: int | None
    max_width: int | None
    initial_coefficients: bool
    depth: DepthSearch | None
    layer_cost: float
    max_layers: int | None
    singular_floor: float
    weights: Literal["score", "random"] = "score"
    prune: PruneSettings | None = None
    price: float = 0.0

    def exhausted(self, architecture: MlpArchitecture, added: int) -> str | None:
        """Why nothing at all may be added, `added` neurons into a round, if so."""
        width = sum(architecture.widths)
        if self.max_hidden is not None and width >= self.max_hidden:
            return f"max_hidden: {plural(width, 'hidden neuron')} of at most {self.max_hidden}"
        if self.max_parameters is not None and architecture.parameters >= self.max_parameters:
            return f"max_parameters: {architecture.parameters} of at most {self.max_parameters}"
        if self.per_round is not None and added >= self.per_round:
            return f"per_round: {plural(added, 'neuron')} added in this round"
        return None

    def allows(self, before: MlpArchitecture, after: MlpArchitecture) -> bool:
        """Whether `after`, which one addition to `before` would yield, respects all limits."""
        grown = len(after.hidden) > len(before.hidden)
        return (
            (self.max_hidden is None or sum(after.widths) <= self.max_hidden)
            and (self.max_parameters is None or after.parameters <= self.max_parameters)
            and (self.max_layers is None or not grown or len(after.hidden) <= self.max_layers)
            and (
                self.max_width is None
                or max(after.widths) <= max(self.max_width, *before.widths, 0)
            )
        )
