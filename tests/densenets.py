"""DenseNets in plain NumPy, written from the definition and not from the code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from senn_cli.curvature.observe import input_factor, observe
from senn_cli.engine.objective import CLASSIFICATION
from senn_cli.nets.architecture import Layer
from senn_cli.nets.densenet_architecture import DenseArchitecture, Pool
from senn_cli.nets.features import Map, Source, standing, used_units
from senn_cli.nets.leaves import row_mask

Tree = dict[str, dict[str, Any]]
POOLS: tuple[Pool, ...] = ("max3s2", "max2s2", "mean2s2")


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

    def used(self, architecture: DenseArchitecture) -> dict[str, Any]:
        """The same by the names of features."""
        found = used_units(architecture)
        for feature in architecture.features:
            if feature.role == "hidden":
                found[feature.name] = self.layers[feature.index]
            elif feature.role == "bud" and self.buds:
                found[feature.name] = self.buds[feature.index]
        return found

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


def architecture(
    image: tuple[int, int, int],
    outputs: int,
    blocks: Sequence[Sequence[tuple[int, int]]],
    bud: int = 0,
    pool: Pool = "max3s2",
    activation: Any = "silu",
) -> DenseArchitecture:
    """A network of layers given as (width, capacity)."""
    layers = tuple(tuple(Layer(w, c, activation) for w, c in block) for block in blocks)
    return DenseArchitecture(image, outputs, layers, bud, pool)


@st.composite
def architectures(draw: Any) -> DenseArchitecture:
    """One or two blocks of one to three layers of few channels, on images of 3 to 8 positions."""
    size = st.integers(3, 8)
    layer = st.tuples(st.integers(1, 3), st.integers(0, 2)).map(lambda p: (p[0], p[0] + p[1]))
    blocks = draw(st.lists(st.lists(layer, min_size=1, max_size=3), min_size=1, max_size=2))
    image = (draw(size), draw(size), draw(st.integers(1, 3)))
    bud, pool = draw(st.integers(0, 2)), draw(st.sampled_from(POOLS))
    return architecture(image, draw(st.integers(1, 3)), blocks, bud, pool)


def scattered(rng: np.random.Generator, shape: DenseArchitecture) -> Masks:
    """`width` channels of every layer in use, anywhere among the capacity."""
    masks = []
    for layer in shape.hidden:
        used = np.zeros(layer.capacity, bool)
        used[rng.permutation(layer.capacity)[: layer.width]] = True
        masks.append(used)
    return Masks(tuple(masks))


def reads(shape: DenseArchitecture, masks: Masks) -> dict[str, dict[str, np.ndarray]]:
    """For every convolution its sources, and which of their channels are in use."""
    buds = masks.buds or tuple(np.zeros(shape.bud, bool) for _ in shape.hidden)
    found: dict[str, dict[str, np.ndarray]] = {}
    before, index = np.ones(shape.image[2], bool), 0
    for b, layers in enumerate(shape.blocks):
        seen = {"input": before}
        for j in range(len(layers)):
            if shape.bud:
                found[f"block_{b}/bud_{j}"] = dict(seen)
                found[f"block_{b}/layer_{j}"] = {**seen, "bud": buds[index]}
            else:
                found[f"block_{b}/layer_{j}"] = dict(seen)
            seen[f"layer_{j}"] = before = np.asarray(masks.layers[index])
            index += 1
    return found


def random_parameters(
    rng: np.random.Generator,
    shape: DenseArchitecture,
    masks: Masks,
    dtype: Any = np.float64,
    unused: float = 0.0,
) -> Tree:
    """Unit normal signals; weights on channels not in use are `unused` times as large."""
    params: Tree = {}
    for name, sources in reads(shape, masks).items():
        block, rest = name.split("/")
        layer = shape.blocks[int(block[6:])][int(rest.split("_")[1])]
        n_out = shape.bud if rest.startswith("bud") else layer.capacity
        count = 9 * sum(int(used.sum()) for used in sources.values())
        params[name] = {}
        for leaf, used in sources.items():
            kernel = rng.standard_normal((3, 3, len(used), n_out)) * np.sqrt(2 / count)
            params[name][leaf] = (kernel * np.where(used, 1, unused)[:, None]).astype(dtype)
    last = np.asarray(masks.layers[-1])
    kernel = rng.standard_normal((len(last), shape.outputs)) / np.sqrt(last.sum())
    params["head"] = {
        "kernel": (kernel * np.where(last, 1, unused)[:, None]).astype(dtype),
        "bias": rng.standard_normal(shape.outputs).astype(dtype),
    }
    return params


def used_rows(m: Map, shape: DenseArchitecture) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of a map that are in use."""
    used = used_units(shape)
    return row_mask(m, used), used[m.target.name]


