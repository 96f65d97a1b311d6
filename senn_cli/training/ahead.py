"""Compiling for an architecture that is about to come, while training goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from senn_cli.engine.mesh import Placement
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import initial_parameters
from senn_cli.training.network import Network, new_network
from senn_cli.training.optimizer import Optimizer

Jobs = Callable[[Network], list[Callable[[], None]]]


def compile_ahead(
    architecture: Architecture, optimizer: Optimizer, place: Placement, jobs: Jobs
) -> threading.Thread:
    """Has a thread compile what a network of `architecture` will need.

    What is compiled, and when it is used, does not depend on how long it takes.

    Args:
      jobs: what there is to compile for a network, whose arrays are shapes alone; the first one is
        needed first.
    """
    blank = new_network(architecture, initial_parameters(architecture, 0), optimizer)
    shapes: Any = place.shapes((blank.state, blank.widths))
    # Promised here and now: whoever needs one of them first then waits for the thread.
    return in_thread(jobs(Network(architecture, *shapes)))


def in_thread(jobs: Sequence[Callable[[], None]]) -> threading.Thread:
    """Has a thread do what `Program.expect` has promised, in this order."""

    def work() -> None:
        for job in jobs:
            job()

    thread = threading.Thread(target=work, name="compile ahead")
    thread.start()
    return thread
