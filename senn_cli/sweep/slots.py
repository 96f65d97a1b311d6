"""The parts of this machine that members share: cores, or GPUs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from senn_cli.engine.gpu import expected_platform
from senn_cli.errors import UsageError
from senn_cli.spec import Spec
from senn_cli.words import plural

_CORES = 2
"""Cores of a member, where nothing is said: compilation uses the second."""


@dataclass(frozen=True)
class Slot:
    """What one member has for itself.

    Attributes:
      cores: numbers of cores; None where the system does not keep a process to some.
      gpu: as CUDA_VISIBLE_DEVICES names it; None for no GPU of its own.
    """

    cores: frozenset[int] | None
    gpu: str | None = None

    @property
    def environment(self) -> dict[str, str]:
        """Variables for its processes."""
        return {} if self.gpu is None else {"CUDA_VISIBLE_DEVICES": self.gpu}


def slots(specs: Iterable[Spec], jobs: int | None) -> tuple[Slot, ...]:
    """As many equal parts of this machine as members run at a time.

    Every part has as many cores as every other: sums of numbers depend on how many there are.

    Args:
      specs: of the members.
      jobs: how many at a time; None for one a GPU where one of the specs trains on GPUs, else for
        one for every two cores.

    Raises:
      UsageError: more jobs than GPUs, of which each has one.
    """
    mine = available_cores()
    gpus = visible_gpus() if any(expected_platform(s.device.kind) == "gpu" for s in specs) else ()
    if gpus and jobs is not None and jobs > len(gpus):
        raise UsageError(
            f"--jobs {jobs} is more than the {plural(len(gpus), 'GPU')} here, of which every "
            "member has one",
            hint="Ask for fewer, or train on the CPU with --set device=cpu.",
        )
    number = jobs or len(gpus) or max(1, len(mine or range(os.cpu_count() or 1)) // _CORES)
    shares = shared(mine, number)
    return tuple(Slot(share, gpus[index] if gpus else None) for index, share in enumerate(shares))


def shared(cores: tuple[int, ...] | None, number: int) -> list[frozenset[int] | None]:
    """Equal shares of some cores; where there are fewer than shares, several have the same one."""
    if cores is None:
        return [None] * number
    size = max(1, len(cores) // number)
    return [
        frozenset(cores[(index * size + k) % len(cores)] for k in range(size))
        for index in range(number)
    ]


def available_cores() -> tuple[int, ...] | None:
    """The cores that this process may use; None where the system does not tell."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    return tuple(sorted(os.sched_getaffinity(0)))


def visible_gpus(devices: Path = Path("/dev")) -> tuple[str, ...]:
    """The GPUs that a process started here may use, as CUDA_VISIBLE_DEVICES names them."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return tuple(part.strip() for part in named.split(",") if part.strip())
    found = (re.fullmatch(r"nvidia(\d+)", path.name) for path in devices.iterdir())
    numbers = sorted(int(match[1]) for match in found if match)
    return tuple(map(str, numbers)) or ("0",)
