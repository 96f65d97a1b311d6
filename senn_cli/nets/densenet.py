"""Convolutional DenseNets: the architecture as plain, hashable data, and initial weights.

A block concatenates what it reads and what its layers yield. Layer j of a block reads the block's
input, the layers before it and a *bud*: a small layer that stands before layer j, reads the same
maps and is not in use. A bud is a standing proposal for one more layer. The last layer of a block
is the block's output, a pooling follows every block, and a dense head reads the mean over all
positions.

Initial weights are a function of seed and place, never of capacity: every channel of every
convolution, used or not, has a random generator of its own, derived from the seed, the map's name
and the channel's number. It draws weights on the channels *in use* alone: a network with more
capacity begins with the same weights, and its spare channels are *dormant* proposals that read the
same signals. Weights on channels not in use are zero. No JAX.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from senn_cli.nets.architecture import Layer
from senn_cli.nets.features import ArrayTree, Feature, Map, Source, hidden_feature, readers
from senn_cli.randomness import numpy_generator

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


class Masks(NamedTuple):
    """What is in use, as data.

    Attributes:
      layers: for every hidden layer which channels are in use, bool `(capacity,)`.
      buds: for every bud which channels are in use, bool `(bud,)`; `()` says that no bud is, which
        is the rule and spares their backward pass.
    """

    layers: tuple[Any, ...]
    buds: tuple[Any, ...] = ()

    @property
    def widths(self) -> tuple[int, ...]:
        """Channels in use, a hidden layer each; for masks on the host."""
        return tuple(int(np.sum(used)) for used in self.layers)

    def of(self, source: Source) -> Any:
        """Which channels of `source` are in use, bool `(channels,)`."""
        if source.feature.role == "data":
            return np.ones(source.feature.capacity, bool)
        if source.feature.role == "hidden":
            return self.layers[source.feature.index]
        return (
            self.buds[source.feature.index]
            if self.buds
            else np.zeros(source.feature.capacity, bool)
        )

    def columns(self, wire: Map) -> Any:
        """Which channels that the map yields are in use, bool `(channels,)`."""
        if wire.target.role == "outputs":
            return np.ones(wire.target.capacity, bool)
        if wire.target.role == "hidden":
            return self.layers[wire.target.index]
        return self.buds[wire.target.index] if self.buds else np.zeros(wire.target.capacity, bool)


def initial_masks(architecture: DenseArchitecture) -> Masks:
    """The first `width` channels of every layer in use, and no bud."""
    return Masks(tuple(np.arange(h.capacity) < h.width for h in architecture.hidden))


def draw_channels(
    wire: Map, masks: Masks, channels: Iterable[int], seed: int, purpose: str, step: int
) -> dict[str, np.ndarray]:
    """Input weights of k `channels` of a convolution, drawn anew from the initial distribution.

    LeCun normal: variance 1 / (9 c) for c input channels in use.

    Args:
      wire: the map that yields the channels.
      masks: what is in use; weights on other input channels are zero.
      seed, purpose, step: what the draws are a function of, besides map and channel.

    Returns:
      For every source float32 `(3, 3, n_in, k)`.
    """
    used = np.concatenate([np.asarray(masks.of(source), bool) for source in wire.sources])
    count = int(used.sum())
    drawn = []
    for channel in channels:
        rng = numpy_generator(seed, f"{purpose} {wire.name} {channel}", step)
        full = np.zeros((len(used), 3, 3), np.float32)
        full[used] = rng.standard_normal((count, 3, 3)) / np.sqrt(TAPS * count)
        drawn.append(full)
    kernel = np.stack(drawn).transpose(2, 3, 1, 0) if drawn else np.zeros((3, 3, len(used), 0))
    return split_sources(wire, kernel.astype(np.float32))


def split_sources(wire: Map, kernel: np.ndarray) -> dict[str, np.ndarray]:
    """A kernel `(3, 3, n_in, n_out)` over all sources, cut into one for each."""
    ends = np.cumsum([source.feature.capacity for source in wire.sources])
    parts = map(np.ascontiguousarray, np.split(kernel, ends[:-1], axis=2))
    return {source.leaf: part for source, part in zip(wire.sources, parts, strict=True)}


def initial_parameters(
    architecture: DenseArchitecture, seed: int, masks: Masks | None = None
) -> Tree:
    """Parameters of `architecture` at its capacity.

    Kernels are LeCun normal over what is in use, the head's bias is zero.

    Args:
      masks: what is in use; by default the first `width` channels of every layer.
    """
    masks = initial_masks(architecture) if masks is None else masks
    params: Tree = {}
    for wire in architecture.maps:
        if wire.target.role != "outputs":
            channels = range(wire.target.capacity)
            params[wire.name] = draw_channels(wire, masks, channels, seed, "initial", 0)
            continue
        (source,) = wire.sources
        used = np.asarray(masks.of(source), bool)
        rng = numpy_generator(seed, "initial head", 0)
        kernel = np.zeros((source.feature.capacity, wire.target.capacity), np.float32)
        count = int(used.sum())
        kernel[used] = rng.standard_normal((count, wire.target.capacity)) / np.sqrt(count)
        params["head"] = {"kernel": kernel, "bias": np.zeros(wire.target.capacity, np.float32)}
    return params


def redraw(
    params: Tree,
    architecture: DenseArchitecture,
    masks: Masks,
    chosen: Masks,
    seed: int,
    step: int,
) -> Tree:
    """Parameters with the input weights of `chosen` dormant channels drawn anew.

    The function is unchanged. The draws depend on (seed, step, map, channel), not on capacity.

    Args:
      chosen: which channels of layers and buds; those in use are left as they are.
    """
    result = dict(params)
    for wire in architecture.maps:
        if wire.target.role == "outputs":
            continue
        picked = np.asarray(chosen.columns(wire), bool) & ~np.asarray(masks.columns(wire), bool)
        where = np.flatnonzero(picked)
        if len(where):
            new = draw_channels(wire, masks, where, seed, "redraw", step)
            result[wire.name] = with_columns(params[wire.name], where, new)
    return result


def with_columns(
    leaves: dict[str, np.ndarray], where: Sequence[int] | np.ndarray, new: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """A convolution's kernels with the output channels `where` replaced by `new`."""
    result = {}
    for leaf, kernel in leaves.items():
        result[leaf] = kernel.copy()
        result[leaf][..., where] = new[leaf]
    return result
