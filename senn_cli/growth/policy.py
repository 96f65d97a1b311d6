"""The interface between the training loop and whatever decides on growth.

The loop asks a policy for a round at the times that the spec names, applies the edits of its
decisions in order and writes every decision down. It knows nothing else about policies. Where
capacity comes is ingredient 3 of the paper, when it comes section 3.3 and ingredient 4.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

import jax
import numpy as np

from senn_cli.curvature.tracking import Tracked
from senn_cli.engine.arrays import Arrays
from senn_cli.engine.feed import Data
from senn_cli.growth.edits import Edit
from senn_cli.nets.architecture import Layer
from senn_cli.nets.features import Architecture, Feature, Map, feature_named, map_named, readers
from senn_cli.nets.registry import Parameters, kind_of

A = TypeVar("A", bound=Architecture)
Kept: TypeAlias = tuple[tuple[int, float], ...]
"""What rounds keep for later ones, part of every checkpoint: steps, each with a number."""


@dataclass(frozen=True)
class Site:
    """A place where capacity can be added.

    Attributes:
      kind: `width`, a hidden layer that gets units; `depth`, a bud that becomes a layer, or a map
        that gets a layer within.
      index: of the hidden layer; for depth the number that the new one gets.
      at: the name of the feature (a layer, a bud) or of the map.
      name: for people.
      side: of a map, whether the layer comes before or behind it: on its narrower side.
    """

    kind: Literal["width", "depth"]
    index: int
    at: str
    name: str
    side: Literal["inputs", "outputs"] | None = None

    @classmethod
    def of(cls, feature: Feature) -> Site:
        """A hidden layer that can be widened, or a bud."""
        kind: Literal["width", "depth"] = "depth" if feature.role == "bud" else "width"
        return cls(kind, feature.index, feature.name, feature.site)

    @classmethod
    def within(cls, m: Map, index: int) -> Site:
        """A map that a layer, number `index`, can be put into."""
        n_in, n_out = m.rows_used - m.bias, m.target.width
        side: Literal["inputs", "outputs"] = "inputs" if n_in <= n_out else "outputs"
        return cls("depth", index, m.name, f"map {index}", side)

    def __str__(self) -> str:
        return self.name

    def targets(self, architecture: Architecture) -> tuple[Map, ...]:
        """The maps in use whose score an addition raises: those that read what is added."""
        if self.side is not None:
            return (map_named(architecture, self.at),)
        return tuple(m for m, _ in readers(architecture, self.at) if m.target.role != "bud")

    def after(self, architecture: A) -> A:
        """The architecture after one addition here, without spare capacity for it."""
        if self.kind == "width":
            layer = architecture.hidden[self.index]
            width = layer.width + 1
            capacity = max(width, layer.capacity)
            return architecture.with_layer(self.index, width=width, capacity=capacity)
        if self.side is None:
            bud = feature_named(architecture, self.at)
            assert bud.activation is not None
            layer = Layer(bud.capacity, bud.capacity, bud.activation)
        else:
            m = map_named(architecture, self.at)
            q = m.rows_used - m.bias if self.side == "inputs" else m.target.width
            layer = Layer(q, q, "rational")  # the only ones that can be the identity
        return architecture.with_inserted(self.index, layer)


def sites(architecture: Architecture, *, width: bool, depth: bool) -> tuple[Site, ...]:
    """All sites: hidden layers for units; for layers the buds, and maps that can be taken apart."""
    roles = {"hidden"} if width else set()
    roles |= {"bud"} if depth else set()
    found = [Site.of(f) for f in architecture.features if f.role in roles]
    if depth:
        within = kind_of(architecture).divisible(architecture)
        found += [Site.within(m, index) for index, m in within]
    return tuple(found)


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
      parameters: how many the addition brings, of input weights those that data determine; 0 where
        they have no price.
      gain: what the addition promises over all N training examples, in nats of their likelihood:
        N Delta eta / 2, of a layer divided by the layer cost, but no more than is left of the
        loss; 0 where parameters have no price.
      passes: whether it passes tau and alpha, rises above its noise and pays for its parameters.
      factor: how many times tau and alpha it has to pass.
      weights: input weights of a proposed neuron, the bias first, where it reads one or two
        inputs alone; else None.
    """

    site: Site
    delta_eta: float
    delta_eta_lower: float
    bias: float
    eta: float
    score: float
    ratio: float
    passes: bool
    weights: tuple[float, ...] | None = None
    parameters: float = 0.0
    gain: float = 0.0
    factor: float = 1.0

    def to_json(self) -> dict[str, Any]:
        """Plain values for the history."""
        shown: dict[str, Any] = {}
        if self.weights is not None:
            shown["weights"] = list(self.weights)
        if self.parameters:
            shown |= {"new_parameters": self.parameters, "gain": self.gain}
        if self.site.side is None:
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
      change: the predicted change of the training loss, of an edit that does not keep the function
        and has one; the event then tells what it was, too.
      keeps: whether the edit keeps the function.
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
    keeps: bool = True


@dataclass(frozen=True)
class Round:
    """The decisions of one call, in order.

    Attributes:
      finished: False if the loop shall apply the edits and ask again at once.
      kept: what later rounds find in `View.kept`; None to leave that as it is.
      ended: whether nothing will ever be added again.
    """

    decisions: tuple[Decision, ...]
    finished: bool = True
    kept: Kept | None = None
    ended: bool = False


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
      tracked: what is tracked of the network's curvature; None where nothing is.
      input_spectrum: eigenvalues and eigenvectors of the inputs' second moment, the constant in
        front; None where there are too many inputs.
      sample: the first training examples, as many as their kind of network has looked at for a
        loss.
      loss: the mean loss of the sample, for whoever asks.
      reference: the loss that rounds are judged by, for whoever asks.
      validated: whether that is of a validation part.
      kept: what earlier rounds have kept, as `Round.kept`.
      idle: rounds in a row before this one that have added nothing.
    """

    architecture: Architecture
    params: Parameters
    widths: jax.Array
    data: Data
    seed: int
    step: int
    asked: int
    added: int
    every: int
    per_epoch: int
    layer_allowed: bool
    input_spectrum: tuple[jax.Array, jax.Array] | None
    sample: Arrays | None = None
    tracked: Tracked | None = None
    loss: Callable[[], float] = lambda: math.inf
    reference: Callable[[], float] = lambda: math.inf
    validated: bool = False
    kept: Kept = ()
    idle: int = 0


class Policy(ABC):
    """Answers when, where and what."""

    @abstractmethod
    def decide(self, view: View) -> Round:
        """The next decisions of a round."""

    def compares(self, idle: int) -> bool:
        """Whether a round after `idle` ones that added nothing asks for the reference loss."""
        return False

    def deciding(self, view: View) -> np.ndarray | None:
        """The examples that a round decides on; None where it is no sample of dense networks."""
        return None

    def upcoming(self, architecture: Architecture) -> Architecture | None:
        """The architecture that the next round will make room for; None where nobody can tell."""
        return None

    def expect(self, view: View) -> list[Callable[[], None]]:
        """What compiles the programs of a round in another thread, where it is known.

        Args:
          view: of the round to come; of the network shapes alone are there, and its loss is one
            that it will hardly exceed.
        """
        return []

    def eta(
        self, shape: Architecture, tracked: Tracked, params: Parameters, widths: jax.Array
    ) -> float | None:
        """The network's score g^T F^-1 g by what is tracked of it; None where it knows none."""
        return None
