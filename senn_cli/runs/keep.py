"""Which checkpoints are kept and which are removed: the newest, the best, and one an interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class KeepRules:
    """What is kept; whatever no rule keeps is removed.

    Attributes:
      keep: how many of the newest are kept, at least 1: the newest is never removed.
      keep_every_steps: the newest of every interval of this many steps is kept for ever. The
        intervals are steps 1 to n, n + 1 to 2 n, and so on, so that checkpoints at the multiples
        of n are the ones kept where there are such. None for no such rule.
      best: whether the one of the best metric is kept, however old it is.
      maximise: whether a larger metric is the better one.

    Raises:
      ValueError: a number below 1.
    """

    keep: int = 3
    keep_every_steps: int | None = None
    best: bool = False
    maximise: bool = False

    def __post_init__(self) -> None:
        if self.keep < 1:
            raise ValueError(f"keep should be at least 1, found {self.keep}")
        if self.keep_every_steps is not None and self.keep_every_steps < 1:
            raise ValueError(
                f"keep_every_steps should be at least 1, found {self.keep_every_steps}"
            )


def evicted(
    steps: Iterable[int], metrics: Mapping[int, float | None], rules: KeepRules
) -> frozenset[int]:
    """The steps whose checkpoints no rule keeps.

    Applied after every save, it leaves the same checkpoints as applied once at the end.

    Args:
      steps: of the complete checkpoints, in any order.
      metrics: each step's metric; missing, None or not finite where it has none, which is never
        the best.
      rules: what is kept.
    """
    ordered = sorted(set(steps))
    kept = set(ordered[-rules.keep :])
    if rules.keep_every_steps is not None:
        length = rules.keep_every_steps
        # Ascending order, so an interval's last one stays; step 0 lies before the first interval.
        kept |= set({-(-step // length): step for step in ordered if step > 0}.values())
    if rules.best:
        best = best_step(ordered, metrics, maximise=rules.maximise)
        kept |= set() if best is None else {best}
    return frozenset(ordered) - kept


def best_step(
    steps: Iterable[int], metrics: Mapping[int, float | None], *, maximise: bool
) -> int | None:
    """The step of the best metric, the earliest of equals; None where no step has one."""
    best: int | None = None
    best_value = math.inf
    for step in sorted(steps):
        value = metrics.get(step)
        if value is None or not math.isfinite(value):
            continue
        value = -value if maximise else value
        if value < best_value:
            best, best_value = step, value
    return best
