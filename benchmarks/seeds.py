"""What the README and the headers of specs quote: a spec over several seeds, cold and warm.

    python benchmarks/seeds.py specs/quickstart.yaml --seeds 5

Every run is a process of its own, `senn train` as a user starts it. The first seed is trained
twice: `cold`, with an empty compilation cache, and `warm`, with what that run left there; the other
seeds are warm. Seconds are those of the whole process; CPU-seconds say more where the machine has
other work. Prints every run as it ends, with its score audit, then ranges over the seeds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controls import figure

from senn_cli.nets.registry import kind_of
from senn_cli.report.audit import Audit, audit
from senn_cli.report.record import read_record
from senn_cli.runs.environment import cpu_count, git_commit, senn_version, version_of
from senn_cli.words import plural


@dataclass(frozen=True)
class Measured:
    """One run.

    Attributes:
      summary: its `summary.json`.
      rows: of its metrics.
      shape: options of `network` that have its final shape from the start.
      audited: the audit of its scores.
      seconds: wall time of the process.
      cpu_seconds: its own and its threads' time on all cores.
    """

    summary: dict[str, Any]
    rows: tuple[dict[str, Any], ...]
    shape: dict[str, Any]
    audited: Audit
    seconds: float
    cpu_seconds: float


def measure(spec: Path, seed: int, overrides: Sequence[str], cache: str) -> Measured:
    """Trains in a new process with this cache; the run's directory is thrown away."""
    sets = [part for override in overrides for part in ("--set", override)]
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "senn_cli", "train", str(spec), "--seed", str(seed)]
        command += ["--quiet", "--run-dir", str(Path(place) / "run"), *sets]
        before, start = _children(), time.perf_counter()
        subprocess.run(
            command,
            check=True,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "SENN_CACHE_DIR": cache},
        )
        seconds, spent = time.perf_counter() - start, _children() - before
        record = read_record(Path(place) / "run")
        architecture = record.architecture
        assert record.summary is not None and architecture is not None
        shape = kind_of(architecture).section(architecture)
        return Measured(record.summary, record.metrics, shape, audit(record), seconds, spent)


def _children() -> float:
    """CPU-seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def machine() -> str:
    """What figures depend on beside the spec, in a line."""
    commit = git_commit(str(Path(__file__).parent)) or {}
    parts = [
        f"senn {senn_version()} ({str(commit.get('commit', 'no commit'))[:9]}"
        f"{', modified' if commit.get('modified') else ''})",
        f"jax {version_of('jax')}",
        f"Python {platform.python_version()}",
        f"{cpu_count()} cores of {_processor()}",
    ]
    return ", ".join(parts)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def line(seed: int, state: str, run: Measured) -> str:
    """One run in words."""
    summary, found = run.summary, run.audited
    gains = [r.realised for r in found.rounds if r.realised is not None]
    told = {"by rank": found.spearman, "control": found.control, "median ratio": found.ratio}
    trust = ", ".join(f"{name} {value:.2f}" for name, value in told.items() if value is not None)
    return (
        f"seed {seed} {state}: test {figure(summary):.4g}, hidden {summary['hidden']}, "
        f"{summary['parameters']:,} parameters; {run.seconds:.1f} s, {run.cpu_seconds:.1f} "
        f"CPU-seconds; {plural(summary['compilations'], 'compilation')}, {summary['cache_hits']} "
        f"of them from the cache; gained after {sum(g > 0 for g in gains)} of "
        f"{plural(len(gains), 'round')}; {trust}"
    )


def span(values: Sequence[float], form: str = ".4g") -> str:
    """The least and the greatest of some numbers."""
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


def main() -> None:
    """Runs and prints."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("spec", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    arguments = parser.parse_args()
    print(f"{arguments.spec} {json.dumps(arguments.overrides)}: {machine()}", flush=True)
    warm = []
    with tempfile.TemporaryDirectory() as cache:
        cold = measure(arguments.spec, 0, arguments.overrides, cache)
        print(line(0, "cold", cold), flush=True)
        for seed in range(arguments.seeds):
            warm.append(measure(arguments.spec, seed, arguments.overrides, cache))
            print(line(seed, "warm", warm[-1]), flush=True)
    figures = [figure(run.summary) for run in warm]
    sizes = [sum(run.summary["hidden"]) for run in warm]
    print(f"over seeds 0 to {arguments.seeds - 1}:")
    print(f"  test {span(figures)}, mean {statistics.mean(figures):.4g}")
    parameters = [run.summary["parameters"] for run in warm]
    print(f"  {span(sizes, ',')} hidden units, {span(parameters, ',')} parameters")
    print(f"  cold {cold.seconds:.0f} s, {cold.cpu_seconds:.0f} CPU-seconds")
    print(
        f"  warm {span([run.seconds for run in warm], '.0f')} s, "
        f"{span([run.cpu_seconds for run in warm], '.0f')} CPU-seconds"
    )


if __name__ == "__main__":
    main()
