"""The architecture of convolutional DenseNets as plain, hashable data.

A block concatenates what it reads and what its layers yield. Layer j of a block reads the block's
input, the layers before it and a *bud*: a small layer that stands before layer j, reads the same
maps and is not in use. A bud is a standing proposal for one more layer (appendix B). The last layer
of a block is the block's output, a pooling follows every block, and a dense head reads the mean
over all positions. No JAX.

Parameters are `block_<b>/layer_<j>` and `block_<b>/bud_<j>`, a kernel (3, 3, n_in, n_out) for every
source (`input`, `layer_<i>`, `bud`), and `head`: `kernel` (n_in, outputs) and `bias` (outputs,).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

from senn_cli.nets.architecture import PLAIN, Layer
from senn_cli.nets.features import Feature, Map, Source, hidden_feature, readers

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
            if layer.activation not in PLAIN:
                raise ValueError(f"a convolutional layer has no {layer.activation!r}, but {PLAIN}")
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
