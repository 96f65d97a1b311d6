"""One run that is looked at again and again: what the page knows of it, made anew when it changed.

Rows are read once. A run that vanishes or is damaged meanwhile keeps what was known of it, and the
page says so.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from senn_cli.errors import SennError
from senn_cli.report.page.run import run_data
from senn_cli.report.record import Record, is_live, read_record, run_of
from senn_cli.runs.growing import GrowingRun
from senn_cli.runs.jsonl import to_json

GONE = {
    "status": "deleted",
    "note": "Its directory is no longer there. This is what was read of it before.",
}
"""What the page says of a run that was deleted."""


class Followed:
    """A run, or a checkpoint of one.

    Args:
      path: as `read_record` takes it.

    Attributes:
      record: as it was last read; None where that never succeeded.
      data: what the page shows of it, see `run_data`; plain JSON.
      fault: why it could not be read the last time, None where it could.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.record: Record | None = None
        self.data: dict[str, Any] = {}
        self.fault: SennError | None = None
        self._directory = GrowingRun(run_of(path)[0])
        self._seen: object = None

    def look(self, runs: int) -> bool:
        """Reads the run if any of its files has changed; whether there is anything new to show.

        Args:
          runs: how many the page shows, see `run_data`.
        """
        seen = self._signature(), runs
        if seen == self._seen:
            return False
        self._seen, self.fault = seen, None
        try:
            self.record = read_record(self.path, known=self._directory)
            self.data = to_json(run_data(self.record, runs))
        except SennError as error:
            self.fault = error
            there = self._directory.spec_path.is_file()
            told = {"status": "damaged", "note": error.message} if there else GONE
            self.data = self.data and self.data | told
        else:
            if self.record.status == "running":
                self.data["note"] = ""  # for a page that does not follow it
        return True

    def _signature(self) -> object:
        """What tells whether a file has changed, without reading any but the lock."""
        try:
            with os.scandir(self._directory.path) as entries:
                found = sorted(
                    (entry.name, told.st_mtime_ns, told.st_size, told.st_ino)
                    for entry in entries
                    for told in [entry.stat()]
                )
        except OSError:
            return "gone"
        return found, is_live(self._directory)
