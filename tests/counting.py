"""What a command costs as a count, which is the same on every machine, unlike its seconds."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import jax
import pytest


@contextmanager
def documents_read() -> Iterator[list[object]]:
    """The JSON documents, lines of JSON among them, that are parsed within, in order."""
    found: list[object] = []
    loads = json.loads

    def counting(text: Any, **options: Any) -> Any:
        found.append(value := loads(text, **options))
        return value

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json, "loads", counting)
        yield found


@contextmanager
def compilations() -> Iterator[list[str]]:
    """Compilations within, by JAX's own count, whichever thread does them."""
    found: list[str] = []

    def listen(name: str, duration: float, **_: object) -> None:
        if name == "/jax/core/compile/backend_compile_duration":
            found.append(name)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield found
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


def calls(function: Callable[[], object]) -> int:
    """How many functions, of Python and of C, are called while `function` runs."""
    count = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count
