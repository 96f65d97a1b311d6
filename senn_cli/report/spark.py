"""Sparklines: a series over the steps of a run as one line of small bars."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
"""Bars from low to high."""

ASCII = "_.-=+*#@"
"""The same for a terminal that has no such letters."""

LOG_FROM = 20.0
"""Positive series whose largest value is this many times the smallest are shown by logarithms."""


def resample(
    points: Iterable[tuple[float, float | None]], first: float, last: float, count: int
) -> list[float | None]:
    """A series in `count` columns of equal numbers of steps.

    Args:
      points: (step, value), the steps ascending; values that are None or not finite are left out.
      first, last: the steps at the left and the right end.
      count: how many columns, at least 1.

    Returns:
      The mean of the values in every column. A column without any has the next value, since a row
      of metrics tells of the steps before it, and the last columns the value before them; all are
      None where there is no value.
    """
    sums, counts = [0.0] * count, [0] * count
    span = last - first
    for step, value in points:
        if value is None or not math.isfinite(value) or not first <= step <= last:
            continue
        # A column owns its right end: a value at a step tells of the steps up to it.
        place = math.ceil((step - first) / span * count) - 1 if span > 0 else 0
        place = min(max(place, 0), count - 1)
        sums[place] += value
        counts[place] += 1
    means = [total / number if number else None for total, number in zip(sums, counts, strict=True)]
    known = [mean for mean in means if mean is not None]
    following = known[-1] if known else None
    for place in reversed(range(count)):
        if means[place] is None:
            means[place] = following
        following = means[place]
    return means


def is_logarithmic(values: Sequence[float | None]) -> bool:
    """Whether `spark` shows logarithms: all are positive and they span more than `LOG_FROM`."""
    known = [value for value in values if value is not None]
    return bool(known) and min(known) > 0 and max(known) > LOG_FROM * min(known)


def spark(values: Sequence[float | None], *, zero: bool = False, levels: str = BLOCKS) -> str:
    """One letter a value, from the lowest level for the smallest to the highest for the largest.

    Args:
      values: a gap (None) is a space.
      zero: start the scale at 0, linear, for counts: equal values then are high bars and 0 the
        lowest. Otherwise it starts at the smallest value and may be logarithmic, see
        `is_logarithmic`; equal values are in the middle.
      levels: the letters.
    """
    if not zero and is_logarithmic(values):
        values = [None if value is None else math.log(value) for value in values]
    known = [value for value in values if value is not None]
    if not known:
        return " " * len(values)
    low, high = (0.0 if zero else min(known)), max(known)
    top = len(levels) - 1

    def letter(value: float | None) -> str:
        if value is None:
            return " "
        if high <= low:
            return levels[0 if zero else top // 2]
        # Halved before the difference is taken, so that no difference is too large for a float.
        share = (value / 2 - low / 2) / (high / 2 - low / 2)
        return levels[min(top, max(0, round(share * top)))]

    return "".join(map(letter, values))
