"""Compiling a lowered program, and whether the compilation cache on the disk had it."""

from __future__ import annotations

import functools
import threading
from typing import Any

import jax

from senn_cli.engine.effort import Effort, options

_HIT = "/jax/compilation_cache/cache_hits"


def compiled(lowered: Any, effort: Effort = "full") -> tuple[Any, bool]:
    """The executable of a lowered program, and whether it came from the compilation cache.

    Args:
      lowered: what `jax.jit(...).lower(...)` returns.
      effort: how hard XLA works at it; one whose options this XLA does not know is as `full`.
    """
    hits = _hits()
    before = getattr(hits, "count", 0)
    try:
        executable = lowered.compile(compiler_options=options(effort))
    except jax.errors.JaxRuntimeError as error:
        if effort == "full" or "No such compile option" not in str(error):
            raise
        executable = lowered.compile()
    return executable, getattr(hits, "count", 0) > before


@functools.cache
def _hits() -> threading.local:
    """The hits so far, by thread: JAX reports one in the thread that compiles.

    One listener for good: to take it away while another thread compiles would have JAX pass over
    the listener behind it.
    """
    hits = threading.local()

    def listen(event: str, **_: Any) -> None:
        if event == _HIT:
            hits.count = getattr(hits, "count", 0) + 1

    jax.monitoring.register_event_listener(listen)
    return hits
