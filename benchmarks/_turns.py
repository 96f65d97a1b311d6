"""What benchmarks of steps share: trainers in this process, and how long so many steps take."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

import jax

from senn_cli.data.dataset import Dataset
from senn_cli.engine.programs import Ledger
from senn_cli.spec import Spec
from senn_cli.training.ahead import AHEAD
from senn_cli.training.assemble import assemble
from senn_cli.training.loop import Trainer
from senn_cli.training.observer import Observer

CLOCKS: dict[str, Callable[[], float]] = {"cpu": time.process_time, "wall": time.perf_counter}


def trainer(spec: Spec, dataset: Dataset) -> tuple[Trainer, Ledger]:
    """A trainer before its first step."""
    ledger = Ledger()
    return assemble(spec, dataset, ledger), ledger


def advance(made: Trainer, steps: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of `steps` steps with all that is due in them."""
    made.timetable = replace(made.timetable, until=made.step + steps)
    started = clock()
    made.run(Observer())
    jax.block_until_ready(made.network.state.params)
    return clock() - started


def settle() -> None:
    """Waits for all that is being compiled ahead, which would fall into somebody's turn."""
    for thread in threading.enumerate():
        if thread.name == AHEAD:
            thread.join()
