"""Callbacks: an observer that a user writes, which may stop the run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from senn_cli.errors import UsageError
from senn_cli.training.observer import Observer


class Callback(Observer):
    """Told of a run's moments; override those that matter, and call `stop` to end it.

    The moments, in their order, each after it has been written to the run directory:

    | method | when |
    |---|---|
    | `start(start)` | before the first step: names, sizes, where the run writes |
    | `metrics(row)` | an evaluation: the row of `metrics.jsonl` |
    | `round(events, before, after)` | a growth round: its decisions, rejections included |
    | `boundary(moment)` | between two dispatches of steps: `moment.step`, `moment.network` |
    | `end(summary)` | a run that has finished or diverged: the content of `summary.json` |

    What a callback raises ends the run. One that asks to stop leaves a run that goes on with
    `senn_cli.resume(run)`, as after Ctrl-C, and its network so far is that of the run.
    """

    _stop = False

    def stop(self) -> None:
        """Has the run stop at its next boundary; a growth round is called off, and begun anew by
        whoever resumes."""
        self._stop = True

    def stops(self) -> bool:
        """Whether `stop` was called."""
        return self._stop


def checked(callbacks: Iterable[Any]) -> list[Observer]:
    """The callbacks, none of which asks to stop yet.

    Raises:
      UsageError: one that is no `Callback`.
    """
    found = list(callbacks)
    for place, one in enumerate(found):
        if not isinstance(one, Observer):
            raise UsageError(
                f"callbacks[{place}] is a {type(one).__name__}, not a senn_cli.Callback",
                hint="Write a class with senn_cli.Callback as its base and, for instance, a method "
                "metrics(self, row), and give an object of it.",
            )
        if isinstance(one, Callback):
            one._stop = False  # it may have stopped an earlier run
    return found
