"""The policy `net2net` (Chen, Goodfellow and Shlens, ICLR 2016).

It answers what. Wider: a new unit is the copy of one that is drawn by chance, and all copies of a
unit share its output weights; a little noise on the input weights lets them part. Deeper: a layer
at the identity, here of rational units, which can be that behind any activation. The function stays
but for the noise. When and where are given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from senn_cli.growth.edits import InsertLayer, SplitUnit, edit_architecture
from senn_cli.growth.policies.given import NOWHERE, Given, Places
from senn_cli.growth.policy import Decision, Round, View
from senn_cli.nets.features import Architecture, hidden_feature, used_units, writer
from senn_cli.nets.leaves import joined, row_mask
from senn_cli.nets.registry import kind_of
from senn_cli.randomness import numpy_generator


class Net2Net(Given):
    """Copies units, and inserts layers at the identity.

    Args:
      places: which layers get units, and how many.
      jitter: deviation of the noise on copies, as a share of their own weights' root mean square.
    """

    def __init__(self, places: Places, jitter: float) -> None:
        self.places, self.jitter = places, jitter

    def due(self, view: View) -> Round:
        """A layer where one may come, and copies in the layers that were there."""
        architecture, limits = view.architecture, self.places.limits
        decisions = []
        if limits.deepens and view.layer_allowed:
            layer = last_layer(architecture)
            after = None if layer is None else edit_architecture(architecture, layer)
            if after is not None and limits.allows(architecture, after):
                decisions.append(Decision(layer, "a layer at the identity"))
                architecture = after  # behind all others, whose numbers stay
        if limits.widens:
            there = range(len(view.architecture.hidden))
            found = Places(limits, self.places.layers or tuple(there)).of(architecture)
            for index, count in found:
                decisions += [
                    Decision(edit, f"drawn to be copied, {edit.count} of {count}", keeps=self.keeps)
                    for edit in self._copies(view, index, count)
                ]
        return Round(tuple(decisions) or (Decision(None, NOWHERE),))

    @property
    def keeps(self) -> bool:
        """Whether copies keep the function."""
        return self.jitter == 0

    def _copies(self, view: View, layer: int, count: int) -> Iterator[SplitUnit]:
        """The splits that make `count` units of a hidden layer, each of one old unit."""
        feature = hidden_feature(view.architecture, layer)
        m = writer(view.architecture, feature.name)
        rng = numpy_generator(view.seed, f"net2net {layer}", view.step)
        drawn = Counter(map(int, rng.integers(feature.width, size=count)))
        leaves = {leaf: np.asarray(array) for leaf, array in view.params[m.name].items()}
        read = row_mask(m, used_units(view.architecture))
        weights = joined(m, leaves)[read]
        for unit, copies in sorted(drawn.items()):
            scale = self.jitter * np.sqrt(np.mean(weights[:, unit] ** 2, dtype=np.float64))
            offsets = np.zeros((m.rows, 1 + copies))
            offsets[read, 1:] = scale * rng.standard_normal((len(weights), copies))
            shares = (1 / (1 + copies),) * (1 + copies)
            yield SplitUnit(layer, unit, shares, offsets if self.jitter else None)


def last_layer(architecture: Architecture) -> InsertLayer | None:
    """A layer at the identity before the last map that has room for one; None if none has."""
    found = kind_of(architecture).divisible(architecture)
    if not found:
        return None
    index, m = found[-1]
    weights = np.eye(1 + m.rows_used - m.bias)[:, 1:]  # the bias in front, which is zero
    return InsertLayer(index, "inputs", weights)
