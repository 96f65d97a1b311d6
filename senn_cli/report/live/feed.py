"""The data of a page that follows its runs: looked at when asked, told as what has changed since.

Every state has a number. A reader says which one it has; the feed keeps what changed lately, and
where that does not reach back, sends the whole.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any

from senn_cli.errors import SennError
from senn_cli.report.listing import runs_in
from senn_cli.report.live.delta import Change, changes
from senn_cli.report.live.followed import Followed
from senn_cli.report.page.assemble import page_data, page_text

INTERVAL = 1.0
"""Seconds between two looks."""

_BUSY = 10.0  # looking shall take at most this part of the time
_KEPT = 100  # states that a reader may be behind


class Feed:
    """The runs in some places, and those that come into a folder later.

    Args:
      places: runs, checkpoints, and folders that stand for the runs in them.
      clock: seconds, for the interval between looks.
      now: the moment that the page names.

    Raises:
      SennError: a run that is named cannot be read.
    """

    def __init__(
        self,
        places: Sequence[Path],
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        self._places = [place.absolute() for place in places]
        self._clock, self._now = clock, now
        self._lock = Lock()
        self._followed: dict[Path, Followed] = {}
        self._notes: list[str] = []
        self._version, self._data = 0, dict[str, Any]()
        self._log: deque[tuple[int, list[Change]]] = deque(maxlen=_KEPT)
        self._wait, self._due = INTERVAL, -float("inf")
        self._look()
        for path in self._places:
            one = self._followed.get(path)
            if one is not None and one.record is None and one.fault is not None:
                raise one.fault

    def page(self) -> str:
        """The HTML text of the page with the newest data."""
        with self._lock:
            self._look()
            return page_text(self._data | {"live": {"version": self._version, "wait": self._wait}})

    def since(self, version: int | None) -> dict[str, Any]:
        """What has changed since that state.

        Returns:
          `version`, the newest; `wait`, the seconds until it is worth asking again; `changes` as in
          `delta.py`, or `whole`, the data, where the feed does not know the state.
        """
        with self._lock:
            self._look()
            answer = {"version": self._version, "wait": self._wait}
            known = [number for number, _ in self._log]
            if version == self._version:
                return answer | {"changes": []}
            if version is None or version + 1 not in known:
                return answer | {"whole": self._data}
            told = (found for number, found in self._log if number > version)
            return answer | {"changes": list(chain.from_iterable(told))}

    def _look(self) -> None:
        """Reads what has changed, at most once an interval."""
        started = self._clock()
        if started < self._due:
            return
        notes = self._find()
        # Rounded up, so that a run more seldom makes all others be told anew.
        runs = 1 << max(0, len(self._followed) - 1).bit_length()
        fresh = [one.look(runs) for one in self._followed.values()]
        unread = (one.fault for one in self._followed.values() if one.record is None)
        notes += [fault.message for fault in unread if fault is not None]
        if any(fresh) or notes != self._notes or not self._version:
            self._notes = notes
            self._renew()
        self._wait = max(INTERVAL, _BUSY * (self._clock() - started))
        self._due = self._clock() + self._wait

    def _find(self) -> list[str]:
        """Takes up runs that are new, at the end; returns what is wrong with folders."""
        notes = []
        for place in self._places:
            try:
                found = runs_in(place)
            except SennError as error:
                notes.append(error.message)
                continue
            for path in [place] if found is None else found:
                if path not in self._followed:
                    self._followed[path] = Followed(path)
            if found == []:
                notes.append(f"There is no run in {place} yet; this page shows those that come.")
        return notes

    def _renew(self) -> None:
        known = [(one.record, one.data) for one in self._followed.values() if one.record]
        records, runs = [record for record, _ in known], [data for _, data in known]
        data = page_data(records, runs, self._now(), self._notes)
        found = changes(self._data, data)
        self._version += 1
        self._log.append((self._version, found))
        self._data = data
