"""Where the caches live: downloads and compiled programs, kept between runs.

The root is the environment variable `SENN_CACHE_DIR` where it is set and not empty, else the
platform's own place for a user's caches (`~/.cache/senn` on Linux). Nothing is created here.
"""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path

ENVIRONMENT_VARIABLE = "SENN_CACHE_DIR"


def cache_root() -> Path:
    """The absolute path of the directory that holds all caches; it need not exist."""
    chosen = os.environ.get(ENVIRONMENT_VARIABLE, "")
    if chosen:
        return Path(chosen).expanduser().absolute()
    return user_cache_path("senn", appauthor=False)


def compilation_cache() -> Path:
    """Where compiled programs are kept."""
    return cache_root() / "jax"


def data_cache() -> Path:
    """Where downloaded data sets are kept."""
    return cache_root() / "data"
