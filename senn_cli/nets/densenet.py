"""Convolutional DenseNets as a kind of network, and their initial weights.

Initial weights are a function of seed and place, never of capacity: every channel of every
convolution, used or not, has a random generator of its own, derived from the seed, the map's name
and the channel's number. It draws weights on the channels *in use* alone: a network with more
capacity begins with the same weights, and its spare channels are *dormant* proposals that read the
same signals. Weights on channels not in use are zero. No JAX.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from senn_cli.nets import densenet_graph
from senn_cli.nets.architecture import Layer
from senn_cli.nets.densenet_architecture import DenseArchitecture
from senn_cli.nets.draws import draw_units
from senn_cli.nets.features import ArrayTree, Map, feature_named, used_units
from senn_cli.nets.leaves import split
from senn_cli.nets.registry import Graph, Kind, Parameters, Shifts, Signals, Used, register
from senn_cli.randomness import numpy_generator

if TYPE_CHECKING:
    import jax
    from jax.typing import DTypeLike

    from senn_cli.spec import Spec
    from senn_cli.spec.network import DenseNetSpec


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

    def crowding(self, spec: Spec) -> tuple[float, float]:
        """As of `Kind`."""
        capacity = _section(spec).capacity
        return capacity.in_use, capacity.growth

    def compute(self, spec: Spec) -> str:
        """As of `Kind`."""
        return _section(spec).compute

    def recompute(self, spec: Spec) -> bool:
        """As of `Kind`."""
        return _section(spec).recompute

    def dropout(self, spec: Spec) -> float:
        """As of `Kind`."""
        return _section(spec).dropout

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
        recompute: bool = False,
    ) -> Signals:
        """As of `Kind`."""
        from senn_cli.nets import densenet_flax

        return densenet_flax.apply(
            shape, params, x, used, shifts, compute_dtype=compute_dtype, recompute=recompute
        )

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
        densenet_graph.write(architecture, params, graph, x, output)


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


register(Dense())
