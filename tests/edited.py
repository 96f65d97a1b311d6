"""Random networks of every kind, random edits of them, and numbers that units have for life.

Entries that tell their own place make checks independent of the code: every unit has a number, a
test moves lists of these numbers as an edit says, and every entry of a tree or of a factor is a
function of the numbers of its map, row and column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from senn_cli.growth.edits import (
    Activate,
    AddUnits,
    Edit,
    Enlarge,
    InsertLayer,
    PromoteBud,
    Redraw,
    RemoveUnit,
    Reorder,
    SplitUnit,
)
from senn_cli.growth.insertion import floored, receiver
from senn_cli.nets.architecture import Layer
from senn_cli.nets.densenet_architecture import DenseArchitecture
from senn_cli.nets.features import (
    Architecture,
    Feature,
    Map,
    hidden_feature,
    readers,
    used_units,
    writer,
)
from senn_cli.nets.leaves import joined, row_mask, split
from senn_cli.nets.mlp import MlpArchitecture
from tests import dense_algebra, densenets
from tests.densenets import initial_masks
from tests.toy import ToyArchitecture

Tree = dict[str, dict[str, Any]]
Rng = np.random.Generator
NEW = 500
"""Numbers from here on are of units that an edit has brought."""


def _layer(rng: Rng, activation: Any) -> Layer:
    width = int(rng.integers(2, 5))
    return Layer(width, width + int(rng.integers(1, 4)), activation)


def mlp(rng: Rng) -> MlpArchitecture:
    activations = rng.choice(["rational", "silu", "tanh"], int(rng.integers(1, 4)))
    layers = tuple(_layer(rng, str(a)) for a in activations)
    return MlpArchitecture(int(rng.integers(1, 5)), int(rng.integers(1, 4)), layers)


def dormant_mlp(rng: Rng) -> MlpArchitecture:
    return replace(mlp(rng), spare="dormant")


def densenet(rng: Rng) -> DenseArchitecture:
    counts = rng.integers(1, 4, int(rng.integers(1, 3)))
    blocks = tuple(tuple(_layer(rng, "silu") for _ in range(count)) for count in counts)
    image = (int(rng.integers(3, 7)), 4, int(rng.integers(1, 4)))
    return DenseArchitecture(image, int(rng.integers(1, 4)), blocks, bud=int(rng.integers(1, 3)))


def toy(rng: Rng) -> ToyArchitecture:
    activations = rng.choice(["rational", "silu", "tanh"], int(rng.integers(3, 5)))
    layers = tuple(_layer(rng, str(a)) for a in activations)
    return ToyArchitecture(int(rng.integers(1, 5)), int(rng.integers(1, 4)), layers)


def weights(rng: Rng, shape: Any, dtype: Any = np.float64) -> Tree:
    """Parameters with signals of order one; zero where they read what is spare."""
    if isinstance(shape, DenseArchitecture):
        return densenets.random_parameters(rng, shape, initial_masks(shape), dtype)
    used, params = used_units(shape), {}
    for m in shape.maps:
        columns = used[m.target.name] | (m.target.spare == "dormant")
        block = np.outer(row_mask(m, used), columns)
        matrix = rng.standard_normal(m.size) / np.sqrt(m.rows_used) * block
        params[m.name] = split(m, matrix.astype(dtype))
        if m.target.coefficients is not None:
            coefficients = rng.standard_normal((3, m.columns)) * columns
            params[m.target.coefficients] = {"coefficients": coefficients.astype(dtype)}
    return params


def outputs(shape: Any, params: Tree, x: np.ndarray) -> np.ndarray:
    """What the units in use compute, by plain NumPy."""
    if isinstance(shape, DenseArchitecture):
        return densenets.run(shape, params, initial_masks(shape), x)[0]
    values, z = {shape.features[0].name: x}, x
    for m in shape.maps:
        read = np.concatenate([values[s.feature.name] for s in m.sources], axis=1)
        rows = [params[m.name][s.leaf][: s.feature.width] for s in m.sources]
        z = (read @ np.concatenate(rows) + params[m.name]["bias"])[:, : m.target.width]
        if m.target.activation is not None:
            own = params.get(m.target.coefficients or "", {}).get("coefficients")
            own = None if own is None else own[:, : m.target.width]
            values[m.target.name] = dense_algebra.act(m.target.activation, z, own)
    return z


def _place(rng: Rng, shape: Architecture) -> tuple[int, Feature]:
    layer = int(rng.integers(len(shape.hidden)))
    return layer, hidden_feature(shape, layer)


def add(rng: Rng, shape: Architecture) -> AddUnits:
    layer, feature = _place(rng, shape)
    m, k = writer(shape, feature.name), int(rng.integers(1, feature.capacity - feature.width + 1))
    read = row_mask(m, used_units(shape))
    incoming = rng.standard_normal((m.rows, k)) / np.sqrt(read.sum()) * read[:, None]
    coefficients = rng.standard_normal((3, k)) if feature.coefficients else None
    return AddUnits(layer, incoming, coefficients)


def activate(rng: Rng, shape: Architecture) -> Activate:
    layer, feature = _place(rng, shape)
    spare = rng.permutation(np.arange(feature.width, feature.capacity))
    return Activate(layer, tuple(map(int, spare[: rng.integers(1, len(spare) + 1)])))


def halve(rng: Rng, shape: Architecture) -> SplitUnit:
    layer, feature = _place(rng, shape)
    count = int(rng.integers(1, feature.capacity - feature.width + 1))
    shares = rng.random(count + 1) + 0.2
    unit = int(rng.integers(feature.width))
    return SplitUnit(layer, unit, tuple(map(float, shares / shares.sum())))


def remove(rng: Rng, shape: Architecture) -> RemoveUnit:
    layer, feature = _place(rng, shape)
    return RemoveUnit(layer, int(rng.integers(feature.width)))


def enlarge(rng: Rng, shape: Architecture) -> Enlarge:
    layer, feature = _place(rng, shape)
    return Enlarge(layer, feature.capacity + int(rng.integers(3)), 1, int(rng.integers(99)))


def reorder(rng: Rng, shape: Architecture) -> Reorder:
    layer, feature = _place(rng, shape)
    width, spare = feature.width, feature.capacity - feature.width
    order = [*rng.permutation(width), *(width + rng.permutation(spare))]
    return Reorder(layer, tuple(map(int, order)))


def redraw(rng: Rng, shape: Architecture) -> Redraw:
    chosen = {
        f.name: tuple(c for c in range(f.width, f.capacity) if rng.random() < 0.5)
        for f in shape.features
        if f.grows
    }
    return Redraw(chosen, 3, int(rng.integers(99)))


def insert(rng: Rng, shape: Architecture) -> InsertLayer:
    index = int(rng.integers(3 if isinstance(shape, ToyArchitecture) else 0, len(shape.hidden) + 1))
    m, side = receiver(shape, index), rng.integers(2)
    q = m.target.width if side else m.rows_used - 1
    kernel = floored(rng.standard_normal((q, q)), 0.5)
    drawn = np.concatenate([0.5 * rng.standard_normal((1, q)), kernel])
    return InsertLayer(index, "outputs" if side else "inputs", drawn, q + int(rng.integers(3)))


def promote(rng: Rng, shape: Any) -> PromoteBud:
    layer, capacity = int(rng.integers(len(shape.hidden))), shape.bud + int(rng.integers(3))
    return PromoteBud(layer, 1, int(rng.integers(99)), capacity)


Maker = Callable[[Rng, Any], Edit]
BOTH: tuple[Maker, ...] = (add, halve, remove, enlarge, reorder)
CASES: list[tuple[Callable[[Rng], Any], Maker]] = [
    *((kind, make) for kind in (mlp, toy) for make in (*BOTH, insert)),
    *((dormant_mlp, make) for make in (*BOTH, activate, redraw)),
    *((densenet, make) for make in (*BOTH, activate, redraw, promote)),
]
"""Every kind with every edit that it knows."""
IDS = [f"{kind.__name__}-{make.__name__}" for kind, make in CASES]


def unread(shape: Architecture, params: Tree, edit: Edit) -> Tree:
    """The parameters without the weights that read a unit which `edit` takes out."""
    if not isinstance(edit, RemoveUnit):
        return params
    result = dict(params)
    for m, source in readers(shape, hidden_feature(shape, edit.layer).name):
        matrix = joined(m, params[m.name]).copy()
        matrix[m.groups(source)[edit.unit]] = 0
        result[m.name] = split(m, matrix)
    return result


@dataclass
class Numbers:
    """A number for every unit of layers and buds by their place, and one for every map.

    Attributes:
      read: by the number of a map those of the rows that it had before anything was edited.
    """

    layers: list[list[int]]
    buds: list[list[int]]
    maps: list[int]
    bud_maps: list[int]
    head: int = 0
    fresh: int = NEW
    read: dict[int, set[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, shape: Architecture) -> Numbers:
        count = iter(range(10, NEW))
        layers = [[next(count) for _ in range(h.capacity)] for h in shape.hidden]
        buds = [[next(count) for _ in range(f.capacity)] for f in shape.features if f.role == "bud"]
        maps = list(range(1, 1 + len(layers)))
        found = cls(layers, buds, maps, [20 + m for m in maps])
        found.read = {found.map_number(m): set(found.rows(m).tolist()) for m in shape.maps}
        return found

    def new(self, count: int) -> list[int]:
        self.fresh += count
        return list(range(self.fresh - count, self.fresh))

    def follow(self, edit: Edit, shape: Architecture) -> None:
        """Moves the numbers as `edit` of a network of `shape` should move units."""
        if isinstance(edit, Redraw):
            return
        if isinstance(edit, InsertLayer):
            # The map is taken apart: neither of the two is the old one.
            at, (first, second) = edit.map, self.new(2)
            if at == len(self.maps):
                self.head = second
            else:
                self.maps[at] = second
            self.layers.insert(at, self.new(edit.capacity or edit.weights.shape[1]))
            self.maps.insert(at, first)
            return
        if isinstance(edit, PromoteBud):
            at, n = edit.layer, len(self.buds[edit.layer])
            self.layers.insert(at, self.buds[at] + self.new(max(edit.capacity - n, 0)))
            self.maps.insert(at, self.bud_maps[at])
            self.buds[at : at + 1] = [self.new(n), self.new(n)]
            self.bud_maps[at : at + 1] = self.new(2)
            return
        here, width = self.layers[edit.layer], shape.widths[edit.layer]
        if isinstance(edit, Enlarge):
            here += self.new(edit.capacity - len(here))
        elif isinstance(edit, Reorder):
            here[:] = [here[i] for i in edit.order]
        elif isinstance(edit, Activate):
            chosen = [here[i] for i in edit.units]
            here[width:] = chosen + [n for n in here[width:] if n not in chosen]
        elif isinstance(edit, AddUnits):
            here[width : width + edit.count] = self.new(edit.count)
        elif isinstance(edit, SplitUnit):
            here[width : width + edit.count] = [here[edit.unit]] * edit.count
        elif hidden_feature(shape, edit.layer).spare == "dormant":
            here.insert(width - 1, here.pop(edit.unit))
        else:
            here[edit.unit] = here[width - 1]
            here[width - 1 : width] = self.new(1)

    def map_number(self, m: Map) -> int:
        if m.target.role == "outputs":
            return self.head
        return (self.maps if m.target.role == "hidden" else self.bud_maps)[m.target.index]

    def units(self, feature: Feature) -> np.ndarray:
        if not feature.grows:
            return np.arange(feature.capacity)
        return np.array((self.layers if feature.role == "hidden" else self.buds)[feature.index])

    def rows(self, m: Map) -> np.ndarray:
        """Of every row of the joined matrix: its kernel position and its unit; 999 of the bias."""
        read = np.concatenate([self.units(source.feature) for source in m.sources])
        if m.window:
            return (1000 * np.arange(9)[:, None] + read).reshape(-1)
        return np.concatenate([[999], read])

    def known(self, m: Map) -> tuple[np.ndarray, np.ndarray]:
        """Which rows and columns were there before anything was edited."""
        rows = np.isin(self.rows(m), list(self.read.get(self.map_number(m), ())))
        return rows, (self.units(m.target) < NEW) & bool(rows.any())


def code(*numbers: Any) -> np.ndarray:
    """A number in (1, 2) for every combination, the same for the same arguments."""
    total: Any = 0.0
    for place, number in enumerate(numbers):
        total = total + np.sin(number * (1.7 + 0.9 * place) + 3.1 * place) * (1 + place)
    result: np.ndarray = (1.5 + 0.499 * np.sin(977.0 * total)).astype(np.float32)
    return result


def tree_of(shape: Architecture, numbers: Numbers, salt: float = 0.0) -> Tree:
    """A tree of the parameters' shape whose entries tell their place; zero at what is new."""
    result: Tree = {}
    for m in shape.maps:
        rows, columns = numbers.known(m)
        place = numbers.rows(m)[:, None], numbers.units(m.target)
        matrix = code(salt + numbers.map_number(m), *place)
        result[m.name] = split(m, np.where(np.outer(rows, columns), matrix, 0))
        if m.target.coefficients is not None:
            units = numbers.units(m.target)
            values = code(salt + 77, np.arange(3)[:, None], units)
            result[m.target.coefficients] = {"coefficients": np.where(units < NEW, values, 0)}
    return result
