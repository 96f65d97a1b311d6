"""The architecture of a network as plain, hashable data: the single source of all shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

Activation = Literal["rational", "silu", "tanh"]
ACTIVATIONS: tuple[str, ...] = get_args(Activation)


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


@dataclass(frozen=True)
class Architecture:
    """A fully connected network: `inputs` -> hidden layers -> `outputs`.

    Map `l` (a linear map with bias) reads layer `l - 1` (map 0 the inputs) and feeds hidden layer
    `l`; the last map feeds the outputs. Hidden layers are counted from 0.
    """

    inputs: int
    outputs: int
    hidden: tuple[Layer, ...] = ()
    kind: str = "mlp"

    @property
    def widths(self) -> tuple[int, ...]:
        """Neurons in use, a hidden layer each."""
        return tuple(layer.width for layer in self.hidden)

    @property
    def capacities(self) -> tuple[int, ...]:
        """Neurons allocated, a hidden layer each."""
        return tuple(layer.capacity for layer in self.hidden)

    @property
    def maps(self) -> int:
        """The number of linear maps."""
        return len(self.hidden) + 1

    def map_width(self, index: int) -> tuple[int, int]:
        """Inputs and outputs in use of map `index`, the bias not counted."""
        sizes = (self.inputs, *self.widths, self.outputs)
        return sizes[index], sizes[index + 1]

    def map_capacity(self, index: int) -> tuple[int, int]:
        """Inputs and outputs allocated of map `index`, the bias not counted."""
        sizes = (self.inputs, *self.capacities, self.outputs)
        return sizes[index], sizes[index + 1]

    @property
    def parameters(self) -> int:
        """Parameters in use: kernels, biases and the coefficients of rational activations."""
        total = 0
        for index in range(self.maps):
            n_in, n_out = self.map_width(index)
            total += (n_in + 1) * n_out
        return total + sum(3 * h.width for h in self.hidden if h.activation == "rational")

    def shape(self) -> Architecture:
        """The architecture with every neuron in use: the static key of compiled functions.

        Two architectures of equal shape share all compiled code; which neurons are in use is data.
        """
        return replace(self, hidden=tuple(replace(h, width=h.capacity) for h in self.hidden))

    def compact(self) -> Architecture:
        """The architecture without spare capacity."""
        return replace(self, hidden=tuple(replace(h, capacity=h.width) for h in self.hidden))

    def with_layer(self, index: int, **changes: Any) -> Architecture:
        """The architecture with fields of hidden layer `index` changed."""
        hidden = list(self.hidden)
        hidden[index] = replace(hidden[index], **changes)
        return replace(self, hidden=tuple(hidden))

    def to_json(self) -> dict[str, Any]:
        """A mapping of plain values, read back by `from_json`."""
        hidden = [
            {"width": h.width, "capacity": h.capacity, "activation": h.activation}
            for h in self.hidden
        ]
        return {
            "kind": self.kind,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "hidden": hidden,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Architecture:
        """The architecture that `to_json` described; ValueError or KeyError if it is none."""
        try:
            hidden = tuple(Layer(**layer) for layer in value["hidden"])
        except TypeError as error:
            raise ValueError(f"not a hidden layer: {error}") from error
        return cls(int(value["inputs"]), int(value["outputs"]), hidden, str(value["kind"]))


def next_capacity(width: int, capacity: int, *, multiple: int, growth: float) -> int:
    """The capacity for `width` neurons where `capacity` no longer suffices.

    At least `growth` (a share) more than before, rounded up to a multiple, so that a run compiles
    O(log width) times.
    """
    wanted = max(width, int(capacity * (1 + growth))) if width > capacity else capacity
    return -(-wanted // multiple) * multiple
