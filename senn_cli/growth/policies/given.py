"""What policies share whose times and places are given: which layers, how many units, a flat loss.

No JAX.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from senn_cli.growth.edits import AddUnits
from senn_cli.growth.policy import Decision, Kept, Policy, Round, View
from senn_cli.growth.settings import Limits
from senn_cli.nets.architecture import initial_gain
from senn_cli.nets.draws import draw_units
from senn_cli.nets.features import Architecture, hidden_feature, readers, used_units, writer
from senn_cli.randomness import numpy_generator
from senn_cli.spec.duration import Duration

A = TypeVar("A", bound=Architecture)


NOWHERE = "no layer may get a neuron: a limit forbids it"
"""The reason where limits forbid all places."""


@dataclass(frozen=True)
class Places:
    """Which hidden layers get units in a round, and how many.

    Attributes:
      limits: how far anything may grow.
      layers: their numbers; None for all.
    """

    limits: Limits
    layers: tuple[int, ...] | None

    def of(self, architecture: Architecture) -> list[tuple[int, int]]:
        """The layers, the last one first, each with how many units it gets.

        The narrowest gets the next unit, of several the first. Edits in that order can be decided
        at once: none changes the rows that input weights of one behind it are for.
        """
        grown, counts = architecture, Counter[int]()
        there = range(len(grown.hidden)) if self.layers is None else self.layers
        while self.limits.exhausted(grown, counts.total()) is None:
            order = sorted(there, key=lambda n: (grown.widths[n], n))
            after = {n: wider(grown, n) for n in order}
            found = next((n for n in order if self.limits.allows(grown, after[n])), None)
            if found is None:
                break
            counts[found] += 1
            grown = after[found]
        return sorted(counts.items(), reverse=True)


class Given(Policy):
    """A policy whose places are given: nothing is decided where its limits leave no room.

    Attributes:
      places: which layers get units, and how many.
    """

    places: Places

    def decide(self, view: View) -> Round:
        """What is `due`, where a limit leaves room; else which one does not."""
        reason = self.places.limits.exhausted(view.architecture, view.added)
        return self.due(view) if reason is None else Round((Decision(None, reason),))

    @abstractmethod
    def due(self, view: View) -> Round:
        """The decisions of a round."""


class Widening(Given):
    """One that decides for every layer that gets units, and for nothing else."""

    def due(self, view: View) -> Round:
        """A decision a layer, the last one first; else that no place is left."""
        found = self.places.of(view.architecture)
        decisions = tuple(self.units(view, layer, count) for layer, count in found)
        return Round(decisions or (Decision(None, NOWHERE),))

    @abstractmethod
    def units(self, view: View, layer: int, count: int) -> Decision:
        """At most `count` units of a hidden layer; or why none comes."""


def wider(architecture: A, index: int) -> A:
    """The architecture with one more unit in a hidden layer."""
    layer = architecture.hidden[index]
    width = layer.width + 1
    return architecture.with_layer(index, width=width, capacity=max(width, layer.capacity))


class InLayer(Protocol):
    """A unit that could come, in a hidden layer."""

    @property
    def layer(self) -> int:
        """The layer's number."""


U = TypeVar("U", bound=InLayer)


def taken(limits: Limits, architecture: Architecture, ranked: Iterable[U]) -> list[U]:
    """Those that the limits allow, one after the other."""
    best = list[U]()
    for one in ranked:
        if limits.exhausted(architecture, len(best)) is not None:
            break
        after = wider(architecture, one.layer)
        if limits.allows(architecture, after):
            architecture = after
            best.append(one)
    return best


def fresh(view: View, layer: int, count: int, scale: float, purpose: str) -> AddUnits:
    """`count` units for a hidden layer, of weights from the initial distribution times `scale`.

    Both those that they read by and those that they are read by; coefficients as they are drawn.
    """
    architecture = view.architecture
    feature, used = hidden_feature(architecture, layer), used_units(architecture)
    m = writer(architecture, feature.name)
    units = range(feature.width, feature.width + count)
    drawn = draw_units(m, used, units, view.seed, purpose, view.step)
    outgoing = {}
    for reader, source in readers(architecture, feature.name):
        groups = source.size * max(reader.taps, 1)
        rng = numpy_generator(view.seed, f"{purpose} {reader.name}", view.step)
        n = reader.rows_used - reader.bias + count * groups
        gain = scale * initial_gain(reader.target.activation or "identity") / np.sqrt(n)
        weights = gain * rng.standard_normal((count, groups, reader.target.width))
        outgoing[reader.name] = weights.astype(np.float32)
    return AddUnits(layer, scale * drawn.weights, drawn.coefficients, outgoing)


@dataclass(frozen=True)
class Flatness:
    """Whether a loss has come to rest.

    Attributes:
      flat: whether it has.
      reason: in words.
      kept: the losses that later rounds need; of an addition now, `since` it.
      since: the loss now alone, for a round that adds something.
    """

    flat: bool
    reason: str
    kept: Kept
    since: Kept


def flatness(kept: Kept, step: int, loss: float, window: int, share: float) -> Flatness:
    """Ash's criterion: (E_{t-w} - E_t) / E_{t0} < share, and t - t0 >= w.

    Args:
      kept: losses E of earlier rounds with their steps, from that of the last addition t0 on; at
        the beginning from the first round on.
      window: w, in steps. E_{t-w} is of the last round that is as long ago.
    """
    now = (step, loss)
    first, start = kept[0] if kept else now
    old = [row for row in kept if row[0] <= step - window]
    later = [row for row in kept[1:] if not old or row[0] >= old[-1][0]]
    known: Kept = (*kept[:1], *later, now)
    if not old:
        reason = f"{step - first} of the {window} steps that the loss is given after an addition"
        return Flatness(False, reason, known, (now,))
    fall = (old[-1][1] - loss) / start if start > 0 else np.inf
    told = (
        f"in {step - old[-1][0]} steps the loss fell by {fall:.3g} of what it was at step {first}"
    )
    if fall < share:
        return Flatness(True, f"{told}, less than {share:g}", known, (now,))
    return Flatness(False, f"{told}, {share:g} at least", known, (now,))


@dataclass(frozen=True)
class Resting:
    """When a loss has come to rest; see `flatness`.

    Attributes:
      window: w; share: what the fall is compared with.
    """

    window: Duration
    share: float

    def of(self, view: View, loss: float) -> Flatness:
        """Whether it has, where it is `loss` now."""
        return flatness(
            view.kept, view.step, loss, self.window.in_steps(view.per_epoch), self.share
        )
