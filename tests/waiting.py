"""Waiting for what is meant, for as long as a busy machine takes."""

from __future__ import annotations

import time
from collections.abc import Callable

LIMIT = 120.0
"""Seconds after which a test hangs; nothing that is waited for takes nearly as long."""


def wait_until(condition: Callable[[], object], meant: str = "what was waited for") -> None:
    """Returns as soon as `condition` holds; one that never does fails after `LIMIT`."""
    end = time.monotonic() + LIMIT  # no result depends on it: what hangs shall end
    while not condition():
        assert time.monotonic() < end, f"{meant} has not come within {LIMIT:.0f} s"  # the same
        time.sleep(0.002)  # between two looks
