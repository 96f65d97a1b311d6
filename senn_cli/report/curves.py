"""One figure of several runs over the training, at the same places for all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from senn_cli.report.record import Record

CHECKPOINTS = 10
"""Places at which curves are compared."""

Axis = Literal["epoch", "step"]


@dataclass(frozen=True)
class Curve:
    """A figure over the training, at places that its caller knows.

    Attributes:
      means: over the runs that have come that far, None before the first measurement.
      counts: how many these are.
      lows, highs: the least and the greatest of them.
    """

    means: tuple[float | None, ...]
    counts: tuple[int, ...]
    lows: tuple[float | None, ...]
    highs: tuple[float | None, ...]


def main_curve(records: Sequence[Record], figure: str | None) -> str | None:
    """The figure to show: the validation part's if all runs have it, else the training loss.

    Args:
      records: those without any metrics yet do not count.
      figure: what the runs measure beside the loss.

    Returns:
      A column of the metrics; None where there is none that all have.
    """
    started = [record for record in records if record.metrics]
    for key in (f"validation_{figure}", "train_loss"):
        if all(any(row.get(key) is not None for row in r.metrics) for r in started):
            return key if started else None
    return None


def axis_of(records: Sequence[Record]) -> Axis:
    """What the training is measured in: epochs where all rows tell them."""
    rows = (row for record in records for row in record.metrics)
    return "epoch" if all(row.get("epoch") is not None for row in rows) else "step"


def places(records: Sequence[Record], count: int = CHECKPOINTS) -> tuple[float, ...]:
    """The ends of `count` equal parts of the longest training; none while there are no metrics."""
    axis = axis_of(records)
    end = max((float(r.metrics[-1][axis]) for r in records if r.metrics), default=0.0)
    return tuple(end * (index + 1) / count for index in range(count)) if end > 0 else ()


def curve(records: Sequence[Record], key: str, axis: Axis, at: Sequence[float]) -> Curve:
    """The mean, and the range, over runs of what was last measured at each place.

    Args:
      records: runs of one setting; each counts as far as it has come, and no further.
      key: a column of the metrics.
      axis: what `at` is in.
      at: the places, ascending.
    """
    columns = [_held(record, key, axis, at) for record in records]
    known = [
        [value for value in found if value is not None] for found in zip(*columns, strict=True)
    ]
    return Curve(
        means=tuple(math.fsum(values) / len(values) if values else None for values in known),
        counts=tuple(map(len, known)),
        lows=tuple(min(values, default=None) for values in known),
        highs=tuple(max(values, default=None) for values in known),
    )


def _held(record: Record, key: str, axis: Axis, at: Sequence[float]) -> list[float | None]:
    """What was last measured at every place; None before that, and where the run had ended."""
    rows = [(float(row[axis]), _finite(row.get(key))) for row in record.metrics]
    end = rows[-1][0] if rows else 0.0
    found: list[float | None] = []
    held: float | None = None
    index = 0
    for place in at:
        slack = 1e-9 * place  # the last place is the end but for rounding
        while index < len(rows) and rows[index][0] <= place + slack:
            held = held if rows[index][1] is None else rows[index][1]
            index += 1
        found.append(held if place <= end + slack else None)
    return found


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
