"""Whether JAX will find a GPU, told without starting it."""

from __future__ import annotations

import os
import re
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from senn_cli.spec.device import DeviceSpec

_DEVICES = ("nvidiactl", "nvidia0", "dxg", "kfd")
"""What Linux calls GPUs: NVIDIA's, those of Windows beneath it, and AMD's."""


def why_no_gpu() -> str | None:
    """Why JAX will find no GPU, or None where nothing speaks against one."""
    platforms = os.environ.get("JAX_PLATFORMS", "")
    if platforms and not {"cuda", "rocm", "gpu"} & set(platforms.split(",")):
        return f"the environment has JAX_PLATFORMS={platforms}"
    if not any(Path("/dev", name).exists() for name in _DEVICES):
        return "this machine has none"
    if not entry_points(group="jax_plugins") and find_spec("jax_plugins") is None:
        return "JAX is installed for the CPU alone; see `senn doctor`"
    return None


def expected_devices(device: DeviceSpec) -> int:
    """How many devices of this host a spec's run is expected to go over."""
    if device.count != "all":
        return device.count
    if expected_platform(device.kind) == "gpu":
        return max(1, len(list(Path("/dev").glob("nvidia[0-9]*"))))
    flags = os.environ.get("XLA_FLAGS", "")
    forced = re.findall(r"--xla_force_host_platform_device_count=(\d+)", flags)
    return int(forced[-1]) if forced else 1


def expected_platform(device: Literal["auto", "cpu", "gpu"]) -> Literal["cpu", "gpu"]:
    """Where a spec's `device` is expected to train."""
    return "cpu" if device == "cpu" or why_no_gpu() is not None else "gpu"
