"""Where the caches live: downloads and compiled programs, kept between runs.

The root is the environment variable `SENN_CACHE_DIR` where it is set and not empty, else the
platform's own place for a user's caches (`~/.cache/senn` on Linux). Nothing is created here.
"""

from __future__ import annotations

import os
from pathlib import Path

ENVIRONMENT_VARIABLE = "SENN_CACHE_DIR"

TRACED_VARIABLE = "SENN_TRACED"
"""1 where programs are kept between processes as they were traced."""


def cache_root() -> Path:
    """The absolute path of the directory that holds all caches; it need not exist."""
    chosen = os.environ.get(ENVIRONMENT_VARIABLE, "")
    if chosen:
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_cache_path  # what needs a variable's name alone starts at once

    return user_cache_path("senn", appauthor=False)


def compilation_cache() -> Path:
    """Where compiled programs are kept."""
    return cache_root() / "jax"


def traced_cache() -> Path | None:
    """Where programs are kept as they are before they are compiled; None where they are not.

    The command `senn` switches it on: what else runs in a process of another's may have changed
    what this package's functions do.
    """
    return cache_root() / "traced" if os.environ.get(TRACED_VARIABLE) == "1" else None


def data_cache() -> Path:
    """Where downloaded data sets are kept."""
    return cache_root() / "data"
