"""The policy `tiny` (Verbockhaven et al., 2024): units against the expressivity bottleneck.

It answers what, and how many: along the best linear map from what a layer's units read to what no
change of the output weights that are there gains (`directions.bottleneck`), at the size under which
the loss is lowest on examples that the directions were not computed from. The function changes by
that. When and where are given.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from senn_cli.engine.arrays import Arrays, inputs, targets
from senn_cli.engine.feed import handed
from senn_cli.engine.objective import Objective
from senn_cli.engine.programs import Ledger, Program
from senn_cli.growth.directions import bottleneck
from senn_cli.growth.edits import AddUnits
from senn_cli.growth.gates import Behind, Units
from senn_cli.growth.policies.given import Places, Widening
from senn_cli.growth.policies.grown import sample_rows
from senn_cli.growth.policy import Decision, View
from senn_cli.growth.realise import SIZES, best_size
from senn_cli.growth.sight import Sights, identities, parted
from senn_cli.nets.features import Architecture, hidden_feature
from senn_cli.nets.registry import Parameters, used
from senn_cli.spec.activation import SLOPES
from senn_cli.words import plural


class Tiny(Widening):
    """Adds units for what a layer cannot express.

    Args:
      places: which layers get units, and how many.
      samples: examples that a look, and the line search, take.
      least: units whose lambda is below this share of the largest are left out.
      sights: what looks at samples.
      objective: whose loss the line search follows.
      ledger: counts what is compiled.
    """

    def __init__(
        self,
        places: Places,
        samples: int,
        least: float,
        sights: Sights,
        objective: Objective,
        ledger: Ledger,
    ) -> None:
        self.places, self.samples, self.least, self.sights = places, samples, least, sights

        def line(
            shape: Architecture,
            at: str,
            params: Parameters,
            widths: jax.Array,
            data: Arrays,
            rows: jax.Array,
            units: Units,
        ) -> jax.Array:
            x, y = inputs(data, rows), targets(data, rows)
            behind = Behind(shape, at, params, used(shape, widths), x, y, objective)
            found: jax.Array = jax.lax.map(lambda s: behind.added(units, s), jnp.asarray(SIZES))
            return found

        self._line = Program("score", line, ledger, static=(0, 1))

    def units(self, view: View, layer: int, count: int) -> Decision:
        """Those of the largest singular values, at the best size."""
        architecture = view.architecture
        feature = hidden_feature(architecture, layer)
        assert feature.activation is not None
        first, second = sample_rows(view, self.samples)
        sight = self.sights.seen(view, feature.name, first)
        best = bottleneck(sight.damped(), sight.residuals(architecture), count, self.least)
        incoming = np.zeros((len(sight.own), count), np.float32)  # of one shape, whatever is kept
        rows = np.zeros((count, best.outgoing.shape[1]))
        k = len(best.values)
        incoming[:, :k], rows[:k] = best.incoming, best.outgoing
        outgoing = parted(architecture, feature.name, rows)
        units = Units(incoming, {name: w[:, 0] for name, w in outgoing.items()})
        losses = self._line(
            architecture.shape(),
            feature.name,
            view.params,
            view.widths,
            *handed(view.data, second),
            units,
        )
        tried = np.asarray(losses, np.float64)
        size = float(SIZES[(number := int(best_size(losses)))])  # of both units' weights together
        if size == 0:
            reason = f"no size of {plural(k, 'neuron')} of {feature.site} lowers the loss"
            return Decision(None, reason, loss=float(tried[0]))
        edit = AddUnits(
            layer,
            np.sqrt(size).astype(np.float32) * incoming[:, :k],
            identities(feature, k),
            {name: np.sqrt(size).astype(np.float32) * w[:k] for name, w in outgoing.items()},
        )
        slope = SLOPES[feature.activation] * best.first_order(sight.gradients())
        told = (
            f"{plural(k, 'neuron')} of {feature.site} at the size {size:.3g} lower the loss of "
            f"other examples by {tried[0] - tried[number]:.3g}; to first order it would be "
            f"{-size * slope:.3g}"
        )
        change = float(tried[number] - tried[0])
        return Decision(edit, told, loss=float(tried[0]), change=change, keeps=False)
