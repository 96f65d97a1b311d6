"""How long one example takes: the compact network against the one with spare capacity."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from senn_cli.nets.features import Architecture
from senn_cli.nets.tables import compact

REPEATS = 50
WARM_UP = 50
IN_A_ROW = 10
"""Calls of one network before the other's turn: in strict alternation two calls share their costs
unevenly, one after the other they would meet a machine that is differently busy."""


@dataclass(frozen=True)
class Latency:
    """Median seconds for a single example, on JAX's default device.

    Attributes:
      compact: without spare capacity.
      padded: as it was trained.
    """

    compact: float
    padded: float


def measure_latency(architecture: Architecture, params: Any) -> Latency:
    """Times both networks, compiled and with inputs on the device, `REPEATS` times each, in turns.

    Args:
      architecture: with its capacity.
      params: at that capacity.
    """
    padded = _call(architecture, params)
    small = _call(architecture.compact(), compact(params, architecture))
    timed: list[tuple[Callable[[], Any], list[float]]] = [(small, []), (padded, [])]
    for _ in range(REPEATS // IN_A_ROW):
        for call, seconds in timed:
            for _ in range(IN_A_ROW):
                start = time.perf_counter()
                call()
                seconds.append(time.perf_counter() - start)
    return Latency(median(timed[0][1]), median(timed[1][1]))


def _call(architecture: Architecture, params: Any) -> Callable[[], Any]:
    """Runs the network once; it has been compiled and warmed up."""
    import jax
    import jax.numpy as jnp

    from senn_cli.nets.registry import outputs

    shape = architecture.shape()
    held = jax.device_put(
        (params, jnp.ones((1, architecture.inputs)), jnp.asarray(architecture.widths, jnp.int32))
    )
    run = jax.jit(lambda params, x, widths: outputs(shape, params, x, widths))

    def call() -> Any:
        return run(*held).block_until_ready()

    for _ in range(WARM_UP):
        call()
    return call
