"""Fully connected networks: the architecture as plain, hashable data, and initial weights.

Initial weights are a function of the seed and of the widths in use, never of the capacity. Neurons
that are not in use are empty, or dormant proposals of drawn input weights. No JAX.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from senn_cli.nets.architecture import CapacityRule, Layer, initial_gain
from senn_cli.nets.draws import draw_units
from senn_cli.nets.features import ArrayTree, Feature, Map, Source, used_units
from senn_cli.nets.graph import written
from senn_cli.nets.leaves import joined, split
from senn_cli.nets.registry import Graph, Kind, Parameters, Shifts, Signals, Used, register
from senn_cli.randomness import numpy_generator
from senn_cli.spec.activation import Activation
from senn_cli.spec.expansion import StandingSpec

if TYPE_CHECKING:
    import jax
    from jax.typing import DTypeLike

    from senn_cli.spec import Spec
    from senn_cli.spec.network import NetworkSpec

AUTO_MULTIPLE = {"cpu": 8, "gpu": 64}
"""What `capacity.multiple: auto` is: small on a CPU, where spare neurons cost time."""

LEAST_SLOTS = 8
"""Hidden layers of the shape that has places for more than there are; it doubles beyond."""


@dataclass(frozen=True)
class MlpArchitecture:
    """A fully connected network: `inputs` -> hidden layers -> `outputs`.

    Map `l` (a linear map with bias) reads layer `l - 1` (map 0 the inputs) and feeds hidden layer
    `l`; the last map feeds the outputs. Hidden layers are counted from 0.

    Attributes:
      spare: what neurons that are not in use are; see `features.Feature`.
      passing: whether a hidden layer behind the first that has no neuron in use passes on what it
        reads, so that how many layers there are is data, too; of shapes alone, `Kind.slotted`.
    """

    inputs: int
    outputs: int
    hidden: tuple[Layer, ...] = ()
    kind: str = "mlp"
    spare: Literal["empty", "dormant"] = "empty"
    passing: bool = False

    def __post_init__(self) -> None:
        if self.spare not in ("empty", "dormant"):
            raise ValueError(f"spare neurons are empty or dormant, got {self.spare!r}")

    @property
    def blocks(self) -> tuple[tuple[Layer, ...], ...]:
        """The hidden layers, which all are one block."""
        return (self.hidden,)

    @property
    def widths(self) -> tuple[int, ...]:
        """Neurons in use, a hidden layer each."""
        return tuple(layer.width for layer in self.hidden)

    @property
    def capacities(self) -> tuple[int, ...]:
        """Neurons allocated, a hidden layer each."""
        return tuple(layer.capacity for layer in self.hidden)

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """The inputs, the hidden layers `layer_0`, ... and the outputs."""
        found = [Feature("inputs", "data", 0, self.inputs, self.inputs, site="inputs")]
        for index, h in enumerate(self.hidden):
            coefficients = f"activation_{index}" if h.activation == "rational" else None
            feature = Feature(
                f"layer_{index}",
                "hidden",
                index,
                width=h.width,
                capacity=h.capacity,
                activation=h.activation,
                spare=self.spare,
                site=f"layer {index}",
                coefficients=coefficients,
                passes=self.passing and index > 0,
            )
            found.append(feature)
        found.append(Feature("outputs", "outputs", 0, self.outputs, self.outputs, site="outputs"))
        return tuple(found)

    @cached_property
    def maps(self) -> tuple[Map, ...]:
        """Every feature but the inputs is yielded by a map that reads the one before."""
        pairs = enumerate(zip(self.features, self.features[1:], strict=False))
        return tuple(Map(f"map_{i}", (Source("kernel", f),), t, True) for i, (f, t) in pairs)

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
        own = sum(3 * h.width for h in self.hidden if h.activation == "rational")
        return sum(m.parameters for m in self.maps) + own

    def shape(self) -> MlpArchitecture:
        """The architecture with every neuron in use: the static key of compiled functions.

        Two architectures of equal shape share all compiled code; which neurons are in use is data.
        """
        return replace(self, hidden=tuple(replace(h, width=h.capacity) for h in self.hidden))

    def compact(self) -> MlpArchitecture:
        """The architecture without spare capacity."""
        return replace(self, hidden=tuple(replace(h, capacity=h.width) for h in self.hidden))

    def without_buds(self) -> MlpArchitecture:
        """The same: there are none."""
        return self

    def with_layer(self, index: int, **changes: Any) -> MlpArchitecture:
        """The architecture with fields of hidden layer `index` changed."""
        hidden = list(self.hidden)
        hidden[index] = replace(hidden[index], **changes)
        return replace(self, hidden=tuple(hidden))

    def with_blocks(self, blocks: Sequence[Sequence[Layer]]) -> MlpArchitecture:
        """The architecture with the layers of its only block."""
        (hidden,) = blocks
        return replace(self, hidden=tuple(hidden))

    def with_inserted(self, index: int, layer: Layer) -> MlpArchitecture:
        """The architecture with `layer` within map `index`."""
        return replace(self, hidden=(*self.hidden[:index], layer, *self.hidden[index:]))

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
            **({} if self.spare == "empty" else {"spare": self.spare}),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> MlpArchitecture:
        """The architecture that `to_json` described; ValueError or KeyError if it is none."""
        try:
            hidden = tuple(Layer(**layer) for layer in value["hidden"])
        except TypeError as error:
            raise ValueError(f"not a hidden layer: {error}") from error
        sizes = int(value["inputs"]), int(value["outputs"])
        return cls(*sizes, hidden, str(value["kind"]), value.get("spare", "empty"))


def draw_neurons(
    rng: np.random.Generator, n_in: int, n: int, activation: Activation
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Input weights, biases and coefficients of `n` neurons from the initial distribution.

    Kernels are LeCun normal, before rectifiers with He's gain; for rational neurons biases and
    coefficients are unit normal, as in the paper's appendix; for others biases are zero.

    Returns:
      Kernel `(n_in, n)`, bias `(n,)`, coefficients `(3, n)` or None.
    """
    gain = initial_gain(activation)
    kernel = (gain * rng.standard_normal((n_in, n)) / np.sqrt(n_in)).astype(np.float32)
    if activation != "rational":
        return kernel, np.zeros(n, np.float32), None
    bias = rng.standard_normal(n).astype(np.float32)
    return kernel, bias, rng.standard_normal((3, n)).astype(np.float32)


