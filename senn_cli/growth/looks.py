"""Whether a network is to grow at all: what rounds see of its loss before they search.

A score is of a network at rest: within a jump of the loss eta is large, and additions that seem to
pay for themselves only follow the jump. And what the training data promise, the validation loss may
contradict. Growth ends for good where `patience` rounds in a row have added nothing, or have found
the validation loss above its lowest.
"""

from __future__ import annotations

import statistics
from typing import NamedTuple

from senn_cli.growth.policy import Kept, View

JUMP = 3.0
"""How many times its median over the last looks a loss is where it has jumped."""

LOOKS = 5
"""Looks that the median is of."""


class Look(NamedTuple):
    """What a round sees before it begins.

    Attributes:
      reason: why nothing is to be added; None where something may be.
      kept: for later rounds.
      ended: whether nothing will ever be added again.
    """

    reason: str | None
    kept: Kept
    ended: bool = False


def look(view: View, patience: int | None) -> Look:
    """Looks at the validation loss, or at the training loss where there is no validation part.

    Args:
      patience: rounds without progress after which growth has ended; None to ask for nothing.
    """
    if patience is None or view.asked:
        return Look(None, view.kept)
    if view.idle >= patience:
        return Look(idle(patience), view.kept, ended=True)
    if view.validated and (ended := _contradicted(view.kept, patience)):
        return Look(ended, view.kept, ended=True)
    kept = _after(view.kept, (view.step, view.reference()), max(patience, LOOKS))
    ended = _contradicted(kept, patience) if view.validated else None
    return Look(ended or _jumped(kept), kept, ended=ended is not None)


def idle(patience: int) -> str:
    """Why growth has ended after so many rounds in a row that have added nothing."""
    return f"growth has ended: {patience} rounds in a row added nothing"


def _after(kept: Kept, now: tuple[int, float], most: int) -> Kept:
    """The lowest of all looks, the earliest of equals, and the `most` newest."""
    looks = (*kept[1:], now)
    lowest = min((*kept[:1], now), key=lambda row: row[1])
    return (lowest, *looks[-most:])


def _contradicted(kept: Kept, patience: int) -> str | None:
    """Why growth has ended, where the last `patience` looks are all later than the lowest."""
    newest = kept[1:][-patience:]
    if len(newest) < patience or newest[0][0] <= kept[0][0]:
        return None
    step, loss = kept[0]
    return (
        f"growth has ended: at {patience} looks in a row, up to step {newest[-1][0]}, the "
        f"validation loss was above the {loss:.3g} of step {step}"
    )


def _jumped(kept: Kept) -> str | None:
    """Why to wait, where the newest loss is far above the median of the last ones."""
    losses = [loss for _, loss in kept[1:][-LOOKS:]]
    median = statistics.median(losses)
    if losses[-1] <= JUMP * median:
        return None
    return f"the loss has jumped: {losses[-1]:.3g}, above {JUMP:g} times its median of {median:.3g}"
