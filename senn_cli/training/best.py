"""The best evaluation of a run so far, and when to wait for a better one no longer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from senn_cli.spec import Spec


@dataclass(frozen=True)
class Watch:
    """What evaluations are judged by, and what follows from it.

    Attributes:
      metric: a key of a row of metrics.
      patience: the run ends after so many evaluations without an improvement; None for never.
      min_delta: what an improvement must exceed to renew the patience.
      restore: whether the run's result is the network of the best evaluation.
    """

    metric: str
    patience: int | None = None
    min_delta: float = 0.0
    restore: bool = False

    @classmethod
    def of(cls, spec: Spec) -> Watch | None:
        """What a spec has a run watch: `training.stop`, or `checkpoints.best` alone."""
        stop, best = spec.training.stop, spec.checkpoints.best
        if stop is not None:
            return cls(stop.metric, stop.patience, stop.min_delta, stop.restore)
        return None if best is None else cls(best)

    def gain(self, before: float, after: float) -> float:
        """By how much `after` is the better one: accuracies should rise, all else should fall."""
        return after - before if self.metric.endswith("accuracy") else before - after


@dataclass(frozen=True)
class Best:
    """The best evaluation so far; plain values, part of every checkpoint.

    Attributes:
      metric: what it is judged by; None where nothing is watched.
      step: when it was, the earliest of equals; None before the first finite one.
      value: the metric there.
      reference: the metric that the next improvement is measured from.
      waited: evaluations since the last improvement.
    """

    metric: str | None = None
    step: int | None = None
    value: float | None = None
    reference: float | None = None
    waited: int = 0

    def watched_by(self, watch: Watch | None) -> Best:
        """This one, or nothing yet where it was judged by something else."""
        metric = None if watch is None else watch.metric
        return self if metric == self.metric else Best(metric)

    def after(self, watch: Watch, row: Mapping[str, Any]) -> Best:
        """With one more evaluation; one that is not finite is never an improvement."""
        value = row.get(watch.metric)
        if value is None or not math.isfinite(value):
            return replace(self, waited=self.waited + 1)
        best, reference = self, self.reference
        if self.value is None or watch.gain(self.value, value) > 0:
            best = replace(self, step=int(row["step"]), value=float(value))
        if reference is None or watch.gain(reference, value) > watch.min_delta:
            return replace(best, reference=float(value), waited=0)
        return replace(best, waited=self.waited + 1)

    def to_json(self) -> dict[str, Any]:
        """Metric, step and value, as a summary has them."""
        return {"metric": self.metric, "step": self.step, "value": self.value}
