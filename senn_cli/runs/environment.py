"""What a run was made with: versions, machine, command, commit. Devices come from the caller."""

from __future__ import annotations

import datetime
import hashlib
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = (
    "jax",
    "jaxlib",
    "jax-cuda12-plugin",
    "jax-cuda13-plugin",
    "flax",
    "optax",
    "orbax-checkpoint",
    "numpy",
    "scikit-learn",
    "pydantic",
    "pyyaml",
    "typer",
    "rich",
    "pooch",
)
"""Distributions whose versions can change a result or help to explain a fault."""

VARIABLES = (
    "CUDA_VISIBLE_DEVICES",
    "JAX_ENABLE_X64",
    "JAX_PLATFORMS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "XLA_CLIENT_MEM_FRACTION",
    "XLA_FLAGS",
)
"""Environment variables that change what is computed or how fast; no others are recorded."""


def machine_memory() -> int | None:
    """Bytes of memory of this machine; None where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not on Windows
        return None


def version_of(distribution: str) -> str | None:
    """The installed version of a distribution, or None where it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def senn_version() -> str:
    """This package's version, or `unknown` in a source tree that was never installed."""
    return version_of("senn-cli") or "unknown"


def code() -> str:
    """A checksum of this package's files."""
    value = hashlib.blake2b(digest_size=8)
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        value.update(file.read_bytes())
    return value.hexdigest()


def versions() -> dict[str, str]:
    """The versions of those `PACKAGES` that are installed."""
    found = {name: version_of(name) for name in PACKAGES}
    return {name: version for name, version in found.items() if version is not None}


def git_commit(directory: str = ".") -> dict[str, Any] | None:
    """The commit that `directory` stands at and whether tracked files differ from it.

    Returns:
      `{"commit": full hash, "modified": bool}`, or None outside of a repository, in one without a
      commit, or where git is missing or does not answer within five seconds.
    """
    try:
        commit = _git(directory, "rev-parse", "--verify", "HEAD")
        changes = _git(directory, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return None
    return {"commit": commit, "modified": bool(changes)}


def _git(directory: str, *arguments: str) -> str:
    # GIT_OPTIONAL_LOCKS: `git status` must not take the lock that the user's own git may want.
    result = subprocess.run(
        ["git", "-C", directory, *arguments],
        check=True,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=5,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
    )
    return result.stdout.strip()


def cpu_count() -> int:
    """The CPUs that this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def environment() -> dict[str, Any]:
    """Everything about the surroundings that a reader of the results may ask for.

    Returns:
      A mapping with `senn`, `python`, `packages` (name to version), `platform`, `machine`, `cpus`,
      `git` (see `git_commit`), `command` (a list of arguments), `directory`, `variables` (only
      those in `VARIABLES` that are set) and `time` (ISO 8601, with the offset from UTC).
    """
    return {
        "senn": senn_version(),
        "python": platform.python_version(),
        "packages": versions(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpus": cpu_count(),
        "git": git_commit(),
        "command": list(sys.argv),
        "directory": os.getcwd(),
        "variables": {name: os.environ[name] for name in VARIABLES if name in os.environ},
        "time": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
    }