def unit_rows(m: Map) -> np.ndarray:
    """The rows of a joined map of every channel that it reads, `(channels, taps)`."""
    return np.concatenate([m.groups(source) for source in m.sources])


class Look(NamedTuple):
    """What a look at a network yields: dW, the factors A and S of every map, the mean loss."""

    gradients: dict[str, Any]
    factors: dict[str, tuple[Any, Any]]
    loss: Any


def look_at(shape: Any, params: Any, used: Any, x: Any, y: Any, key: Any, stride: int = 1) -> Look:
    """A look by one sample of the curvature, at the cross entropy of labels `y`."""
    task: Any = (CLASSIFICATION, "softmax")
    seen = observe(shape, params, used, x, y, *task, key)
    factors = {
        m.name: (input_factor(m, seen.reads[m.name], key, stride=stride), seen.s[m.name])
        for m in standing(shape)
    }
    return Look(seen.gradients, factors, seen.loss)


def convolved(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """y[p] = sum over taps t of x[p + t - 1] k[t], zeros outside."""
    n, height, width, _ = x.shape
    y = np.zeros((n, height, width, kernel.shape[3]), x.dtype)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    for i in range(3):
        for j in range(3):
            y += padded[:, i : i + height, j : j + width] @ kernel[i, j]
    return y


def pooled(pool: Pool, x: np.ndarray) -> np.ndarray:
    """Maximum or mean over windows of stride 2; those at an edge hold fewer positions."""
    size = int(pool[-3])
    n, height, width, c = x.shape

    def windows(length: int) -> list[slice]:
        count = (length + 1) // 2
        before = max(2 * (count - 1) + size - length, 0) // 2
        return [slice(max(2 * o - before, 0), 2 * o - before + size) for o in range(count)]

    rows, columns = windows(height), windows(width)
    y = np.zeros((n, len(rows), len(columns), c), x.dtype)
    for i, r in enumerate(rows):
        for j, s in enumerate(columns):
            part = x[:, r, s]
            y[:, i, j] = part.mean((1, 2)) if pool == "mean2s2" else part.max((1, 2))
    return y


def sigma(name: str, z: np.ndarray) -> np.ndarray:
    return np.tanh(z) if name == "tanh" else z / (1 + np.exp(-z))


def run(
    shape: DenseArchitecture,
    params: Tree,
    masks: Masks,
    x: np.ndarray,
    shifts: Mapping[str, np.ndarray] | None = None,
    post: Mapping[str, np.ndarray] | None = None,
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Outputs, and the pre-activations of all maps; channels not in use are multiplied by zero."""
    shifts, post, z = shifts or {}, post or {}, {}

    def layer(name: str, activation: str, sources: Mapping[str, np.ndarray]) -> np.ndarray:
        total = sum(convolved(a, params[name][leaf]) for leaf, a in sources.items())
        z[name] = total + shifts.get(name, np.zeros((), x.dtype))
        h: np.ndarray = sigma(activation, z[name]) + post.get(name, np.zeros((), x.dtype))
        return h

    index, read = 0, x.reshape(len(x), *shape.image)
    for b, layers in enumerate(shape.blocks):
        seen = {"input": read}
        for j, description in enumerate(layers):
            sources, kind = dict(seen), description.activation
            if shape.bud:
                used = masks.buds[index] if masks.buds else np.zeros(shape.bud, bool)
                sources["bud"] = layer(f"block_{b}/bud_{j}", kind, seen) * used
            h = layer(f"block_{b}/layer_{j}", kind, sources)
            h = h * np.asarray(masks.layers[index])
            seen[f"layer_{j}"] = h
            index += 1
        read = pooled(shape.pool, h)
    outputs = read.mean((1, 2)) @ params["head"]["kernel"] + params["head"]["bias"]
    z["head"] = outputs + shifts.get("head", np.zeros((), x.dtype))
    return z["head"], z


def cut(tree: Tree, shape: DenseArchitecture, masks: Masks) -> Tree:
    """The entries of a tree that compact networks have too: between channels in use, and buds."""
    result: Tree = {}
    index = {(b, j): shape.flat(b, j) for b, ls in enumerate(shape.blocks) for j in range(len(ls))}
    for name, sources in reads(shape, masks).items():
        block, rest = name.split("/")
        kind, number = rest.split("_")
        columns = np.ones(shape.bud, bool)
        if kind == "layer":
            columns = np.asarray(masks.layers[index[int(block[6:]), int(number)]])
        result[name] = {
            leaf: np.asarray(tree[name][leaf])[:, :, used if leaf != "bud" else slice(None)][
                ..., columns
            ]
            for leaf, used in sources.items()
        }
    last = np.asarray(masks.layers[-1])
    result["head"] = {
        "kernel": np.asarray(tree["head"]["kernel"])[last],
        "bias": np.asarray(tree["head"]["bias"]),
    }
    return result
