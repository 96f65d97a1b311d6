"""Which checkpoints are kept and which are removed: the newest, and one an interval."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class KeepRules:
    """What is kept; whatever no rule keeps is removed.

    Attributes:
      keep: how many of the newest are kept, at least 1: the newest is never removed.
      keep_every_steps: the newest of every interval of this many steps is kept for ever. The
        intervals are steps 1 to n, n + 1 to 2 n, and so on, so that checkpoints at the multiples
        of n are the ones kept where there are such. None for no such rule.

    Raises:
      ValueError: a number below 1.
    """

    keep: int = 3
    keep_every_steps: int | None = None

    def __post_init__(self) -> None:
        if self.keep < 1:
            raise ValueError(f"keep should be at least 1, found {self.keep}")
        if self.keep_every_steps is not None and self.keep_every_steps < 1:
            raise ValueError(
                f"keep_every_steps should be at least 1, found {self.keep_every_steps}"
            )


def evicted(steps: Iterable[int], rules: KeepRules) -> frozenset[int]:
    """The steps whose checkpoints no rule keeps.

    Applied after every save, it leaves the same checkpoints as applied once at the end.

    Args:
      steps: of the complete checkpoints, in any order.
      rules: what is kept.
    """
    ordered = sorted(set(steps))
    kept = set(ordered[-rules.keep :])
    if rules.keep_every_steps is not None:
        length = rules.keep_every_steps
        # Ascending order, so an interval's last one stays; step 0 lies before the first interval.
        kept |= set({-(-step // length): step for step in ordered if step > 0}.values())
    return frozenset(ordered) - kept


def best_moments(bests: Iterable[int], steps: Iterable[int]) -> frozenset[int]:
    """The steps of best moments that checkpoints need: of each, the newest up to its own step.

    Bests only get better, so the newest one is the best.

    Args:
      bests: the steps of saved best moments.
      steps: of the checkpoints.
    """
    ordered = sorted(bests)
    places = (bisect_right(ordered, step) for step in steps)
    return frozenset(ordered[place - 1] for place in places if place)
