"""The interface between the training loop and whatever decides on growth.

The loop asks a policy for a round at the times that the spec names, applies the edits of its
decisions in order and writes every decision down. It knows nothing else about policies.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import jax

from senn_cli.curvature.tracking import Tracked
from senn_cli.engine.arrays import Arrays
from senn_cli.growth.edits import Edit
from senn_cli.nets.features import Architecture
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.nets.registry import Parameters


@dataclass(frozen=True)
class Site:
    """A place where capacity can be added.

    Attributes:
      kind: `width`, a hidden layer that gets neurons; `depth`, a map that gets a layer within.
      index: of the hidden layer, or of the map.
      side: for depth, whether the layer comes before the map or behind it: on its narrower side.
    """

    kind: Literal["width", "depth"]
    index: int
    side: Literal["inputs", "outputs"] | None = None

    @property
    def target(self) -> int:
        """The map whose score the addition raises."""
        return self.index + 1 if self.kind == "width" else self.index

    def __str__(self) -> str:
        return f"layer {self.index}" if self.kind == "width" else f"map {self.index}"


@dataclass(frozen=True)
class Place:
    """A place of a DenseNet where capacity can be added.

    Attributes:
      kind: `width`, a hidden layer that gets channels; `depth`, a bud that becomes a layer.
      index: the hidden layer, or that behind the bud, counted over all blocks.
      name: for people: `block 0 layer 1`, `block 0 bud 1`.
    """

    kind: Literal["width", "depth"]
    index: int
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Candidate:
    """The best proposal at one site, and how it did.

    Attributes:
      delta_eta: Delta eta by the Schur complement, bias removed if the spec says so.
      delta_eta_lower: Delta eta', the lower bound of Theorem 2.
      bias: the upward bias of the finite sample in Delta eta.
      eta: eta_c, the present score of the site's target map.
      score: Delta eta, for a layer divided by the layer cost: what competes.
      ratio: score / eta_c, what tau is compared with; infinite (null in the history) where
        eta_c is 0.
      parameters: how many the addition brings; 0 where they have no price.
      gain: what the addition promises over all N training examples, in nats of their likelihood:
        N Delta eta / 2, of a layer divided by the layer cost, but no more than is left of the
        loss; 0 where parameters have no price.
      passes: whether it passes tau and alpha, rises above its noise and pays for its parameters.
      weights: input weights of a proposed neuron, the bias first, where it reads one or two
        inputs alone; else None.
    """

    site: Site | Place
    delta_eta: float
    delta_eta_lower: float
    bias: float
    eta: float
    score: float
    ratio: float
    passes: bool
    weights: tuple[float, ...] | None = None
    parameters: int = 0
    gain: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain values for the history."""
        shown: dict[str, Any] = {}
        if self.weights is not None:
            shown["weights"] = list(self.weights)
        if self.parameters:
            shown |= {"new_parameters": self.parameters, "gain": self.gain}
        if isinstance(self.site, Place):
            shown["layer"] = self.site.index
        return shown | {
            "kind": self.site.kind,
            "site": str(self.site),
            "delta_eta": self.delta_eta,
            "delta_eta_lower": self.delta_eta_lower,
            "bias": self.bias,
            "eta": self.eta,
            "score": self.score,
            "ratio": self.ratio if math.isfinite(self.ratio) else None,
            "passes": self.passes,
        }


@dataclass(frozen=True)
class Decision:
    """One decision: an accepted edit, or the reason why nothing was added.

    Attributes:
      edit: what to do; None for a rejection.
      reason: in words.
      candidates: the best proposal of every site, the chosen one first.
      threshold, stop: tau and alpha that they were compared with.
      loss: mean training loss over the deciding sample.
      bound: lambda of the chosen site's map, which eta cannot exceed.
      change: the predicted change of the training loss by a pruning; None for other edits.
      seconds: how long finding and scoring took.
    """

    edit: Edit | None
    reason: str
    candidates: tuple[Candidate, ...] = ()
    threshold: float | None = None
    stop: float | None = None
    loss: float | None = None
    bound: float | None = None
    change: float | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Round:
    """The decisions of one call, in order.

    Attributes:
      finished: False if the loop shall apply the edits and ask again at once.
    """

    decisions: tuple[Decision, ...]
    finished: bool = True


@dataclass(frozen=True)
class View:
    """What a policy may look at.

    Attributes:
      architecture, params, widths: the network; `widths` on the device.
      data: the training part.
      seed, step, asked: where the randomness of this call comes from; `asked` counts the calls of
        this round.
      added: neurons added in this round by earlier calls.
      every: steps between two rounds; per_epoch: steps in an epoch.
      layer_allowed: whether the cooldown between layers has passed.
      tracked: what is tracked of a DenseNet's curvature; None of other networks.
      input_spectrum: eigenvalues and eigenvectors of the inputs' second moment, the constant in
        front; None where there are too many inputs.
    """

    architecture: Any
    params: Parameters
    widths: jax.Array
    data: Arrays
    seed: int
    step: int
    asked: int
    added: int
    every: int
    per_epoch: int
    layer_allowed: bool
    input_spectrum: tuple[jax.Array, jax.Array] | None
    tracked: Tracked | None = None


class Policy(ABC):
    """Answers when, where and what."""

    @abstractmethod
    def decide(self, view: View) -> Round:
        """The next decisions of a round."""

    def upcoming(self, architecture: Architecture) -> Architecture | None:
        """The architecture that the next round will make room for; None where nobody can tell."""
        return None

    def expect(self, *network: Any) -> list[Callable[[], None]]:
        """What compiles the policy's programs for a network in another thread.

        Args:
          network: its shape, what is tracked of it, its parameters and widths; shapes alone.
        """
        return []

    def eta(
        self, shape: Architecture, tracked: Tracked, params: Parameters, widths: jax.Array
    ) -> float | None:
        """The network's score g^T F^-1 g by what is tracked of it; None where it knows none."""
        return None


class NoGrowth(Policy):
    """The policy `none`: a fixed architecture, the static control."""

    def decide(self, view: View) -> Round:
        """Nothing, and nothing to record."""
        return Round(())


def sites(architecture: MlpArchitecture, *, width: bool, depth: bool) -> tuple[Site, ...]:
    """All sites: every hidden layer for neurons, every map for a layer on its narrower side."""
    result = [Site("width", i) for i in range(len(architecture.hidden))] if width else []
    if depth:
        for index in range(len(architecture.maps)):
            n_in, n_out = architecture.map_width(index)
            result.append(Site("depth", index, "inputs" if n_in <= n_out else "outputs"))
    return tuple(result)
