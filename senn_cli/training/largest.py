"""The largest architecture that a spec lets a run grow to. No JAX.

Where units will go is not known in advance. Several ways to fill the limits are compared, in each
of which one layer gets all that it may have before the next does, and the one that takes most
memory counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from senn_cli.growth.settings import limits_of
from senn_cli.nets.architecture import CapacityRule, Layer
from senn_cli.nets.features import Architecture
from senn_cli.spec import Spec
from senn_cli.spec.base import DEEPEST
from senn_cli.spec.expansion import GrowingSpec, StandingSpec
from senn_cli.training.footprint import looks


def largest(
    spec: Spec,
    start: Architecture,
    rule: CapacityRule,
    memory: Callable[[Architecture], int],
) -> Architecture:
    """The architecture within the limits that takes most `memory`, or `start` without limits.

    A network is limited by `max_hidden`, or by `max_width` together with a number of layers. Buds
    are taken for layers at once; other layers are only inserted where growth can do nothing else.
    """
    if spec.growth is None:
        return start

    def in_steps(width: int, capacity: int) -> int:
        capacity = capacity or rule.room(width)
        while capacity < width:  # in the steps that single units make
            capacity = rule.room(capacity + 1, capacity)
        return capacity

    room = limits_of(spec).room if looks(start) else in_steps
    limits = _Limits(spec.growth, room)
    if not limits.ends(start):
        return start
    deeper = limits.deeper(start)
    found = [
        limits.filled(grown, first)
        for grown in (start, deeper)
        for first in range(len(grown.hidden) if spec.growth.width.enabled else 0)
    ]
    return max([*found, deeper], key=memory)


@dataclass(frozen=True)
class _Site:
    """Where a layer can be inserted: before hidden layer `index`, or last."""

    index: int
    layer: Layer


@dataclass(frozen=True)
class _Limits:
    """What `growth` allows, and the capacity for a width where there is one already, or 0."""

    growth: GrowingSpec
    room: Callable[[int, int], int]

    def ends(self, start: Architecture) -> bool:
        """Whether growth from `start` ever ends."""
        growth, buds = self.growth, any(f.role == "bud" for f in start.features)
        anywhere = not isinstance(growth, StandingSpec) and not looks(start)
        inserts = growth.depth.enabled and (buds or anywhere)
        counted = buds and (growth.depth.per_block, growth.depth.max_layers) != (None, None)
        few_layers = counted or not inserts
        narrow = not growth.width.enabled or growth.width.max_width is not None
        return growth.max_hidden is not None or (few_layers and narrow)

    def deeper(self, start: Architecture) -> Architecture:
        """`start` with the layers that there may be, or that must come before any unit."""
        grown, growth = start, self.growth
        while growth.depth.enabled and len(grown.hidden) < DEEPEST:
            site = next((s for s in self._sites(grown) if self._allows(grown, s)), None)
            if site is None:
                break
            grown = _inserted(grown, site)
        return grown

    def _sites(self, grown: Architecture) -> Iterator[_Site]:
        """Where layers can be inserted: at buds, the first of every block, or in any map."""
        buds = [f for f in grown.features if f.role == "bud"]
        width = self.growth.width.enabled
        for bud in buds:
            assert bud.activation is not None
            room = self.room(bud.capacity, bud.capacity) if width else bud.capacity
            yield _Site(bud.index, Layer(bud.capacity, room, bud.activation))
        standing = isinstance(self.growth, StandingSpec) or looks(grown)
        if standing or (grown.hidden and width):
            return
        # A layer that begins as the identity stands on its map's narrower side, as wide as that.
        maps = [m for m in grown.maps if len(m.sources) == 1 and not m.window]
        sizes = [min(m.rows_used - m.bias, m.target.width) for m in maps]
        for n, index in sorted(zip(sizes, range(len(maps)), strict=True), reverse=True)[:1]:
            target = maps[index].target
            place = target.index if target.role == "hidden" else len(grown.hidden)
            yield _Site(place, Layer(n, self.room(n, 0), "rational"))

    def _allows(self, grown: Architecture, site: _Site) -> bool:
        growth, added = self.growth, site.layer.width
        most, widest = growth.max_hidden, growth.width.max_width
        block = next((b for b in _places(grown) if site.index in b), range(0))
        return (
            (growth.depth.per_block is None or len(block) < growth.depth.per_block)
            and (growth.depth.max_layers is None or len(grown.hidden) < growth.depth.max_layers)
            and (widest is None or added <= max(widest, *grown.widths, 0))
            and (most is None or sum(grown.widths) + added <= most)
        )

    def filled(self, grown: Architecture, first: int) -> Architecture:
        """`grown` with its layers filled from layer `first` on, as far as the limits go."""
        layers = range(len(grown.hidden))
        most, widest = self.growth.max_hidden, self.growth.width.max_width
        for index in (*layers[first:], *layers[:first]):
            width, capacity = grown.hidden[index].width, grown.hidden[index].capacity
            bounds = [] if most is None else [width + max(0, most - sum(grown.widths))]
            bounds += [] if widest is None else [max(width, widest)]
            wanted = min(bounds, default=width)
            room = max(capacity, self.room(wanted, capacity))
            grown = grown.with_layer(index, width=wanted, capacity=room)
        return grown


def _places(architecture: Architecture) -> Iterator[range]:
    """The numbers of the hidden layers of every block."""
    first = 0
    for block in architecture.blocks:
        yield range(first, first + len(block))
        first += len(block)


def _inserted(grown: Architecture, site: _Site) -> Architecture:
    blocks, last = [], len(grown.hidden)
    for block, places in zip(grown.blocks, _places(grown), strict=True):
        here = site.index in places or site.index == last == places.stop
        at = site.index - places.start
        blocks.append((*block[:at], site.layer, *block[at:]) if here else block)
    return grown.with_blocks(blocks)
