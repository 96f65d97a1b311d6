"""Initial weights and masks of a DenseNet: a function of seed and place, never of capacity.

Every channel of every convolution, used or not, has a random generator of its own, derived from the
seed, the map's name and the channel's number. It draws weights on the channels *in use* alone: a
network with more capacity begins with the same weights, and its spare channels are *dormant*
proposals that read the same signals. Weights on channels not in use are zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from senn_cli.nets.conv_architecture import TAPS, DenseArchitecture
from senn_cli.nets.features import Map, Source
from senn_cli.randomness import numpy_generator

Tree = dict[str, dict[str, np.ndarray]]
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
