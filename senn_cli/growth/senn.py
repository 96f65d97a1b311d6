"""The policy `senn`: additions when, where and as the natural expansion score says (section 3).

A round looks at two disjoint samples of the training data. On the first, proposals are searched
for at every site; on the second they are scored. The best that passes the threshold tau and the
stop alpha (ingredient 4) is accepted, its activations join those of its layer, the residual
gradient is taken anew and the round goes on until nothing passes. Where pruning is on, the round
then takes out the neurons that it would not add again (section 3.5).
"""

from __future__ import annotations

from senn_cli.growth.compiled import Compiled
from senn_cli.growth.policy import Decision, Policy, Round, View
from senn_cli.growth.round import GrowthRound
from senn_cli.growth.settings import SennSettings


class SennPolicy(Policy):
    """Decides by the natural expansion score."""

    def __init__(self, settings: SennSettings, compiled: Compiled) -> None:
        self.settings = settings
        self.compiled = compiled

    def decide(self, view: View) -> Round:
        """One round, or its part up to an inserted layer or a full capacity."""
        reason = self.settings.exhausted(view.architecture, view.added)
        if reason is not None:
            stopped = Decision(
                None, reason, threshold=self.settings.threshold, stop=self.settings.stop
            )
            if self.settings.prune is None:
                return Round((stopped,))
            return GrowthRound(self.settings, self.compiled, view).end(stopped)
        return GrowthRound(self.settings, self.compiled, view).run()
