"""What starting costs: compilation cold and from the cache, of several checkouts in turn.

    python -m benchmarks startup --beside ../before --turns 3

Every run is a process of its own, `senn train` as a user starts it: `cold` with an empty
compilation cache, then `warm` with what that one left there. With `--beside`, another checkout of
this package trains the same spec before each turn of this one. Printed are medians of CPU-seconds,
threads that compile included, and the ratios of this checkout's to the other's. `to step` is from
the command to the end of the first steps, before anything is evaluated or saved. What compiling
takes is told twice: `compile` is the run's own count, wall time that other work lengthens; cold
less warm are CPU-seconds, without what reading the cache takes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seeds import machine
from tables import SPEC, write

HERE = Path(__file__).parent.parent
FIRST_STEP = Path(__file__).parent / "_first_step.py"
SPECS = HERE / "specs"
TABLES = ("iris", "wine", "breast_cancer", "diabetes")
CASES: Mapping[str, tuple[str, ...]] = {
    "quickstart": (str(SPECS / "quickstart.yaml"),),
    "digits": ("digits.yaml",),
    "cifar10-small": (str(SPECS / "cifar10-small.yaml"), "--set", "training.epochs=3"),
    **{name: (f"{name}.yaml",) for name in TABLES},
}
"""Arguments of `senn train`, in a folder that has the tables' specs."""


def prepare(place: Path) -> None:
    """Writes the specs of two and three lines, and the tables that they name."""
    (place / "digits.yaml").write_text("data: digits\nnetwork: mlp\n", encoding="utf-8")
    for name in TABLES:
        target, task = write(name, place)
        text = SPEC.format(name=name, target=target, task=task, seed=0)
        (place / f"{name}.yaml").write_text(text, encoding="utf-8")


def train(checkout: Path, arguments: tuple[str, ...], place: Path, cache: str) -> dict[str, Any]:
    """The summary of one run, with the process's `cpu` and `wall` seconds, and those of them `to
    step` 1."""
    with tempfile.TemporaryDirectory() as runs:
        run, notes = Path(runs) / "run", Path(runs) / "first.json"
        command = [sys.executable, str(FIRST_STEP), str(notes), "train", *arguments, "--quiet"]
        surroundings = {**os.environ, "PYTHONPATH": str(checkout), "SENN_CACHE_DIR": cache}
        before, start = _spent(), time.perf_counter()
        subprocess.run(
            [*command, "--run-dir", str(run)],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=place,
            env=surroundings,
        )
        spent = {"cpu": _spent() - before, "wall": time.perf_counter() - start}
        first: dict[str, float] = json.loads(notes.read_text(encoding="utf-8"))
        spent |= {"cpu to step": first["cpu"], "wall to step": first["at"] - start}
        found: dict[str, Any] = json.loads((run / "summary.json").read_text(encoding="utf-8"))
        return found | spent


def _spent() -> float:
    """CPU-seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def turn(checkout: Path, arguments: tuple[str, ...], place: Path) -> dict[str, float]:
    """The figures of a cold run, and of a warm one behind it."""
    with tempfile.TemporaryDirectory() as cache:
        cold = train(checkout, arguments, place, cache)
        warm = train(checkout, arguments, place, cache)
    return {
        "cold": cold["cpu"],
        "warm": warm["cpu"],
        "cold less warm": cold["cpu"] - warm["cpu"],
        "compile": cold["seconds"]["compile"],
        "cold to step": cold["cpu to step"],
        "warm to step": warm["cpu to step"],
        "cold, wall": cold["wall"],
        "cold to step, wall": cold["wall to step"],
        "warm, wall": warm["wall"],
        "warm to step, wall": warm["wall to step"],
        "programs": cold["compilations"],
        "test": cold.get("test_accuracy", cold.get("test_mse")),
    }


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--beside", type=Path, help="another checkout of this package")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    chosen = parser.parse_args()
    checkouts = {"other": chosen.beside.resolve()} if chosen.beside else {}
    checkouts["this"] = HERE.resolve()
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        prepare(place)
        for case in chosen.cases:
            found: dict[str, list[dict[str, float]]] = {name: [] for name in checkouts}
            for _ in range(chosen.turns):
                for name, checkout in checkouts.items():
                    found[name].append(turn(checkout, CASES[case], place))
                    figures = ", ".join(f"{k} {v:.4g}" for k, v in found[name][-1].items())
                    print(f"  {case} {name}: {figures}", flush=True)
            medians = {
                name: {k: statistics.median(t[k] for t in turns) for k in turns[0]}
                for name, turns in found.items()
            }
            for key, value in medians["this"].items():
                other = medians.get("other", {}).get(key)
                beside = "" if other is None else f", other {other:.4g}, ratio {value / other:.3f}"
                print(f"{case:14} {key:18} {value:.4g}{beside}", flush=True)


if __name__ == "__main__":
    main()
