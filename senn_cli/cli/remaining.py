"""How long a run will still take."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

EPOCHS, SECONDS = 2, 5.0
"""What has to be trained before there is an estimate: so many epochs, or so many seconds."""

RISE = 0.5
"""Seconds by which the time left may rise in a second: a slow moment is not a slow run."""

UNCOUNTED = ("score", "surgery", "audit", "compile")
"""Phases of growth and of compilation: early, slow, and over long before the run is."""

POINTS = 1000
"""About how many points of a run are remembered."""


class Remaining:
    """The seconds left of a run's training, evaluations and saves included.

    Growth rounds and compilations are left out: how many are to come, nobody knows. The pace is
    that of the second half of the steps so far: the network has grown since the first ones.

    Args:
      clock: seconds that only ever increase.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._since, self._worked, self._counts = clock(), 0.0, True
        self._total: int | None = None
        self._per_epoch = 1
        self._points: list[tuple[int, float]] = []
        self._shown: tuple[float, float] | None = None

    def start(self, step: int, total: int | None, per_epoch: int) -> None:
        """Training begins at `step`; `total` is None where the run's length is not in steps."""
        self._total, self._per_epoch = total, per_epoch
        self._points, self._shown = [(step, self._seconds())], None

    def phase(self, name: str) -> None:
        """The run enters a phase, which counts or not."""
        self._worked, self._since = self._seconds(), self._clock()
        self._counts = name not in UNCOUNTED

    def reached(self, step: int) -> None:
        """Training has come to `step`."""
        last = self._points[-1][0] if self._points else step
        if step - last >= max(1, (self._total or 0) // POINTS):
            self._points.append((step, self._seconds()))

    def left(self) -> float | None:
        """Seconds left, or None as long as nobody can tell."""
        estimate, now = self._estimate(), self._seconds()
        if estimate is None:
            return None
        if self._shown is not None:
            before, then = self._shown
            estimate = min(estimate, before + RISE * (now - then))
        self._shown = (estimate, now)
        return estimate

    def _seconds(self) -> float:
        """Seconds so far that count."""
        return self._worked + (self._clock() - self._since if self._counts else 0.0)

    def _estimate(self) -> float | None:
        if self._total is None or len(self._points) < 2:
            return None
        points = list(self._points)
        (first, began), (step, then) = points[0], points[-1]
        done = step - first
        if step >= self._total:
            return None
        if done < EPOCHS * self._per_epoch and then - began < SECONDS:
            return None
        half = bisect_right(points, first + done // 2, key=lambda point: point[0]) - 1
        at, seconds = points[min(half, len(points) - 2)]
        pace = (then - seconds) / (step - at)
        # Since the last point as many steps were taken as then, at most.
        since = min(self._seconds() - then, pace * (step - points[-2][0]))
        return max(0.0, pace * (self._total - step) - since)
