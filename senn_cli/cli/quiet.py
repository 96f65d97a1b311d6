"""Keeps off the terminal what Orbax says beside its exceptions; for the process of `senn` alone.

When one of many arrays cannot be written, Orbax closes its event loop at once. The others' ends are
then reported by asyncio and TensorStore, at any later time and with tracebacks: through loggers,
and where an event loop is gone, through `sys.unraisablehook`. The command line may decide what its
own process shows; a program that imports senn keeps its loggers and its hook.
"""

from __future__ import annotations

import logging
import re
import sys
from functools import cache


@cache
def hush_late_ends() -> None:
    """Hides these reports for the rest of the process; everything else is shown as before."""
    import absl.logging  # noqa: F401  (its logger is of a class of its own, which it makes first)

    logging.getLogger("absl").addFilter(lambda record: not _of_orbax(record.pathname))
    logging.getLogger("asyncio").addFilter(lambda record: not _of_orbax(record.getMessage()))
    previous = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        late = unraisable.object is None and isinstance(unraisable.exc_value, RuntimeError)
        if not (late and str(unraisable.exc_value) == "Event loop is closed"):
            previous(unraisable)

    sys.unraisablehook = hook


def _of_orbax(text: str) -> bool:
    # asyncio names a future of TensorStore's by the coroutine that wraps any foreign future.
    return re.search(r"\b(orbax|tensorstore|zarr|OCDBT|_wrap_awaitable)\b", text) is not None
