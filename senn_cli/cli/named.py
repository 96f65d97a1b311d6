"""The runs that a command line names; a folder stands for the runs in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from senn_cli.errors import SennError, UsageError

if TYPE_CHECKING:
    from senn_cli.report.record import Record


def named(paths: Iterable[Path], read: Callable[[Path], Record]) -> list[Record]:
    """Reads what is named. What is wrong with a run in a folder is told, and it is left out.

    Raises:
      SennError: as `read` does, of a run that is named itself.
      UsageError: there is no run in a folder.
    """
    from senn_cli.cli.runs import say
    from senn_cli.report.listing import runs_in

    records = []
    for path in paths:
        found = runs_in(path)
        if found is None:
            records.append(read(path))
            continue
        if not found:
            raise UsageError(
                f"{path} is not a run, and there are no runs in it",
                hint="`senn runs` lists the runs that there are.",
            )
        for each in found:
            try:
                records.append(read(each))
            except SennError as error:
                say(f"left out: {error.message}")
    return records
