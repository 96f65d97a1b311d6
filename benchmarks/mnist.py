"""MNIST: seconds to 97% and accuracy with 60 neurons, of senn, fixed networks and gromo.

    python -m benchmarks mnist --seeds 3            # gromo: pip install torch gromo

Processes of their own take turns, each with an empty compilation cache, on the same training
images; 10,000 of the 60,000 are the validation part. `senn` is specs/mnist.yaml with at most 60
neurons, and beside it without that cap; `static` has 60 neurons from the start, with the same
optimizer and epochs; `static, adam` the same by Adam (2e-3, batches of 128); `gromo` as `_gromo.py`
says, on one thread, as more make it slower. Seconds run from the start of training (with the
imports of PyTorch and gromo; those of senn as its metrics count them) to the first epoch with 97%
on the validation part. The test accuracy of the last epoch is told and chooses nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from seeds import machine, measure

from senn_cli.data.registry import load
from senn_cli.spec import load_spec

HERE = Path(__file__).parent
SPEC = HERE.parent / "specs" / "mnist.yaml"
PARTS = "data.validation=10000"
STATIC = ("expansion=none", "network.hidden=[60]", "network.capacity.initial=null")
ADAM = ("optimizer={kind: adam, learning_rate: 2e-3}", "training.batch_size=128")
CAPPED = ("expansion.max_hidden=60",)
WAYS = {"senn": CAPPED, "senn, no cap": (), "static": STATIC, "static, adam": (*STATIC, *ADAM)}
NEURONS = 60


def rows_of_senn(overrides: tuple[str, ...], seed: int, epochs: int) -> list[dict[str, Any]]:
    """The rows of metrics of a run, with the test accuracy in the last one."""
    sets = [PARTS, f"training.epochs={epochs}", *overrides]
    with tempfile.TemporaryDirectory() as cache:
        run = measure(SPEC, seed, sets, cache)
    rows = [row for row in run.rows if "validation_accuracy" in row]
    rows[-1]["test_accuracy"] = run.summary["test_accuracy"]
    return rows


def rows_of_gromo(seed: int, epochs: int) -> list[dict[str, Any]]:
    """The same of gromo, whose images are senn's, as senn scales them."""
    data = load(load_spec(SPEC, [PARTS, f"seed={seed}"]))
    with tempfile.TemporaryDirectory() as place:
        for part, name in (
            (data.train, ""),
            (data.validation, "validation_"),
            (data.test, "test_"),
        ):
            assert part is not None
            x = (np.asarray(part.x, np.float32) - data.shift) * data.scale
            np.save(Path(place) / f"{name}x.npy", x.reshape(len(x), -1))
            np.save(Path(place) / f"{name}y.npy", np.asarray(part.y, np.int64))
        done = subprocess.run(
            [sys.executable, str(HERE / "_gromo.py"), place, str(seed), str(NEURONS), str(epochs)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
    return [json.loads(line) for line in done.stdout.splitlines()]


def reached(rows: list[dict[str, Any]], goal: float) -> float:
    """Seconds at the first row that is there; infinite where none is."""
    there: Iterator[float] = (row["seconds"] for row in rows if row["validation_accuracy"] >= goal)
    return next(there, float("inf"))


def main() -> None:
    """Measures and prints."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--ways", nargs="+", default=[*WAYS, "gromo"], choices=[*WAYS, "gromo"])
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--goal", type=float, default=0.97)
    chosen = parser.parse_args()
    print(machine(), flush=True)
    ways = [way for way in chosen.ways if way != "gromo" or find_spec("gromo")]
    if ways != chosen.ways:
        print("gromo is not installed: pip install torch gromo")
    times: dict[str, list[float]] = {way: [] for way in ways}
    ends: dict[str, list[float]] = {way: [] for way in ways}
    for seed in range(chosen.first, chosen.first + chosen.seeds):
        for way in ways:
            started = time.perf_counter()
            if way == "gromo":
                rows = rows_of_gromo(seed, chosen.epochs)
            else:
                rows = rows_of_senn(WAYS[way], seed, chosen.epochs)
            whole = time.perf_counter() - started
            times[way].append(reached(rows, chosen.goal))
            ends[way].append(100 * rows[-1]["test_accuracy"])
            print(
                f"seed {seed}, {way:12} {chosen.goal:.0%} after {times[way][-1]:.1f} s, at the end "
                f"{ends[way][-1]:.2f}% with {rows[-1]['hidden']}, the whole {whole:.0f} s",
                flush=True,
            )
    for way in ways if "senn" in ways else []:
        ratio = statistics.median(s / t for s, t in zip(times["senn"], times[way], strict=True))
        print(
            f"{way:12} median {statistics.median(times[way]):.1f} s to {chosen.goal:.0%}, senn's "
            f"time over it {ratio:.2f}; test accuracy {statistics.mean(ends[way]):.2f}% in the mean"
        )


if __name__ == "__main__":
    main()
