"""The control `random`: what it adds where the score says when and where, not what."""

from __future__ import annotations

import numpy as np

from senn_cli.growth.objective import Neurons
from senn_cli.growth.policy import View
from senn_cli.growth.settings import Settings
from senn_cli.nets.mlp import draw_neurons
from senn_cli.randomness import numpy_generator
from senn_cli.spec.activation import Activation


def as_proposed(settings: Settings) -> bool:
    """Whether units are added as they were proposed."""
    return settings.weights == "score" and not settings.initial_coefficients


def drawn_unit(
    settings: Settings,
    view: View,
    place: tuple[int, int],
    n_in: int,
    activation: Activation,
    proposed: Neurons,
) -> Neurons:
    """Weights and coefficients with what the settings want from the initial distribution.

    Args:
      place: the hidden layer and the number that the unit gets.
      n_in: inputs in use of the map that yields it.
      proposed: weights `(1 + n,)`, the bias first, and coefficients `(3,)`.
    """
    layer, number = place
    rng = numpy_generator(view.seed, f"random {layer} {number}", view.step)
    kernel, bias, drawn = draw_neurons(rng, n_in, 1, activation)
    weights, coefficients = proposed
    if drawn is not None:
        coefficients = drawn[:, 0]
    if settings.weights == "random":
        weights = np.zeros_like(weights)
        weights[0], weights[1 : 1 + n_in] = bias[0], kernel[:, 0]
    return Neurons(weights, coefficients)


def drawn_layer(view: View, q: int) -> tuple[np.ndarray, np.ndarray]:
    """Kernel `(q, q)` and bias of a new layer."""
    rng = numpy_generator(view.seed, "random layer", view.step)
    kernel, bias, _ = draw_neurons(rng, q, q, "rational")
    return kernel, bias
