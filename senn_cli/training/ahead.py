"""Compiling what is about to come, while training goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from senn_cli.engine.mesh import Placement
from senn_cli.engine.programs import Aborted
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import initial_parameters
from senn_cli.training.network import Network, new_network
from senn_cli.training.optimizer import Optimizer

AHEAD = "compile ahead"
"""The name of its threads."""


def shapes_of(architecture: Architecture, optimizer: Optimizer, place: Placement) -> Network:
    """A network of `architecture` whose arrays are shapes alone, to compile for."""
    blank = new_network(architecture, initial_parameters(architecture, 0), optimizer)
    shapes: Any = place.shapes((blank.state, blank.widths))
    return Network(architecture, *shapes)


def in_thread(jobs: Iterable[Callable[[], None]]) -> threading.Thread:
    """Has a thread compile, one after the other, what `Program.expect` returned.

    What is needed before the thread has come to it is compiled where it is needed.
    """

    def work() -> None:
        for job in jobs:
            with suppress(Aborted):
                job()

    thread = threading.Thread(target=work, name=AHEAD)
    thread.start()
    return thread
