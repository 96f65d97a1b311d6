"""The policy `senn` with `proposals: search`: additions when, where and as the score says.

A round looks at two disjoint samples of the training data. On the first, proposals are searched
for at every site; on the second they are scored. The best that passes the threshold tau and the
stop alpha (ingredient 4) is accepted, its activations join those of its layer, the residual
gradient is taken anew and the round goes on until nothing passes. Where pruning is on, the round
then takes out the units that it would not add again (section 3.5). The control `random` decides as
`senn` does, and adds draws from the initial distribution (`control.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from senn_cli.engine.arrays import examples
from senn_cli.engine.feed import Feed
from senn_cli.engine.mesh import ONE, placement_of
from senn_cli.growth import looks
from senn_cli.growth.compiled import Compiled
from senn_cli.growth.edits import RemoveUnit
from senn_cli.growth.fields import Fields
from senn_cli.growth.policies.field_round import FieldRound, chained
from senn_cli.growth.policies.grown import sample_rows, sample_size
from senn_cli.growth.policies.search_ahead import SearchAhead
from senn_cli.growth.policies.search_round import SearchRound
from senn_cli.growth.policy import Decision, Policy, Round, View
from senn_cli.growth.samples import examples_of
from senn_cli.growth.settings import Settings


class SearchGrowth(Policy):
    """Decides by the scores of proposals that every round searches for."""

    def __init__(self, settings: Settings, compiled: Compiled, fields: Fields) -> None:
        self.settings, self.compiled, self.fields = settings, compiled, fields

    def compares(self, idle: int) -> bool:
        """Until growth has ended, where it is to end by itself."""
        return self.settings.patience is not None and idle < self.settings.patience

    def deciding(self, view: View) -> np.ndarray | None:
        """The sample that proposals are scored on."""
        if not chained(view.architecture):
            return None
        return sample_rows(view, self.settings.samples, held_out=self.settings.held_out)[1]

    def expect(self, view: View) -> list[Callable[[], None]]:
        """What compiles the programs of a round in another thread."""
        s, data = self.settings, view.data
        if isinstance(data, Feed) or placement_of(data.y) is not ONE:
            return []
        if s.exhausted(view.architecture, 0) is not None:
            return []
        if chained(view.architecture):
            return [SearchAhead(s, self.compiled, view, data).compile]
        count = examples_of(view.architecture, s.samples, examples(data), held_out=s.held_out)
        rows = np.zeros(sample_size(examples(data), count, held_out=s.held_out), np.int32)
        network = (view.architecture.shape(), view.params, view.widths)
        return [partial(self.fields.compile, network, (data, rows), s)]

    def decide(self, view: View) -> Round:
        """One round, or its part up to an inserted layer or a full capacity."""
        s = self.settings
        seen = looks.look(view, s.patience)
        found = replace(self._round(view, seen.reason), kept=seen.kept, ended=seen.ended)
        added = view.asked > 0 or any(
            d.edit is not None and not isinstance(d.edit, RemoveUnit) for d in found.decisions
        )
        if seen.ended or added or s.patience is None or view.idle + 1 < s.patience:
            return found
        last = Decision(None, looks.idle(s.patience), threshold=s.threshold, stop=s.stop)
        return replace(found, decisions=(*found.decisions, last), ended=True)

    def _round(self, view: View, reason: str | None) -> Round:
        """The round, if there is no `reason` against it."""
        s = self.settings
        reason = reason or s.exhausted(view.architecture, view.added)
        if not chained(view.architecture):
            if reason is not None:
                return Round((Decision(None, reason, threshold=s.threshold, stop=s.stop),))
            return FieldRound(s, self.fields, view).run()
        if reason is None:
            return SearchRound(s, self.compiled, view).run()
        stopped = Decision(None, reason, threshold=s.threshold, stop=s.stop)
        if s.prune is None:
            return Round((stopped,))
        return SearchRound(s, self.compiled, view).end(stopped)
