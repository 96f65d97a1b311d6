"""Convolutional DenseNets: the architecture as plain, hashable data, and initial weights.

A block concatenates what it reads and what its layers yield. Layer j of a block reads the block's
input, the layers before it and a *bud*: a small layer that stands before layer j, reads the same
maps and is not in use. A bud is a standing proposal for one more layer (appendix B). The last layer
of a block is the block's output, a pooling follows every block, and a dense head reads the mean
over all positions.

Initial weights are a function of seed and place, never of capacity: every channel of every
convolution, used or not, has a random generator of its own, derived from the seed, the map's name
and the channel's number. It draws weights on the channels *in use* alone: a network with more
capacity begins with the same weights, and its spare channels are *dormant* proposals that read the
same signals. Weights on channels not in use are zero. No JAX.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np

from senn_cli.nets.architecture import Layer
from senn_cli.nets.draws import draw_units
from senn_cli.nets.features import (
    ArrayTree,
    Feature,
    Map,
    Source,
    feature_named,
    hidden_feature,
    readers,
    split,
    used_units,
)
from senn_cli.nets.graph import written
from senn_cli.nets.registry import Graph, Kind, Parameters, Shifts, Signals, Used, register
from senn_cli.randomness import numpy_generator

if TYPE_CHECKING:
    import jax
    from jax.typing import DTypeLike

    from senn_cli.spec import Spec
    from senn_cli.spec.network import DenseNetSpec

Pool = Literal["max3s2", "max2s2", "mean2s2"]
"""Pooling after every block: maximum or mean, over 3x3 or 2x2 positions, stride 2, SAME."""
POOLS: tuple[str, ...] = get_args(Pool)

WINDOW = (3, 3)
"""Positions of a kernel."""
TAPS = 9


@dataclass(frozen=True)
class DenseArchitecture:
    """A DenseNet: blocks of 3x3 convolutions without bias, then a dense head with bias.

    Hidden layers are counted from 0 over all blocks; `place` and `flat` translate.

    Attributes:
      image: height, width and channels of the images.
      outputs: outputs of the head.
      blocks: the layers of every block. Which channels of a layer are in use is told by masks;
        `width` is their number.
      bud: channels of the bud before every layer; 0 for no buds.
      pool: the pooling after every block.

    Raises:
      ValueError: an empty image, no block, a block without layers, a rational activation (which
        would need coefficients), a negative bud or an unknown pooling.
    """

    image: tuple[int, int, int]
    outputs: int
    blocks: tuple[tuple[Layer, ...], ...]
    bud: int = 0
    pool: Pool = "max3s2"
    kind: str = "densenet"

    def __post_init__(self) -> None:
        if min(self.image) < 1:
            raise ValueError(f"need an image of height, width, channels, got {self.image}")
        if not self.blocks or not all(self.blocks):
            raise ValueError("need at least one block, and a layer in every block")
        for layer in self.hidden:
            if layer.activation == "rational":
                raise ValueError("a convolutional layer is `silu` or `tanh`, got 'rational'")
        if self.outputs < 1 or self.bud < 0:
            raise ValueError(f"need outputs >= 1 and bud >= 0, got {self.outputs} and {self.bud}")
        if self.pool not in POOLS:
            raise ValueError(f"unknown pooling {self.pool!r}, expected one of {POOLS}")

    @property
    def hidden(self) -> tuple[Layer, ...]:
        """The layers of all blocks, one after the other."""
        return tuple(layer for block in self.blocks for layer in block)

    @property
    def widths(self) -> tuple[int, ...]:
        """Channels in use, a hidden layer each."""
        return tuple(layer.width for layer in self.hidden)

    @property
    def capacities(self) -> tuple[int, ...]:
        """Channels allocated, a hidden layer each."""
        return tuple(layer.capacity for layer in self.hidden)

    @property
    def inputs(self) -> int:
        """Numbers in one image."""
        height, width, channels = self.image
        return height * width * channels

    def place(self, index: int) -> tuple[int, int]:
        """The block of hidden layer `index`, and its number within the block."""
        for block, layers in enumerate(self.blocks):
            if 0 <= index < len(layers):
                return block, index
            index -= len(layers)
        raise IndexError("no such hidden layer")

    def flat(self, block: int, layer: int) -> int:
        """The hidden layer that is number `layer` of block `block`."""
        if not (0 <= block < len(self.blocks) and 0 <= layer < len(self.blocks[block])):
            raise IndexError(f"no layer {layer} in block {block}")
        return sum(len(layers) for layers in self.blocks[:block]) + layer

    def site(self, index: int) -> str:
        """The name of hidden layer `index` for people: `block 0 layer 1`."""
        block, layer = self.place(index)
        return f"block {block} layer {layer}"

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """The image, before every layer its bud (if there are buds), and the outputs."""
        found = [Feature("image", "data", 0, self.image[2], self.image[2], site="image")]
        for index, layer in enumerate(self.hidden):
            block, number = self.place(index)
            if self.bud:
                name, site = f"block_{block}/bud_{number}", f"block {block} bud {number}"
                activation = layer.activation
                bud = Feature(name, "bud", index, 0, self.bud, activation, "dormant", site)
                found.append(bud)
            name, site = f"block_{block}/layer_{number}", self.site(index)
            size = (layer.width, layer.capacity, layer.activation)
            found.append(Feature(name, "hidden", index, *size, "dormant", site))
        found.append(Feature("outputs", "outputs", 0, self.outputs, self.outputs, site="outputs"))
        return tuple(found)

    @cached_property
    def maps(self) -> tuple[Map, ...]:
        """All maps, in the order of computation: before every layer its bud, at last the head."""
        found: list[Map] = []
        (image, *inner, outputs) = self.features
        area, inner_features = self.image[:2], iter(inner)
        read, last = Source("input", image), image
        for layers in self.blocks:
            sources = [read]
            positions = area[0] * area[1]
            for number, _ in enumerate(layers):
                seen = tuple(sources)
                if self.bud:
                    bud = next(inner_features)
                    found.append(Map(bud.name, seen, bud, False, WINDOW, positions))
                    seen = (*seen, Source("bud", bud))
                last = next(inner_features)
                found.append(Map(last.name, seen, last, False, WINDOW, positions))
                sources.append(Source(f"layer_{number}", last))
            read = Source("input", last)
            area = (-(-area[0] // 2), -(-area[1] // 2))
        found.append(Map("head", (Source("kernel", last),), outputs, True))
        return tuple(found)

    @property
    def parameters(self) -> int:
        """Parameters in use: kernels between channels in use, and the head; no buds."""
        return sum(m.parameters for m in self.maps)

    def readers(self, index: int) -> tuple[tuple[Map, Source], ...]:
        """The maps that read hidden layer `index` (buds among them), each with its source."""
        return readers(self, hidden_feature(self, index).name)

    def shape(self) -> DenseArchitecture:
        """The architecture with every channel in use: the static key of compiled functions."""
        return self._each(lambda layer: replace(layer, width=layer.capacity))

    def compact(self) -> DenseArchitecture:
        """The architecture without spare capacity; buds stay."""
        return self._each(lambda layer: replace(layer, capacity=layer.width))

    def with_layer(self, index: int, **changes: Any) -> DenseArchitecture:
        """The architecture with fields of hidden layer `index` changed."""
        block, number = self.place(index)
        layers = list(self.blocks[block])
        layers[number] = replace(layers[number], **changes)
        return self._with_block(block, layers)

    def with_blocks(self, blocks: Sequence[Sequence[Layer]]) -> DenseArchitecture:
        """The architecture with the layers of every block."""
        return replace(self, blocks=tuple(map(tuple, blocks)))

    def without_buds(self) -> DenseArchitecture:
        """The architecture without buds."""
        return replace(self, bud=0) if self.bud else self

    def with_inserted(self, index: int, layer: Layer) -> DenseArchitecture:
        """The architecture with `layer` put before hidden layer `index`, in the same block."""
        block, number = self.place(index)
        layers = list(self.blocks[block])
        layers.insert(number, layer)
        return self._with_block(block, layers)

    def _with_block(self, block: int, layers: list[Layer]) -> DenseArchitecture:
        blocks = (*self.blocks[:block], tuple(layers), *self.blocks[block + 1 :])
        return replace(self, blocks=blocks)

    def _each(self, change: Any) -> DenseArchitecture:
        return replace(self, blocks=tuple(tuple(map(change, layers)) for layers in self.blocks))

    def to_json(self) -> dict[str, Any]:
        """A mapping of plain values, read back by `from_json`."""
        blocks = [
            [{"width": h.width, "capacity": h.capacity, "activation": h.activation} for h in layers]
            for layers in self.blocks
        ]
        return {
            "kind": self.kind,
            "image": list(self.image),
            "outputs": self.outputs,
            "blocks": blocks,
            "bud": self.bud,
            "pool": self.pool,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> DenseArchitecture:
        """The architecture that `to_json` described; ValueError or KeyError if it is none."""
        try:
            blocks = tuple(tuple(Layer(**layer) for layer in layers) for layers in value["blocks"])
            height, width, channels = (int(size) for size in value["image"])
        except TypeError as error:
            raise ValueError(f"not a DenseNet: {error}") from error
        if value["kind"] != "densenet":
            raise ValueError(f"not a DenseNet: its kind is {value['kind']!r}")
        image = (height, width, channels)
        return cls(image, int(value["outputs"]), blocks, int(value["bud"]), value["pool"])


Tree = ArrayTree
"""`block_<b>/layer_<j>` and `block_<b>/bud_<j>`: a kernel (3, 3, n_in, n_out) for every source
(`input`, `layer_<i>`, `bud`); `head`: `kernel` (n_in, outputs) and `bias` (outputs,)."""


def initial_parameters(
    architecture: DenseArchitecture, seed: int, used: Mapping[str, np.ndarray] | None = None
) -> ArrayTree:
    """Parameters of `architecture` at its capacity.

    Kernels are LeCun normal over what is in use, the head's bias is zero.

    Args:
      used: what is in use; by default the first `width` channels of every layer.
    """
    used = used_units(architecture) if used is None else used
    params: ArrayTree = {}
    for wire in architecture.maps:
        if wire.target.role != "outputs":
            channels = range(wire.target.capacity)
            drawn = draw_units(wire, used, channels, seed, "initial", 0).weights
            params[wire.name] = split(wire, drawn)
            continue
        (source,) = wire.sources
        read = np.asarray(used[source.feature.name], bool)
        rng = numpy_generator(seed, "initial head", 0)
        kernel = np.zeros((source.feature.capacity, wire.target.capacity), np.float32)
        count = int(read.sum())
        kernel[read] = rng.standard_normal((count, wire.target.capacity)) / np.sqrt(count)
        params["head"] = {"kernel": kernel, "bias": np.zeros(wire.target.capacity, np.float32)}
    return params


CHANNELS = 4
"""Channels allocated for each one in use at the start, where anything grows."""


class Dense(Kind[DenseArchitecture]):
    """Convolutional DenseNets."""

    name = "densenet"
    unit = "channel"
    layers = "blocks"
    block = 250  # activations are far larger
    sample = 512
    tracked = True
    one_by_one = True  # in a loop, XLA computes convolutions by its slow reference code

    def from_json(self, value: Mapping[str, Any]) -> DenseArchitecture:
        """As of `Kind`."""
        return DenseArchitecture.from_json(value)

    def start(
        self, spec: Spec, example: tuple[int, ...], outputs: int, platform: str
    ) -> DenseArchitecture:
        """As of `Kind`."""
        network = _section(spec)
        blocks = tuple(
            tuple(Layer(width, room(spec, width), network.activation) for width in block)
            for block in network.blocks
        )
        return DenseArchitecture(image_of(example), outputs, blocks, bud_of(spec), network.pool)

    def section(self, architecture: DenseArchitecture) -> dict[str, Any]:
        """As of `Kind`; a section knows one activation, which is the first layer's."""
        blocks = tuple(tuple(layer.width for layer in block) for block in architecture.blocks)
        activation = architecture.hidden[0].activation
        return {"blocks": blocks, "activation": activation, "pool": architecture.pool}

    def kept(self, spec: Spec, architecture: DenseArchitecture) -> dict[str, Any]:
        """As of `Kind`: the origin's buds where the spec leaves them open and there are some."""
        wanted, there = bud_of(spec), architecture.bud
        return {"bud": there if wanted and _section(spec).bud is None and there else wanted}

    def misfit(self, example: tuple[int, ...]) -> str | None:
        """As of `Kind`."""
        if len(example) in (2, 3):
            return None
        return "needs images, height x width or height x width x channels"

    def compute(self, spec: Spec) -> str:
        """As of `Kind`."""
        return _section(spec).compute

    def initial_parameters(self, architecture: DenseArchitecture, seed: int) -> ArrayTree:
        """As of `Kind`."""
        return initial_parameters(architecture, seed)

    def apply(
        self,
        shape: DenseArchitecture,
        params: Parameters,
        x: jax.Array,
        used: Used,
        shifts: Shifts | None = None,
        *,
        compute_dtype: DTypeLike | None = None,
    ) -> Signals:
        """As of `Kind`."""
        from senn_cli.nets import densenet_flax

        return densenet_flax.apply(shape, params, x, used, shifts, compute_dtype=compute_dtype)

    def carried(
        self, shape: DenseArchitecture, feature: str, m: Map, values: jax.Array
    ) -> jax.Array:
        """As of `Kind`: a block's last layer is pooled, and the head reads the mean of that."""
        from senn_cli.nets.densenet_flax import pooled

        source = feature_named(shape, feature)
        block, layer = shape.place(source.index)
        if source.role == "hidden" and layer == len(shape.blocks[block]) - 1:
            values = pooled(shape.pool, values)
        return values.mean(axis=(1, 2)) if m.target.role == "outputs" else values

    def graph(
        self, architecture: DenseArchitecture, params: ArrayTree, graph: Graph, x: str, output: str
    ) -> None:
        """As of `Kind`."""
        shape = graph.constant("image", [-1, *architecture.image], np.int64)
        values = {
            "image": graph.add("Transpose", graph.add("Reshape", x, shape), perm=[0, 3, 1, 2])
        }
        area = architecture.image[:2]
        for wire in architecture.maps:
            read = [values[source.feature.name] for source in wire.sources]
            if wire.target.role == "outputs":
                mean = graph.add("ReduceMean", read[0], axes=[2, 3], keepdims=0)
                kernel = graph.constant("head.kernel", params["head"]["kernel"])
                bias = graph.constant("head.bias", params["head"]["bias"])
                graph.add("Add", graph.add("MatMul", mean, kernel), bias, output=output)
                return
            whole = np.concatenate([params[wire.name][s.leaf] for s in wire.sources], axis=2)
            kernel = graph.constant(f"{wire.name}.kernel", whole.transpose(3, 2, 0, 1))
            joint = graph.add("Concat", *read, axis=1) if len(read) > 1 else read[0]
            z = graph.add("Conv", joint, kernel, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
            h = written(graph, wire.target, params, z)
            block, number = architecture.place(wire.target.index)
            if number == len(architecture.blocks[block]) - 1:
                h, area = _pooled(graph, architecture.pool, h, area)
            values[wire.target.name] = h


def _section(spec: Spec) -> DenseNetSpec:
    """The section `network` of the spec of a DenseNet."""
    return cast("DenseNetSpec", spec.network)


def image_of(example: tuple[int, ...]) -> tuple[int, int, int]:
    """Height, width and channels of an image `(H, W)` or `(H, W, C)`."""
    height, width, channels = (*example, 1)[:3]
    return height, width, channels


def room(spec: Spec, width: int) -> int:
    """Channels allocated at the start for a layer with `width` in use."""
    if spec.growth is None or not spec.growth.width.enabled:
        return width
    initial = _section(spec).capacity.initial
    return CHANNELS * width if initial is None else max(width, initial)


def bud_of(spec: Spec) -> int:
    """Channels of the buds."""
    if spec.growth is None or not spec.growth.depth.enabled:
        return 0
    bud = _section(spec).bud
    if bud is not None:
        return bud
    return max(1, room(spec, spec.network.hidden[0]) // 2)


def _pooled(graph: Graph, pool: str, x: str, sizes: tuple[int, int]) -> tuple[str, tuple[int, int]]:
    """Pooling with stride 2 and SAME padding, and the height and width after it."""
    window = 3 if pool == "max3s2" else 2
    halves = (-(-sizes[0] // 2), -(-sizes[1] // 2))
    rooms = [
        max(2 * (half - 1) + window - size, 0) for half, size in zip(halves, sizes, strict=True)
    ]
    pads = [*(room // 2 for room in rooms), *(room - room // 2 for room in rooms)]
    operator = "AveragePool" if pool == "mean2s2" else "MaxPool"  # neither counts the padding
    made = graph.add(operator, x, kernel_shape=[window] * 2, strides=[2, 2], pads=pads)
    return made, halves


register(Dense())
