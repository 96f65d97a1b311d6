"""Chooses the device, before JAX starts: most of its settings are read once and never again."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, Literal

from senn_cli.cache import compilation_cache
from senn_cli.errors import DeviceError
from senn_cli.runs.files import why_not_writable
from senn_cli.words import plural

if TYPE_CHECKING:
    import jax

DETERMINISTIC_FLAG = "--xla_gpu_deterministic_ops=true"
MEMORY_VARIABLE = "XLA_CLIENT_MEM_FRACTION"
_OLD_MEMORY_VARIABLE = "XLA_PYTHON_CLIENT_MEM_FRACTION"  # JAX refuses to start with both

INSTALL_HINT = "Install JAX for your GPU: pip install 'senn-cli[cuda13]'"
_NEW_PROCESS_HINT = "Start a new process, or train before anything else uses JAX."

_logger = logging.getLogger(__name__)


def choose_device(
    device: Literal["auto", "cpu", "gpu"] = "auto",
    gpu_memory: float | None = None,
    deterministic: bool = False,
) -> str:
    """Starts JAX on the device that was asked for and turns its compilation cache on.

    Must be called before the process first uses JAX. A later call in the same process is fine
    while it asks for nothing that the running JAX cannot give.

    Args:
      device: `auto` leaves the choice to JAX (a GPU where there is one), `cpu` and `gpu` force it.
      gpu_memory: the share of the GPU's memory, in (0, 1], that JAX takes at its start; None
        leaves JAX's own default (three quarters) or what the environment says.
      deterministic: has the GPU use operations whose result does not depend on the order in which
        threads finish; slower. The CPU's are always deterministic.

    Returns:
      The device in words, such as `CPU (2 cores)` or `NVIDIA H100 (cuda)`.

    Raises:
      DeviceError: there is no GPU and `gpu` was asked for, JAX cannot start, or it runs already
        in another way than asked for.
    """
    started = _jax_has_started()
    settings = _settings(device, gpu_memory, deterministic)
    missed = [name for name, value in settings.items() if os.environ.get(name) != value]
    if not started:
        if MEMORY_VARIABLE in settings:
            os.environ.pop(_OLD_MEMORY_VARIABLE, None)
        os.environ.update(settings)

    import jax

    if device == "cpu" and not started:
        # Where JAX is imported but has not started, the environment variable comes too late.
        jax.config.update("jax_platforms", "cpu")
    found = _first_device(device)
    if device == "cpu" and found.platform != "cpu":
        raise DeviceError(
            f"device: cpu was asked for, but JAX already runs on {found.device_kind}.",
            hint=_NEW_PROCESS_HINT,
        )
    if started and missed and found.platform != "cpu":
        texts = [f"{name}={settings[name]}" for name in missed]
        raise DeviceError(
            f"JAX has already started without {' and '.join(texts)}.", hint=_NEW_PROCESS_HINT
        )
    enable_compilation_cache()
    return in_words(found)


def in_words(device: jax.Device) -> str:
    """A device as a reader knows it: the kind of GPU, or the CPU with its number of cores."""
    if device.platform == "cpu":
        from senn_cli.runs.environment import cpu_count

        return f"CPU ({plural(cpu_count(), 'core')})"
    return f"{device.device_kind} ({device.platform})"


def enable_compilation_cache() -> str | None:
    """Has JAX keep compiled programs between runs, however small and quickly compiled they are.

    Returns:
      None, or, where the cache's directory cannot be written, why there is no cache; that text is
      logged as a warning too, and training goes on without.
    """
    import jax

    directory = compilation_cache()
    reason = why_not_writable(directory)
    if reason is None:
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = f"{directory}: {error.strerror or error}"
    if reason is not None:
        warning = (
            f"Compiled programs are not kept between runs: {reason}. "
            "Set SENN_CACHE_DIR to a directory that can be written."
        )
        _logger.warning(warning)
        return warning
    jax.config.update("jax_compilation_cache_dir", str(directory))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    return None


def _settings(device: str, gpu_memory: float | None, deterministic: bool) -> dict[str, str]:
    """The environment variables that JAX is to find at its start."""
    settings: dict[str, str] = {}
    if device == "cpu":
        settings["JAX_PLATFORMS"] = "cpu"
    if gpu_memory is not None:
        settings[MEMORY_VARIABLE] = str(gpu_memory)
    if deterministic:
        flags = [f for f in os.environ.get("XLA_FLAGS", "").split() if f != DETERMINISTIC_FLAG]
        settings["XLA_FLAGS"] = " ".join([*flags, DETERMINISTIC_FLAG])
    return settings


def _first_device(device: str) -> jax.Device:
    import jax

    try:
        return jax.devices("gpu" if device == "gpu" else None)[0]
    except (RuntimeError, AssertionError, ValueError) as error:
        # JAX fails with any of these, depending on the platform and on what is installed.
        platforms = os.environ.get("JAX_PLATFORMS", "")
        only = f" (the environment has JAX_PLATFORMS={platforms})" if platforms else ""
        if device == "gpu":
            raise DeviceError(
                f"device: gpu was asked for, but JAX finds none{only}.", hint=INSTALL_HINT
            ) from error
        raise DeviceError(
            f"JAX finds no device{only}: {error or type(error).__name__}",
            hint="See what is installed with: senn doctor",
        ) from error


def _jax_has_started() -> bool:
    """Whether this process's JAX has devices already, so that no environment variable counts."""
    # JAX has no public name for this. Without it, settings that come too late go unnoticed.
    bridge = sys.modules.get("jax._src.xla_bridge")
    check = getattr(bridge, "backends_are_initialized", None)
    return bool(check()) if callable(check) else False
