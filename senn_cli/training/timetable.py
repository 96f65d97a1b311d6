"""When what happens in a run, and how many steps to take until then."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Timetable:
    """When what happens, in steps.

    Attributes:
      total: length of the run, None if only `minutes` limit it.
      minutes: limit in wall time, or None.
      per_epoch: steps in an epoch.
      evaluate: steps between evaluations.
      grow: steps between growth rounds, which happen from `grow_start` to `grow_until`; None where
        nothing grows.
      thin_to: steps between two rounds at most, where those that add nothing become rarer; None
        where they do not.
      after_end: whether rounds go on when growth has ended, to take units out.
      layer_every: least steps between two inserted layers.
      save: steps between checkpoints, None where the clock decides.
      until: the step to stop at before the end, None for none.
      track: steps between two looks at the curvature, None where it is not tracked.
      audit: steps of the forks that tell what rounds are worth; None for no forks.
    """

    total: int | None
    minutes: float | None
    per_epoch: int
    evaluate: int
    grow: int | None
    grow_start: int
    grow_until: int | None
    layer_every: int
    thin_to: int | None = None
    after_end: bool = False
    save: int | None = None
    until: int | None = None
    track: int | None = None
    audit: int | None = None

    def next_stop(self, step: int, most: int) -> int:
        """The next step after `step` at which something is due, at most `most` steps away."""
        stops = [step + most, (step // self.evaluate + 1) * self.evaluate]
        others = (self.grow, self.save, self.track)
        stops += [(step // n + 1) * n for n in others if n is not None]
        stops += [end for end in (self.total, self.until) if end is not None]
        return min(stops)

    def evaluates(self, step: int) -> bool:
        """Whether a row of metrics is due after `step` steps."""
        return step % self.evaluate == 0 or step == self.total

    def tracks(self, step: int) -> bool:
        """Whether a look at the curvature is due after `step` steps; one precedes every round."""
        return self.track is not None and (step % self.track == 0 or self.grows(step))

    def looked(self, step: int) -> int:
        """The step of the last look before `step`; the first one precedes all steps."""
        return next((at for at in range(step - 1, 0, -1) if self.tracks(at)), 0)

    def grows(self, step: int) -> bool:
        """Whether a growth round is due after `step` steps; none at the very end."""
        return (
            self.grow is not None
            and step % self.grow == 0
            and step >= self.grow_start
            and (self.grow_until is None or step <= self.grow_until)
            and step != self.total
        )

    def due(self, step: int, rest: int, ended: int | None) -> bool:
        """Whether one is due that no rest before step `rest` and no end of growth prevents."""
        return self.grows(step) and step >= rest and (ended is None or self.after_end)

    def next_round(self, step: int, rest: int, ended: int | None) -> int | None:
        """The step of the next growth round after `step`; None where none will come."""
        if self.grow is None:
            return None
        first = max(step + 1, rest, self.grow_start)
        found = -(-first // self.grow) * self.grow
        over = self.total is not None and found >= self.total
        return found if self.due(found, rest, ended) and not over else None

    def rest(self, idle: int) -> int:
        """Steps to the next round, after `idle` ones in a row that have added nothing.

        Rounds come at multiples of `grow`; every idle one doubles the way to the next.
        """
        every = self.grow or 1
        most = 1 if self.thin_to is None else max(1, self.thin_to // every)
        return int(every * min(2 ** min(idle, 62), most))


class Rate:
    """How many steps to take in one dispatch: about a second's worth, so that signals are heard."""

    def __init__(self, step: int) -> None:
        self.steps_at_a_time = 64
        self._last = step

    def saw(self, stop: int, seconds: float) -> None:
        """Learns from steps up to `stop` that took `seconds`."""
        steps, self._last = stop - self._last, stop
        if steps > 0 and seconds > 0:
            self.steps_at_a_time = int(np.clip(steps / seconds, 1, 4096))
