"""`senn doctor --distributed`: whether several processes can train one run together.

Every process finds out the same things, process 0 compares them and tells; a process that differs
is named with its machine.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from senn_cli.cli.doctoring import Check
from senn_cli.cli.together import meet
from senn_cli.cluster.meeting import LIMIT
from senn_cli.engine.hosts import Hosts
from senn_cli.errors import UsageError
from senn_cli.runs.files import nearest_existing
from senn_cli.words import plural

SECONDS = 60
"""How long the others, a sum and a file are waited for, where `SENN_HOSTS_TIMEOUT` says nothing."""

APART = 1.0
"""Seconds by which clocks may be apart: what happens on two machines is then in one order still."""

_LOOK = 0.2


def examine_together(
    hosts: int | None, host_id: int | None, coordinator: str | None, runs: Path
) -> tuple[list[Check], bool]:
    """Meets the other processes and makes all checks with them.

    Args:
      hosts, host_id, coordinator: as options say.
      runs: where runs would go.

    Returns:
      The checks, in all processes the same, and whether another process tells of them.

    Raises:
      UsageError: this process is alone.
      HostsError: the others have not come, or have gone.
    """
    os.environ.setdefault(LIMIT, str(SECONDS))
    met = meet(hosts, host_id, coordinator)
    if met is None:
        raise UsageError(
            "this process is alone: it is no task of an srun with several (SLURM_STEP_NUM_TASKS), "
            "none of mpirun's (OMPI_COMM_WORLD_SIZE), and --hosts does not say so",
            hint="Start it as a run would be: srun --ntasks=2 senn doctor --distributed",
        )
    with met.until_end():
        named = [f"process {index} ({name})" for index, name in enumerate(met.names)]
        checks = [
            Check("processes", "ok", ", ".join(named)),
            check_same("versions", named, met.gathered("versions", _versions())),
            check_clocks(named, _clocks(met)),
            check_files(named, *_seen(met, nearest_existing(runs))),
            check_devices(named, met.gathered("devices", _devices())),
            check_sums(named, *_sums(met)),
        ]
        return checks, met.index > 0


def check_same(name: str, named: Sequence[str], found: Sequence[dict[str, str]]) -> Check:
    """Whether all processes have the same of everything; says who has what else than process 0."""
    first = found[0]
    parts = [
        f"{who} has {what} {other.get(what)}, {named[0]} {first.get(what)}"
        for who, other in zip(named[1:], found[1:], strict=True)
        for what in sorted(first.keys() | other.keys())
        if other.get(what) != first.get(what)
    ]
    if parts:
        return Check(name, "failed", "; ".join(parts), "Install the same everywhere.")
    return Check(name, "ok", "all alike: " + ", ".join(f"{k} {v}" for k, v in first.items()))


def check_clocks(named: Sequence[str], found: Sequence[tuple[float, float]]) -> Check:
    """How far clocks are from that of process 0.

    Args:
      found: of every process the seconds that it is ahead, and by how much that may be wrong.
    """
    off = [
        f"{who} by {ahead:+.3f} s"
        for who, (ahead, error) in zip(named, found, strict=True)
        if abs(ahead) - error > APART
    ]
    if off:
        return Check(
            "clocks",
            "warning",
            f"apart from that of {named[0]}: {', '.join(off)}",
            "Have all machines keep time by NTP: dates of runs and files will contradict.",
        )
    most = max(abs(ahead) for ahead, _ in found)
    doubt = max(error for _, error in found)
    return Check("clocks", "ok", f"apart by at most {most:.3f} s, give or take {doubt:.3f} s")


def check_files(named: Sequence[str], place: str, seen: Sequence[str]) -> Check:
    """Whether all see what process 0 writes.

    Args:
      place: where it has written.
      seen: of every process why it has not seen it; empty where it has.
    """
    parts = [f"{who}: {why}" for who, why in zip(named, seen, strict=True) if why]
    if parts:
        return Check(
            "shared files",
            "failed",
            f"a file of process 0 in {place} is not seen by all; {'; '.join(parts)}",
            "Use a directory that all machines see, at the same path: runs are resumed from it.",
        )
    return Check("shared files", "ok", f"all see what process 0 writes in {place}")


def check_devices(named: Sequence[str], found: Sequence[Sequence[str]]) -> Check:
    """Which devices there are, and whether all have as many of one kind."""
    parts = [
        f"{who}: {len(own)} x {own[0]}" if own else f"{who}: none"
        for who, own in zip(named, found, strict=True)
    ]
    if len({tuple(own) for own in found}) == 1:
        return Check("devices", "ok", ", ".join(parts))
    return Check(
        "devices",
        "warning",
        ", ".join(parts),
        "A run takes as many of each process as the one with the fewest has.",
    )


def check_sums(
    named: Sequence[str], expected: float, found: Sequence[Any], seconds: float
) -> Check:
    """Whether a sum over all devices of all processes is right everywhere.

    Args:
      found: of every process the sum, or as a text why there is none.
      seconds: that it took, compilation included.
    """
    parts = [
        f"{who}: {value}"
        for who, value in zip(named, found, strict=True)
        if isinstance(value, str) or value != expected
    ]
    if parts:
        return Check(
            "all-reduce",
            "failed",
            f"the sum should be {expected:g}; {'; '.join(parts)}",
            "A firewall between the machines is the usual cause; NCCL_DEBUG=INFO tells more.",
        )
    return Check("all-reduce", "ok", f"the sum is right everywhere, after {seconds:.1f} s")


def _versions() -> dict[str, str]:
    import platform

    from senn_cli.runs.environment import code, senn_version, versions

    own = {"senn": senn_version(), "code": code(), "python": platform.python_version()}
    return own | versions()


def _devices() -> list[str]:
    import jax

    return [f"{device.device_kind} ({device.platform})" for device in jax.local_devices()]


def _clocks(met: Hosts) -> list[tuple[float, float]]:
    """Seconds that every process is ahead of process 0, each with half the time that asking took.

    Between two looks at its own clock process 0 has all others look at theirs (Cristian 1989); the
    quickest of some turns tells most.
    """
    best: list[tuple[float, float]] = []
    for _ in range(4):
        before = time.time()
        met.gathered("a clock", None)
        theirs = met.gathered("a time", time.time())
        after = time.time()
        turn = [(their - (before + after) / 2, (after - before) / 2) for their in theirs]
        turn[0] = (0.0, 0.0)
        best = min([best, turn], key=lambda one: one[-1][1]) if best else turn
    found = met.agreed("the clocks", best)
    return [(ahead, error) for ahead, error in found]


def _seen(met: Hosts, place: Path) -> tuple[str, list[str]]:
    """Where process 0 has written a file, and of every process why it has not seen it."""
    word = met.agreed("a word", secrets.token_hex(8))
    folder = Path(met.agreed("a folder", str(place.absolute())))
    file, fault = folder / f".senn-doctor-{word}", ""
    try:
        if met.index == 0:
            try:
                file.write_text(word, encoding="ascii")
            except OSError as error:
                fault = f"cannot write it: {error.strerror or error}"
        met.gathered("a file", None)
        return str(folder), met.gathered("the file", fault or _why_unseen(file, word))
    finally:
        if met.index == 0:
            file.unlink(missing_ok=True)


def _why_unseen(file: Path, word: str) -> str:
    """Why a file is not there with this content; what is shared may take seconds to appear."""
    end = time.monotonic() + 5
    while True:
        try:
            found = file.read_text(encoding="ascii", errors="replace")
            why = "" if found == word else "has another content"
        except OSError as error:
            why = error.strerror or str(error)
        if not why or time.monotonic() > end:
            return why
        time.sleep(_LOOK)


def _sums(met: Hosts) -> tuple[float, list[Any], float]:
    """The sum of 1, 2, ..., n over n devices: as it should be, as found by all, and the seconds."""
    import jax
    import numpy as np

    from senn_cli.engine.mesh import placement
    from senn_cli.spec.device import DeviceSpec

    start, over = time.monotonic(), placement(DeviceSpec(count="all"))
    found: list[Any] = [f"none within {plural(met.limit, 'second')}"]

    def add() -> None:
        try:
            rows = over.rows(np.arange(1, over.count + 1, dtype=np.float32))
            found[0] = float(jax.jit(lambda array: array.sum())(rows))
        except Exception as error:  # whatever Gloo, NCCL or the driver raise
            found[0] = str(error).splitlines()[0]

    _within(met.limit, add)
    seconds = time.monotonic() - start
    return over.count * (over.count + 1) / 2, met.gathered("the sum", found[0]), seconds


def _within(limit: float, action: Callable[[], None]) -> None:
    """Runs it in a thread that is left behind where it hangs, as collectives do."""
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(limit)
