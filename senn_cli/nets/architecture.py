"""The architecture of a network as plain, hashable data: the single source of all shapes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import get_args

from senn_cli.spec.activation import Activation, Plain

PLAIN: tuple[str, ...] = get_args(Plain)
ACTIVATIONS: tuple[str, ...] = ("rational", *PLAIN)

SLOPE = 0.01
"""What `leaky_relu` leaves of negative values."""


def initial_gain(activation: Activation) -> float:
    """By how much initial weights are larger than LeCun normal ones.

    Of rectifiers, which silence half of what they read, so that the second moment of activations is
    that of the layer before (He et al., 2015); 1 for others.
    """
    if activation in ("relu", "gelu"):
        return math.sqrt(2.0)
    return math.sqrt(2.0 / (1.0 + SLOPE**2)) if activation == "leaky_relu" else 1.0


@dataclass(frozen=True)
class Layer:
    """A hidden layer.

    Attributes:
      width: neurons in use; they are the first `width` of the `capacity` neurons.
      capacity: neurons that the arrays have room for.
      activation: its nonlinearity.
    """

    width: int
    capacity: int
    activation: Activation

    def __post_init__(self) -> None:
        if not 1 <= self.width <= self.capacity:
            raise ValueError(f"need 1 <= width <= capacity, got {self.width} and {self.capacity}")
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"unknown activation {self.activation!r}, expected {ACTIVATIONS}")


def next_capacity(width: int, capacity: int, *, multiple: int, growth: float) -> int:
    """The capacity for `width` neurons where `capacity` no longer suffices.

    At least `growth` (a share) more than before, rounded up to a multiple, so that a run compiles
    O(log width) times.
    """
    wanted = max(width, int(capacity * (1 + growth))) if width > capacity else capacity
    return -(-wanted // multiple) * multiple


@dataclass(frozen=True)
class CapacityRule:
    """How much room a layer gets: multiples of `multiple`, `growth` (a share) more each time.

    Attributes:
      together: whether all layers have the same room, so that places for more layers can be kept
        (`nets/slots.py`).
    """

    multiple: int
    growth: float
    together: bool = False

    def room(self, width: int, capacity: int = 0) -> int:
        """The capacity for `width` neurons, where `capacity` is there already."""
        return next_capacity(width, capacity, multiple=self.multiple, growth=self.growth)
