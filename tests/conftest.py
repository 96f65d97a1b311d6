"""Settings of all tests: environment variables alone, so that they reach subprocesses too."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_DEFAULTS = {
    "JAX_PLATFORMS": "cpu",
    "OPENBLAS_NUM_THREADS": "1",
    # Four CPU devices, so that a test can move a run between them, or divide it.
    "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
}

# Before any test module, and so before JAX, is imported.
for _name, _value in _DEFAULTS.items():
    os.environ.setdefault(_name, _value)
# Subprocesses import the code that is tested, from whatever directory they run in.
_ROOT = str(Path(__file__).resolve().parent.parent)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [_ROOT, os.environ.get("PYTHONPATH")]))
# They would put escape sequences into texts that tests compare.
for _name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "CLICOLOR_FORCE"):
    os.environ.pop(_name, None)

# How long an example takes is the machine's business: no test fails for it.
settings.register_profile("anywhere", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("anywhere")

_FAST = "not slow"
# Most of the default suite's time is compilation, and programs that are hardly optimised, with
# fused operations from XLA's older emitters, compile in a part of it. The slow tests, which train
# for long, run the programs that users get.
_HARDLY_OPTIMISED = ("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
_OLDER_EMITTERS = "--xla_cpu_use_fusion_emitters=false"

_CACHE = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Gives all processes of this session one fresh cache of programs that compile quickly.

    Whoever runs the same tests again and again can keep it: SENN_TESTS_CACHE names its place.
    """
    if hasattr(config, "workerinput"):  # a worker of pytest-xdist inherits its parent's
        return
    if config.getoption("markexpr") == _FAST:
        os.environ.setdefault(*_HARDLY_OPTIMISED)
        if _has_flag(_OLDER_EMITTERS):
            os.environ["XLA_FLAGS"] += f" {_OLDER_EMITTERS}"
    if kept := os.environ.get("SENN_TESTS_CACHE"):
        os.environ["SENN_CACHE_DIR"] = kept
        return
    config.stash[_CACHE] = tempfile.mkdtemp(prefix="senn-tests-")
    os.environ["SENN_CACHE_DIR"] = config.stash[_CACHE]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Removes the cache."""
    if _CACHE in config.stash:
        shutil.rmtree(config.stash[_CACHE], ignore_errors=True)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Has ids name bytes by their argument, as packed ones hold the moment of their packing."""
    return argname if isinstance(val, bytes) else None


def _has_flag(flag: str) -> bool:
    """Whether the installed XLA knows a flag; with one that it does not know it aborts."""
    code = "from jaxlib import xla_client; xla_client.make_cpu_client()"
    environment = {**os.environ, "XLA_FLAGS": flag}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True).returncode == 0


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The directory of the real data sets; tests that need it are skipped without it."""
    root = os.environ.get("SENN_DATA", "")
    if not root:
        pytest.skip("needs real data: set SENN_DATA to a directory that holds them")
    path = Path(root)
    if not path.is_dir():
        pytest.fail(f"SENN_DATA is {root}, which is not a directory")
    return path


@pytest.fixture(autouse=True, scope="session")
def _interruptible() -> None:
    """Ctrl-C is heard also where the tests were started in the background, which ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def double() -> Iterator[None]:
    """Double precision in JAX, for one test module."""
    import jax  # many tests need none

    with jax.enable_x64(True):
        yield


@pytest.fixture(autouse=True, scope="module")
def room_for_programs() -> Iterator[None]:
    """Lets go of what JAX has compiled for a module's tests.

    Every program takes places in the process's address space, of which Linux allows 65,530: a
    process that runs thousands of tests would be aborted by XLA.
    """
    yield
    if "jax" in sys.modules:
        import jax  # many tests need none

        from senn_cli.engine.programs import KEPT

        KEPT.clear()
        jax.clear_caches()
