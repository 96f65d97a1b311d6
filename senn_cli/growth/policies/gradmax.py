"""The policy `gradmax` (Evci et al., ICLR 2022).

It answers what: units that read nothing yet, so that the function stays, and are read by the output
weights of a given length under which the gradient of their input weights is largest. When and where
are given.
"""

from __future__ import annotations

import numpy as np

from senn_cli.growth.directions import steepest
from senn_cli.growth.edits import AddUnits
from senn_cli.growth.policies.given import Places, Widening
from senn_cli.growth.policies.grown import sample_rows
from senn_cli.growth.policy import Decision, View
from senn_cli.growth.sight import Sights, identities, mean_norm, parted
from senn_cli.growth.sight import reads as reading
from senn_cli.nets.features import hidden_feature
from senn_cli.spec.activation import SLOPES
from senn_cli.words import plural


class GradMax(Widening):
    """Adds units of the largest gradient.

    Args:
      places: which layers get units, and how many.
      samples: examples that the gradient is taken of.
      outgoing: the length of output weights, as a share of the mean in their layer.
      sights: what looks at samples.
    """

    def __init__(self, places: Places, samples: int, outgoing: float, sights: Sights) -> None:
        self.places, self.samples, self.outgoing, self.sights = places, samples, outgoing, sights

    def units(self, view: View, layer: int, count: int) -> Decision:
        """Those of the largest gradient, as many as there are outputs that pull."""
        feature = hidden_feature(view.architecture, layer)
        assert feature.activation is not None
        rows, _ = sample_rows(view, self.samples, held_out=False)
        sight = self.sights.seen(view, feature.name, rows)
        omega, values = steepest(sight.gradients(), count)
        length = self.outgoing * mean_norm(view.architecture, feature.name, view.params)
        if not length * values.sum():
            reason = f"no gradient reaches new neurons of {feature.site}"
            return Decision(None, reason, loss=float(sight.loss))
        size = SLOPES[feature.activation] * length
        reads = sum(m.target.width for m, _ in reading(view.architecture, feature.name))
        chance = float(np.linalg.norm(sight.gradients())) / np.sqrt(reads)
        told = (
            f"the gradients of {plural(len(values), 'neuron')} of {feature.site} are "
            f"{size * values.mean():.3g} long, of random ones {size * chance:.3g}"
        )
        incoming = np.zeros((len(sight.own), len(values)), np.float32)
        outgoing = parted(view.architecture, feature.name, length * omega)
        edit = AddUnits(layer, incoming, identities(feature, len(values)), outgoing)
        return Decision(edit, told, loss=float(sight.loss))