def initial_parameters(architecture: MlpArchitecture, seed: int) -> ArrayTree:
    """Parameters of `architecture` at its capacity.

    Whatever is not in use is zero, but for the input weights of dormant neurons.
    """
    rng = numpy_generator(seed, "initial", 0)
    params: ArrayTree = {}
    for index in range(len(architecture.maps)):
        n_in, n_out = architecture.map_width(index)
        cap_in, cap_out = architecture.map_capacity(index)
        hidden = index < len(architecture.hidden)
        activation = architecture.hidden[index].activation if hidden else "identity"
        kernel, bias, coefficients = draw_neurons(rng, n_in, n_out, activation)
        room = ((0, cap_in - n_in), (0, cap_out - n_out))
        params[f"map_{index}"] = {"kernel": np.pad(kernel, room), "bias": np.pad(bias, room[1])}
        if coefficients is not None:
            padded = np.pad(coefficients, ((0, 0), room[1]))
            params[f"activation_{index}"] = {"coefficients": padded}
    for m in architecture.maps if architecture.spare == "dormant" else ():
        width = m.target.width
        spare = range(width, m.columns)
        drawn = draw_units(m, used_units(architecture), spare, seed, "initial", 0)
        matrix = joined(m, params[m.name])
        params[m.name] = split(m, np.concatenate([matrix[:, :width], drawn.weights], axis=1))
        if drawn.coefficients is not None and m.target.coefficients is not None:
            kept = params[m.target.coefficients]["coefficients"][:, :width]
            both = np.concatenate([kept, drawn.coefficients], axis=1)
            params[m.target.coefficients] = {"coefficients": both}
    return params


