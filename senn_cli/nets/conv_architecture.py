"""The architecture of a convolutional DenseNet as plain, hashable data.

A block concatenates what it reads and what its layers yield. Layer j of a block reads the block's
input, the layers before it and a *bud*: a small layer that stands before layer j, reads the same
maps and is not in use. A bud is a standing proposal for one more layer. The last layer of a block
is the block's output, a pooling follows every block, and a dense head reads the mean over all
positions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

from senn_cli.nets.architecture import Layer

Pool = Literal["max3s2", "max2s2", "mean2s2"]
"""Pooling after every block: maximum or mean, over 3x3 or 2x2 positions, stride 2, SAME."""
POOLS: tuple[str, ...] = get_args(Pool)

TAPS = 9
"""Positions of a 3x3 kernel."""


@dataclass(frozen=True)
class Source:
    """One group of channels that a map reads.

    Attributes:
      leaf: the name of its kernel among the map's parameters.
      origin: what yields the channels; `index` is the hidden layer, or the layer of the bud.
      channels: channels allocated.
      width: channels in use; none of a bud.
    """

    leaf: str
    origin: Literal["image", "layer", "bud"]
    index: int
    channels: int
    width: int


@dataclass(frozen=True)
class Wiring:
    """What one linear map reads and yields.

    Attributes:
      name: of its parameters: `block_0/layer_1`, `block_0/bud_1` or `head`.
      kind: whether it feeds a hidden layer, a bud or the outputs.
      index: the hidden layer, or the layer of the bud, counted over all blocks; -1 for the head.
      sources: what it reads, in the order of the concatenation.
      channels: channels (of the head: outputs) allocated.
      width: those in use; for a bud all, though nothing uses them yet.
    """

    name: str
    kind: Literal["layer", "bud", "head"]
    index: int
    sources: tuple[Source, ...]
    channels: int
    width: int


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
    def wiring(self) -> tuple[Wiring, ...]:
        """All maps, in the order of computation: before every layer its bud, at last the head."""
        found: list[Wiring] = []
        channels = self.image[2]
        read = Source("input", "image", 0, channels, channels)
        index = 0
        for number, layers in enumerate(self.blocks):
            sources = [read]
            for j, layer in enumerate(layers):
                at = f"block_{number}"
                seen = tuple(sources)
                if self.bud:
                    bud = Wiring(f"{at}/bud_{j}", "bud", index, seen, self.bud, self.bud)
                    found.append(bud)
                    seen = (*seen, Source("bud", "bud", index, self.bud, 0))
                size = (layer.capacity, layer.width)
                found.append(Wiring(f"{at}/layer_{j}", "layer", index, seen, *size))
                sources.append(Source(f"layer_{j}", "layer", index, *size))
                read = Source("input", "layer", index, *size)
                index += 1
        last = replace(read, leaf="kernel")
        found.append(Wiring("head", "head", -1, (last,), self.outputs, self.outputs))
        return tuple(found)

    def map_named(self, name: str) -> Wiring:
        """The map of that name; KeyError if there is none."""
        return {wire.name: wire for wire in self.wiring}[name]

    def readers(self, index: int) -> tuple[tuple[Wiring, Source], ...]:
        """The maps that read hidden layer `index` (buds among them), each with its source."""
        return tuple(
            (wire, source)
            for wire in self.wiring
            for source in wire.sources
            if source.origin == "layer" and source.index == index
        )

    @property
    def parameters(self) -> int:
        """Parameters in use: kernels between channels in use, and the head; no buds."""
        total = 0
        for wire in self.wiring:
            read = sum(source.width for source in wire.sources)
            if wire.kind == "layer":
                total += TAPS * read * wire.width
            elif wire.kind == "head":
                total += (read + 1) * wire.width
        return total

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
