"""A network within a growth round, with the units that were accepted so far."""

from __future__ import annotations

import numpy as np

from senn_cli.engine.arrays import examples
from senn_cli.growth.compiled import ROOM
from senn_cli.growth.policy import Site, View, sites
from senn_cli.growth.settings import Settings
from senn_cli.nets.features import Architecture, Feature, Map, writer
from senn_cli.randomness import numpy_generator


def sample_size(n: int, wanted: int, *, held_out: bool = True) -> int:
    """Examples of each of the two samples of a round, of `n` in all."""
    return min(wanted, n // 2) if held_out else min(wanted, n)


def sample_rows(view: View, wanted: int, *, held_out: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Examples to search on and examples to decide on, disjoint where `held_out`.

    Where examples do not count alike each is there as often as it counts, to within one, so that
    plain means over a sample are weighted ones.
    """
    n = examples(view.data)
    count = sample_size(n, wanted, held_out=held_out)
    order = numpy_generator(view.seed, "growth sample", view.step).permutation(n)
    order = order.astype(np.int32)
    if view.data.weights is None:
        return order[:count], order[count : 2 * count] if held_out else order[:count]
    parts = (order[: n // 2], order[n // 2 :]) if held_out else (order, order)
    weights = np.asarray(view.data.weights, np.float64)
    return _as_often(parts[0], weights, count), _as_often(parts[1], weights, count)


def _as_often(rows: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
    """`count` of the rows, each as often as it counts among them, to within one."""
    edges = np.cumsum(weights[rows])
    places = (np.arange(count) + 0.5) / count * edges[-1]
    found: np.ndarray = rows[np.minimum(np.searchsorted(edges, places, "right"), len(rows) - 1)]
    return found


class Grown:
    """The sizes of a network as it grows.

    Attributes:
      widths: units in use, a hidden layer each.
      room: units that may still be added, a hidden layer each, before arrays must be larger.
    """

    def __init__(self, settings: Settings, view: View) -> None:
        self.settings, self.view = settings, view
        self.widths = list(view.architecture.widths)
        self.room = [ROOM + h.capacity - h.width for h in view.architecture.hidden]

    def add(self, index: int) -> None:
        """A unit joins hidden layer `index`."""
        self.widths[index] += 1
        self.room[index] -= 1

    def size(self, m: Map) -> tuple[int, int]:
        """Inputs and outputs in use of a map."""
        read = sum(self._width(source.feature) for source in m.sources)
        return read, self._width(m.target)

    def _width(self, feature: Feature) -> int:
        return self.widths[feature.index] if feature.role == "hidden" else feature.width

    def map(self, site: Site) -> Map:
        """The map whose score an addition at `site` raises."""
        (target,) = site.targets(self.view.architecture)
        return target

    def readable(self, site: Site) -> int:
        """Columns that proposals at `site` read, the constant not counted: those of the start."""
        if site.side == "outputs":
            return self.map(site).target.width
        m = self.map(site) if site.side else writer(self.view.architecture, site.at)
        return m.rows_used - m.bias

    def architecture(self) -> Architecture:
        """The network's architecture."""
        grown = self.view.architecture
        for index, width in enumerate(self.widths):
            capacity = max(width, grown.hidden[index].capacity)
            grown = grown.with_layer(index, width=width, capacity=capacity)
        return grown

    def parameters(self, site: Site) -> int:
        """The parameters that one addition at `site` brings."""
        now = self.architecture()
        return site.after(now).parameters - now.parameters

    def sites(self) -> tuple[Site, ...]:
        """Where something may be added."""
        s, now = self.settings, self.architecture()
        depth = s.deepens and self.view.layer_allowed
        found = sites(self.view.architecture, width=s.widens, depth=depth)
        return tuple(site for site in found if s.allows(now, site.after(now)))
