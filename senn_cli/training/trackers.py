"""Trackers as an observer of a run: none of them ends a training."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from senn_cli.spec.spec import Spec
from senn_cli.tracking.tracker import Tracker, wanted
from senn_cli.training.observer import Observer

if TYPE_CHECKING:
    from senn_cli.training.snapshot import Moment

_LONGEST_REASON = 200


class Trackers(Observer):
    """Passes rows and events on to trackers; one that fails is reported once and switched off.

    Args:
      members: trackers, each with its title.
      note: told of a tracker that is switched off.
    """

    def __init__(self, members: Iterable[tuple[str, Tracker]], note: Callable[[str], None]) -> None:
        self._members = dict(members)
        self._note = note

    def metrics(self, row: Mapping[str, Any]) -> None:
        """Passes a row of metrics on."""
        self._each(lambda tracker: tracker.metrics(row))

    def round(self, events: Sequence[Mapping[str, Any]], before: Moment, after: Moment) -> None:
        """Passes the events of a growth round on."""

        def tell(tracker: Tracker) -> None:
            for event in events:
                tracker.event(event)

        self._each(tell)

    def end(self, summary: Mapping[str, Any]) -> None:
        """Passes the summary on."""
        self._each(lambda tracker: tracker.end(summary))

    def close(self) -> None:
        """Closes all; harmless when repeated."""
        self._each(lambda tracker: tracker.close())
        self._members.clear()

    def _each(self, act: Callable[[Tracker], None]) -> None:
        for title, tracker in list(self._members.items()):
            try:
                act(tracker)
            except Exception as error:  # theirs can be anything, and a training is worth more
                del self._members[title]
                self._note(_switched_off(title, error))
                with contextlib.suppress(Exception):
                    tracker.close()


def open_trackers(spec: Spec, run: Path, step: int, note: Callable[[str], None]) -> Trackers:
    """The trackers that `spec.track` names; those that cannot be opened are noted and left out.

    Args:
      run: the run's directory, which exists.
      step: where the run starts from: 0, or more when resumed.
      note: told of trackers that are switched off, now or later.
    """
    members = []
    for kind in wanted(spec):
        try:
            members.append((kind.title, kind.make(spec, run, step)))
        except Exception as error:  # as above
            note(_switched_off(kind.title, error))
    return Trackers(members, note)


def _switched_off(title: str, error: Exception) -> str:
    lines = str(error).strip().splitlines()
    reason = lines[0] if lines else type(error).__name__
    if len(reason) > _LONGEST_REASON:
        reason = reason[:_LONGEST_REASON] + "..."
    return f"{title} is switched off, the run goes on without it: {reason}"
