"""`senn doctor`: whether this machine has what a run needs, and which versions of it."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from senn_cli.cache import compilation_cache
from senn_cli.cli.doctoring import Check, check_data, check_extras, check_reuse
from senn_cli.cli.together import CoordinatorOption, HostIdOption, HostsOption
from senn_cli.errors import UsageError
from senn_cli.report.words import printable
from senn_cli.runs.environment import cpu_count, senn_version, versions
from senn_cli.runs.files import nearest_existing, why_not_writable
from senn_cli.words import plural

LOW_DISK = 1 << 30
"""Bytes of free disk below which a warning is due."""


def doctor(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the findings as one JSON object.")
    ] = False,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Do not try whether the compilation cache works: some 5 seconds less."
        ),
    ] = False,
    distributed: Annotated[
        bool,
        typer.Option(
            "--distributed",
            help="Check a cluster: start it as a run, with srun, mpirun or --hosts.",
        ),
    ] = False,
    hosts: HostsOption = None,
    host_id: HostIdOption = None,
    coordinator: CoordinatorOption = None,
) -> None:
    """Check the installation: versions, devices, extras, data, and whether the caches work.

    With --distributed the processes that srun or mpirun has started check each other: sums over
    all devices, versions, clocks, and whether they see the same files.

    Ends with exit code 1 when something is missing without which no run works.
    """
    if distributed:
        from senn_cli.cli.doctor_distributed import examine_together

        if quick:
            raise UsageError("--quick leaves out what --distributed does not try anyway")
        checks, silent = examine_together(hosts, host_id, coordinator, Path("runs"))
    elif (hosts, host_id, coordinator) != (None, None, None):
        raise UsageError("--hosts, --host-id and --coordinator are for --distributed")
    else:
        checks, silent = examine(Path("runs"), quick=quick), False
    healthy = all(check.outcome != "failed" for check in checks)
    if silent:  # process 0 tells of all
        pass
    elif as_json:
        print(json.dumps(report(checks, healthy), indent=2, ensure_ascii=True))
    else:
        print_checks(checks, healthy, Console())
    raise typer.Exit(0 if healthy else 1)


def examine(runs: Path, *, quick: bool) -> list[Check]:
    """Makes all checks, in the order in which they are shown.

    Args:
      runs: where runs would go.
      quick: without the one that starts processes.
    """
    from senn_cli.data.fetch import fetchable, whereabouts
    from senn_cli.tracking.tracker import importable

    cache = check_directory("compilation cache", compilation_cache(), essential=False)
    return [
        Check("senn", "ok", senn_version()),
        check_python(sys.version_info[:3]),
        Check("platform", "ok", f"{platform.platform()}, {plural(cpu_count(), 'CPU core')}"),
        Check("packages", "ok", ", ".join(f"{k} {v}" for k, v in versions().items())),
        check_devices(_device_names),
        cache,
        *([] if quick or cache.outcome != "ok" else [check_reuse(_second_process_hits)]),
        check_directory("run directory", runs, essential=True),
        check_disk(runs),
        *check_data(fetchable(), whereabouts),
        *check_extras(importable),
    ]


def _second_process_hits() -> bool:
    from senn_cli.engine.cache_probe import second_process_hits

    return second_process_hits()


def check_python(version: tuple[int, ...]) -> Check:
    """Whether Python is new enough."""
    text = ".".join(str(part) for part in version)
    if version < (3, 11):
        return Check("python", "failed", text, "Use Python 3.11 or later.")
    return Check("python", "ok", text)


def check_devices(list_devices: Callable[[], list[str]]) -> Check:
    """Whether JAX starts and which devices it finds.

    Args:
      list_devices: names the devices, or raises whatever JAX raises.
    """
    try:
        names = list_devices()
    except ImportError as error:
        return Check("devices", "failed", f"JAX is missing: {error}", "pip install --upgrade jax")
    except Exception as error:  # a broken driver can make JAX raise anything at all
        platforms = os.environ.get("JAX_PLATFORMS")
        hint = (
            f"The environment has JAX_PLATFORMS={platforms}; try without it."
            if platforms
            else "Reinstall JAX: pip install --upgrade --force-reinstall jax jaxlib"
        )
        return Check("devices", "failed", f"JAX does not start: {error!r}", hint)
    return Check("devices", "ok", ", ".join(names))


def _device_names() -> list[str]:
    # A look at the devices must not take the GPU's memory from those who use it.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax

    return [f"{device.device_kind} ({device.platform}:{device.id})" for device in jax.devices()]


def check_directory(name: str, directory: Path, *, essential: bool) -> Check:
    """Whether files can be made in `directory`, or in its nearest parent where it is missing."""
    reason = why_not_writable(directory)
    if reason is None:
        return Check(name, "ok", f"{directory.absolute()} can be written")
    if essential:
        return Check(
            name,
            "failed",
            f"{directory.absolute()} cannot be written: {reason}",
            "Change to a directory that can be written, or choose one with senn train --run-dir.",
        )
    return Check(
        name,
        "warning",
        f"{directory} cannot be written, so every run compiles anew: {reason}",
        "Set SENN_CACHE_DIR to a directory that can be written.",
    )


def check_disk(directory: Path) -> Check:
    """Whether the disk of `directory` has room."""
    try:
        free = shutil.disk_usage(nearest_existing(directory)).free
    except OSError as error:
        return Check("free disk", "warning", f"unknown: {error.strerror or error}")
    text = f"{free / (1 << 30):.1f} GiB"
    if free < LOW_DISK:
        return Check("free disk", "warning", text, "Free some space before a long run.")
    return Check("free disk", "ok", text)


def report(checks: list[Check], healthy: bool) -> dict[str, Any]:
    """The findings for `--json`: `healthy`, `packages` (name to version) and `checks`."""
    return {
        "healthy": healthy,
        "packages": versions(),
        "checks": [asdict(check) for check in checks],
    }


def print_checks(checks: list[Check], healthy: bool, console: Console) -> None:
    """Prints one row a check, each hint below its row, and a closing sentence."""
    styles = {"ok": "green", "absent": "dim", "warning": "yellow", "failed": "bold red"}
    table = Table.grid(padding=(0, 2))
    for _ in range(3):
        table.add_column(overflow="fold")
    for check in checks:
        found = Text(printable(check.found, console.encoding))
        table.add_row(Text(check.outcome, style=styles[check.outcome]), check.name, found)
        if check.hint:
            table.add_row("", "", Text(printable(check.hint, console.encoding), style="italic"))
    console.print(table)
    console.print("All that a run needs is there." if healthy else "No run can work like this.")
