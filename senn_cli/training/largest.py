"""The largest architecture that a spec lets a run grow to. No JAX.

Where units will go is not known in advance. Several ways to fill the limits are compared, in each
of which one layer gets all that it may have before the next does, and the one that takes most
memory counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from senn_cli.growth.dormant_settings import DormantSettings, settings_of
from senn_cli.nets.architecture import CapacityRule, Layer
from senn_cli.nets.densenet import DenseArchitecture
from senn_cli.nets.kinds import AnyArchitecture
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.spec import Spec
from senn_cli.spec.base import DEEPEST
from senn_cli.spec.expansion import GrowingSpec


def largest(
    spec: Spec,
    start: AnyArchitecture,
    rule: CapacityRule,
    memory: Callable[[AnyArchitecture], int],
) -> AnyArchitecture:
    """The architecture within the limits that takes most `memory`, or `start` without limits.

    A fully connected network is limited by `max_hidden` alone; layers are only inserted where
    growth can do nothing else. A DenseNet is limited by `max_hidden`, or by `max_width` together
    with `per_block` or `max_layers`.
    """
    if spec.growth is None:
        return start
    if isinstance(start, DenseArchitecture):
        found: list[AnyArchitecture] = list(_dense(settings_of(spec), start))
    elif spec.growth.max_hidden is None:
        found = []
    else:
        found = list(_connected(spec.growth, start, rule))
    return max(found, key=memory, default=start)


def _dense(settings: DormantSettings, start: DenseArchitecture) -> list[DenseArchitecture]:
    """A DenseNet, with all layers that there may be and without, filled from each of its layers."""
    inserts = settings.depth and start.bud > 0
    few_layers = not inserts or (settings.per_block, settings.max_layers) != (None, None)
    narrow = not settings.width or settings.max_width is not None
    if settings.max_hidden is None and not (few_layers and narrow):
        return []
    deeper = start
    for block in range(len(start.blocks)):
        at = deeper.flat(block, 0)
        while inserts and settings.allows_layer(deeper, at) and len(deeper.hidden) < DEEPEST:
            capacity = settings.room(start.bud, start.bud) if settings.width else start.bud
            layer = Layer(start.bud, capacity, deeper.hidden[at].activation)
            deeper = deeper.with_inserted(at, layer)
    if not settings.width:
        return [deeper]
    return [
        _wider(settings, grown, i) for grown in (start, deeper) for i in range(len(grown.hidden))
    ]


def _wider(settings: DormantSettings, grown: DenseArchitecture, first: int) -> DenseArchitecture:
    """`grown` with its layers filled from layer `first` on, as far as the limits go."""
    layers = range(len(grown.hidden))
    for index in (*layers[first:], *layers[:first]):
        width, capacity = grown.hidden[index].width, grown.hidden[index].capacity
        wanted = width
        if settings.max_hidden is not None:
            wanted = width + max(0, settings.max_hidden - sum(grown.widths))
        if settings.max_width is not None:
            most = max(width, settings.max_width)
            wanted = most if settings.max_hidden is None else min(wanted, most)
        room = max(capacity, settings.room(wanted, capacity))
        grown = grown.with_layer(index, width=wanted, capacity=room)
    return grown


def _connected(
    expansion: GrowingSpec, start: MlpArchitecture, rule: CapacityRule
) -> list[MlpArchitecture]:
    """A fully connected network, filled from each of its layers."""
    grown = _inserted(start, expansion, rule)
    if not (expansion.width.enabled and grown.hidden):
        return [grown]
    return [
        _widened(grown, (*range(first, len(grown.hidden)), *range(first)), expansion, rule)
        for first in range(len(grown.hidden))
    ]


def _inserted(
    start: MlpArchitecture, expansion: GrowingSpec, rule: CapacityRule
) -> MlpArchitecture:
    """`start` with the layers that must come before any neuron, or instead of neurons."""
    limit, most_layers = expansion.max_hidden or 0, expansion.depth.max_layers
    grown = start
    while expansion.depth.enabled and not (grown.hidden and expansion.width.enabled):
        # An inserted layer stands on its map's narrower side and is as wide as that.
        sizes = (grown.inputs, *grown.widths, grown.outputs)
        width, index = max((min(sizes[i : i + 2]), i) for i in range(len(grown.maps)))
        full = most_layers is not None and len(grown.hidden) >= most_layers
        if full or sum(grown.widths) + width > limit or len(grown.hidden) >= DEEPEST:
            break
        layer = Layer(width, rule.room(width), "rational")
        grown = replace(grown, hidden=(*grown.hidden[:index], layer, *grown.hidden[index:]))
    return grown


def _widened(
    start: MlpArchitecture, order: tuple[int, ...], expansion: GrowingSpec, rule: CapacityRule
) -> MlpArchitecture:
    """`start` with its layers filled in `order` until `max_hidden` is reached."""
    grown = start
    for index in order:
        extra = max(0, (expansion.max_hidden or 0) - sum(grown.widths))
        width, capacity = grown.hidden[index].width, grown.hidden[index].capacity
        wanted = width + extra
        if expansion.width.max_width is not None:
            wanted = max(width, min(wanted, expansion.width.max_width))
        while capacity < wanted:  # in the steps that single neurons make
            capacity = rule.room(capacity + 1, capacity)
        grown = grown.with_layer(index, width=wanted, capacity=capacity)
    return grown
