"""How a process hears that another one of its run is lost, and ends: with exit code 75."""

from __future__ import annotations

import ctypes
import os
import re
import signal
from typing import Any

from senn_cli.cluster.meeting import TRY_AGAIN

_LOST = b"Another process of this run is lost; this one ends with 75. Go on with: senn resume RUN\n"
_GONE = re.compile(
    r"remote process exited|connection (?:closed|reset|refused)|broken pipe|timed? ?out"
    r"|unhandled system error|socket|heartbeat|UNAVAILABLE|DEADLINE_EXCEEDED",
    re.IGNORECASE,
)


def tells_of_a_lost_process(text: str) -> bool:
    """Whether an error of XLA says that another process has gone.

    Gloo, NCCL and the coordination service have words of their own for it, and no class. Errors of
    NCCL about what is asked of it, or about this machine's GPUs, do not.
    """
    return re.search("gloo|nccl|coordination", text, re.IGNORECASE) is not None and (
        _GONE.search(text) is not None
    )


def leave() -> None:
    """Has JAX not take leave of the others when this process ends: they do not hear it."""
    from jax._src import distributed

    distributed.global_state.client = None


def end_at_once(*reason: Any) -> None:
    """Ends this process from whichever thread has heard of a loss."""
    os.write(2, _LOST)
    os._exit(TRY_AGAIN)


_at_abort = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda number: end_at_once())


def end_at_abort() -> None:
    """Has an abort end this process with 75.

    A jaxlib that cannot hand the reason over to `end_at_once` (0.10) aborts instead, from a thread
    of its own, where Python's handlers are not run.
    """
    library = ctypes.CDLL(None)
    library.signal.argtypes, library.signal.restype = (
        [ctypes.c_int, ctypes.c_void_p],
        ctypes.c_void_p,
    )
    library.signal(signal.SIGABRT, ctypes.cast(_at_abort, ctypes.c_void_p))