class Mlp(Kind[MlpArchitecture]):
    """Fully connected networks."""

    name = "mlp"

    def from_json(self, value: Mapping[str, Any]) -> MlpArchitecture:
        """As of `Kind`."""
        return MlpArchitecture.from_json(value)

    def start(
        self, spec: Spec, example: tuple[int, ...], outputs: int, platform: str
    ) -> MlpArchitecture:
        """As of `Kind`."""
        network = cast("NetworkSpec", spec.network)
        rule, growth = self.capacity_rule(spec, platform), spec.growth
        spare: Literal["empty", "dormant"] = "empty"
        more = 0
        if isinstance(growth, StandingSpec):
            spare, more = "dormant", growth.dormant.neurons if growth.width.enabled else 0
        capacities = network.capacity.initial or [rule.room(n + more) for n in network.hidden]
        layers = tuple(
            Layer(width, capacity, network.activation)
            for width, capacity in zip(network.hidden, capacities, strict=True)
        )
        return MlpArchitecture(math.prod(example), outputs, layers, spare=spare)

    def section(self, architecture: MlpArchitecture) -> dict[str, Any]:
        """As of `Kind`; a section knows one activation, which is the first layer's."""
        hidden = {"hidden": architecture.widths}
        first = architecture.hidden[0].activation if architecture.hidden else None
        return hidden if first is None else hidden | {"activation": first}

    def kept(self, spec: Spec, architecture: MlpArchitecture) -> dict[str, Any]:
        """As of `Kind`."""
        initial = {"initial": architecture.capacities}
        return {"capacity": spec.network.capacity.model_copy(update=initial)}

    def capacity_rule(self, spec: Spec, platform: str) -> CapacityRule:
        """As of `Kind`: multiples of 8 on a CPU, of 64 on a GPU by default."""
        section = cast("NetworkSpec", spec.network).capacity
        multiple = section.multiple
        if multiple == "auto":
            multiple = AUTO_MULTIPLE["cpu" if platform == "cpu" else "gpu"]
        return CapacityRule(multiple, section.growth)

    def crowding(self, spec: Spec) -> tuple[float, float]:
        """As of `Kind`."""
        return 0.9, spec.network.capacity.growth

    def compute(self, spec: Spec) -> str:
        """As of `Kind`."""
        return cast("NetworkSpec", spec.network).compute

    def dropout(self, spec: Spec) -> float:
        """As of `Kind`."""
        return cast("NetworkSpec", spec.network).dropout

    def divisible(self, architecture: MlpArchitecture) -> tuple[tuple[int, Map], ...]:
        """As of `Kind`: all maps."""
        return tuple(enumerate(architecture.maps))

    def slotted(self, architecture: MlpArchitecture) -> MlpArchitecture | None:
        """As of `Kind`: for layers of one capacity and activation."""
        layers = architecture.shape().hidden
        if len(set(layers)) != 1:
            return None
        count = max(LEAST_SLOTS, 1 << (len(layers) - 1).bit_length())
        return replace(architecture, hidden=layers[:1] * count, passing=True)

    def initial_parameters(self, architecture: MlpArchitecture, seed: int) -> ArrayTree:
        """As of `Kind`."""
        return initial_parameters(architecture, seed)

    def apply(
        self,
        shape: MlpArchitecture,
        params: Parameters,
        x: jax.Array,
        used: Used,
        shifts: Shifts | None = None,
        *,
        compute_dtype: DTypeLike | None = None,
    ) -> Signals:
        """As of `Kind`."""
        from senn_cli.nets import mlp_flax

        return mlp_flax.apply(shape, params, x, used, shifts, compute_dtype=compute_dtype)

    def graph(
        self, architecture: MlpArchitecture, params: ArrayTree, graph: Graph, x: str, output: str
    ) -> None:
        """As of `Kind`."""
        for m in architecture.maps:
            product = graph.add(
                "MatMul", x, graph.constant(f"{m.name}.kernel", params[m.name]["kernel"])
            )
            last = m.target.role == "outputs"
            bias = graph.constant(f"{m.name}.bias", params[m.name]["bias"])
            x = graph.add("Add", product, bias, output=output if last else "")
            if not last:
                x = written(graph, m.target, params, x)


register(Mlp())
