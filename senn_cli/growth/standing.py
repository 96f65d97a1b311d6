"""Standing proposals for the layers of a fully connected network, as a function of time alone.

Every hidden layer has a number of slots, each with a proposed neuron of random weights. A slot is
drawn anew with some probability an epoch (as in appendix B). Both the draws and when they happen
follow from (seed, layer, slot, epoch) and from the widths of the layer and of what it reads, so
there is nothing to save: a resumed run has the proposals of one that was never stopped. A width
that changes redraws a layer's slots, the one too whose neuron is in use now.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from senn_cli.growth.objective import Neurons
from senn_cli.growth.policies.dormant_round import within
from senn_cli.growth.policy import View
from senn_cli.nets.mlp import MlpArchitecture, draw_neurons
from senn_cli.randomness import numpy_generator


@dataclass(frozen=True)
class StandingSettings:
    """Options of standing proposals.

    Attributes:
      neurons: slots of every hidden layer.
      activate: probability a step that a proposal which passes the threshold is taken into use.
      prune: probability a step that a neuron whose removal costs less than it is taken out.
      redraw: probability an epoch that a slot gets a new proposal.
    """

    neurons: int
    activate: float
    prune: float
    redraw: float


def last_redraws(seed: int, layer: int, slots: int, epoch: int, probability: float) -> np.ndarray:
    """The epoch of every slot's newest redraw up to `epoch`, int `(slots,)`; 0 before any."""
    newest = np.zeros(slots, np.int64)
    if probability == 0:
        return newest
    for earlier in range(epoch, 0, -1):
        rng = numpy_generator(seed, f"dormant redraw {layer}", earlier)
        newest = np.where((newest == 0) & (rng.random(slots) < probability), earlier, newest)
        if newest.all():
            break
    return newest


def standing(
    settings: StandingSettings, architecture: MlpArchitecture, seed: int, layer: int, epoch: int
) -> Neurons:
    """The proposals of hidden layer `layer` in `epoch`, from the initial distribution.

    Returns:
      NumPy arrays: weights `(slots, 1 + n_in)` over the inputs in use, the bias first;
      coefficients `(slots, 3)`, zero where the activation has none.
    """
    n_in, width = architecture.map_width(layer)
    activation = architecture.hidden[layer].activation
    weights = np.zeros((settings.neurons, 1 + n_in), np.float32)
    coefficients = np.zeros((settings.neurons, 3), np.float32)
    newest = last_redraws(seed, layer, settings.neurons, epoch, settings.redraw)
    for slot, drawn_in in enumerate(newest):
        purpose = f"dormant {layer} {slot} of {n_in} {width}"
        rng = numpy_generator(seed, purpose, int(drawn_in))
        kernel, bias, drawn = draw_neurons(rng, n_in, 1, activation)
        weights[slot, 0], weights[slot, 1:] = bias[0], kernel[:, 0]
        if drawn is not None:
            coefficients[slot] = drawn[:, 0]
    return Neurons(weights, coefficients)


class Dice(NamedTuple):
    """Who may change in a round, by chance alone; a function of (seed, layer, step).

    Attributes:
      activate: bool `(slots,)` a hidden layer.
      prune: bool `(width,)` a hidden layer.
    """

    activate: list[np.ndarray]
    prune: list[np.ndarray]

    @classmethod
    def thrown(cls, settings: StandingSettings, view: View, *, prunes: bool) -> Dice:
        """The dice of the round that `view` is of."""

        def chosen(purpose: str, layer: int, count: int, probability: float) -> np.ndarray:
            rng = numpy_generator(view.seed, f"dormant {purpose} {layer}", view.step)
            found: np.ndarray = rng.random(count) < within(probability, view.every)
            return found

        leave = settings.prune if prunes else 0.0
        widths = list(enumerate(view.architecture.widths))
        return cls(
            [chosen("activate", i, settings.neurons, settings.activate) for i, _ in widths],
            [chosen("prune", i, width, leave) for i, width in widths],
        )
