"""`senn data fetch`: a published data set by its name, whichever way it is published."""

from __future__ import annotations

import os
from pathlib import Path

from senn_cli.data import archived, mnist
from senn_cli.data.download import Say, cache_directory, say_on_stderr
from senn_cli.data.published import ARCHIVES, PUBLISHED
from senn_cli.errors import DataError


def fetchable() -> tuple[str, ...]:
    """The names of the sources that can be downloaded."""
    return (*PUBLISHED, *ARCHIVES)


def fetch(name: str, to: Path | None = None, *, say: Say = say_on_stderr) -> Path:
    """Downloads what is missing of a data set, checksums checked.

    Args:
      name: one of `fetchable()`.
      to: files go into `to / name`, where nothing is ever replaced; None for the user's cache.
      say: is told of downloads.

    Returns:
      the directory that holds the data set, for use as `data.root`.

    Raises:
      DataError: see `mnist.fetch` and `archived.fetch`.
    """
    directory = cache_directory(name) if to is None else to / name
    # Files in a directory that the user names are the user's: they are never replaced.
    replace = to is None
    if name in PUBLISHED:
        mnist.fetch(PUBLISHED[name], directory, replace=replace, say=say)
    else:
        archived.fetch(ARCHIVES[name], directory, replace=replace, say=say)
    return directory


def whereabouts(name: str) -> tuple[bool, str]:
    """Whether a published data set is on this machine, and where it would come from."""
    try:
        if name in PUBLISHED:
            found = mnist.find(PUBLISHED[name], None) is not None
            kept, size = mnist.cached(PUBLISHED[name]), PUBLISHED[name].megabytes
        else:
            found = archived.find(ARCHIVES[name], None) is not None
            kept, size = archived.cached(ARCHIVES[name]), ARCHIVES[name].megabytes
    except DataError as error:
        return False, error.message
    if found:
        return True, f"SENN_DATA={os.environ['SENN_DATA']}"
    return kept, "downloaded" if kept else f"to be downloaded, {size} MB"
