"""The policy `senn` with `proposals: dormant` for DenseNets: channels come and go with training.

Channels that are allocated but not in use, and buds, are standing proposals. At every round each
one whose score passes the threshold is taken into use with a small probability, and each one in use
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

from senn_cli.curvature.tracking import Tracking
from senn_cli.engine.programs import Ledger, Program
from senn_cli.growth.dormant_images import ImageScores, image_scores
from senn_cli.growth.dormant_round import DormantRound
from senn_cli.growth.dormant_settings import DormantSettings, settings_of
from senn_cli.growth.policy import Round, View
from senn_cli.nets.densenet import DenseArchitecture
from senn_cli.spec import Spec


class DormantChannels:
    """Decides by tracked scores.

    Args:
      settings: the options.
      tracking: how the curvature is tracked.
      ledger: counts what is compiled.
    """

    def __init__(self, settings: DormantSettings, tracking: Tracking, ledger: Ledger) -> None:
        self.settings = settings

        def score(shape: Any, state: Any, params: Any, widths: Any) -> ImageScores:
            return image_scores(shape, tracking, state, params, widths)

        self._score = Program("score", score, ledger, static=(0,))

    def upcoming(self, architecture: DenseArchitecture) -> DenseArchitecture | None:
        """The architecture that the next round will make room for, if it will."""
        grown = self.settings.enlarged(architecture)
        return None if grown == architecture else grown

    def expect(self, *args: Any) -> Callable[[], None]:
        """What compiles the scores for (shape, tracked, parameters, widths) in another thread."""
        return self._score.expect(*args)

    def eta(self, shape: DenseArchitecture, tracked: Any, params: Any, widths: Any) -> float:
        """The network's score g^T F^-1 g, by what has been tracked of it."""
        scores: ImageScores = jax.device_get(self._score(shape, tracked, params, widths))
        return float(sum(scores.etas.values()))

    def decide(self, view: View) -> Round:
        """One round: new draws of proposals, prunings, activations, room, at most one layer."""
        started = time.perf_counter()
        assert isinstance(view.architecture, DenseArchitecture)
        shape = view.architecture.shape()
        found = self._score(shape, view.tracked, view.params, view.widths)
        scores: ImageScores = jax.device_get(found)
        decisions = list(DormantRound(self.settings, view, view.architecture, scores).decisions())
        if decisions:
            spent = time.perf_counter() - started
            decisions[0] = replace(decisions[0], seconds=spent)
        return Round(tuple(decisions))


def make_dormant(spec: Spec, tracking: Tracking, ledger: Ledger) -> DormantChannels:
    """The policy that `spec` describes, for a DenseNet."""
    return DormantChannels(settings_of(spec), tracking, ledger)
