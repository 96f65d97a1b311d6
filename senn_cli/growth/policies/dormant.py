"""The policy `senn` with `proposals: dormant`: units come and go with training.

Units that are allocated but not in use, and buds, are standing proposals. At every round each one
whose score passes the threshold is taken into use with a small probability, and each one in use
whose removal would cost less than the threshold is taken out with a small probability (section 3.5
and appendix "Hyperparameters"). A round stands for all steps since the last, so that the
probabilities of k steps are joined: 1 - (1 - p)^k.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax

from senn_cli.curvature.tracking import Tracked, Tracking
from senn_cli.engine.programs import Ledger, Program
from senn_cli.growth.policies.dormant_round import DormantRound
from senn_cli.growth.policy import Policy, Round, View
from senn_cli.growth.settings import Settings
from senn_cli.growth.tracked_scores import TrackedScores, tracked_scores
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import Parameters


class DormantGrowth(Policy):
    """Decides by tracked scores.

    Args:
      settings: the options.
      tracking: how the curvature is tracked.
      ledger: counts what is compiled.
    """

    def __init__(self, settings: Settings, tracking: Tracking, ledger: Ledger) -> None:
        self.settings = settings

        def score(shape: Any, state: Any, params: Any, widths: Any) -> TrackedScores:
            return tracked_scores(shape, tracking, state, params, widths)

        self._score = Program("score", score, ledger, static=(0,))

    def upcoming(self, architecture: Architecture) -> Architecture | None:
        """The architecture that the next round will make room for, if it will."""
        grown = self.settings.enlarged(architecture)
        return None if grown == architecture else grown

    def expect(self, view: View) -> list[Callable[[], None]]:
        """What compiles the scores in another thread."""
        shape = view.architecture.shape()
        return [self._score.expect(shape, view.tracked, view.params, view.widths)]

    def eta(
        self, shape: Architecture, tracked: Tracked, params: Parameters, widths: jax.Array
    ) -> float:
        """The network's score: the sum of those of its maps, which are blocks of F."""
        scores: TrackedScores = jax.device_get(self._score(shape, tracked, params, widths))
        return float(sum(scores.etas.values()))

    def decide(self, view: View) -> Round:
        """One round: new draws of proposals, prunings, activations, room, at most one layer."""
        started = time.perf_counter()
        found = self._score(view.architecture.shape(), view.tracked, view.params, view.widths)
        scores: TrackedScores = jax.device_get(found)
        decisions = list(DormantRound(self.settings, view, scores).decisions())
        if decisions:
            spent = time.perf_counter() - started
            decisions[0] = replace(decisions[0], seconds=spent)
        return Round(tuple(decisions))
