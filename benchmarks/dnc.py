"""Does dynamic node creation solve truth tables near their smallest nets? Over many seeds.

    python benchmarks/dnc.py --seeds 20

Ash's problems (1989): the parity of 2 to 6 bits, symmetry, the sum of two numbers of 2 bits and the
8-3-8 encoder, all of whose examples are learnt: there are no others. From one hidden tanh unit,
whole tables a step, Adam; a unit comes wherever the loss has fallen by less than 5% of what it was
at the last addition in 1,000 steps, and none beyond three more than the least hidden layer known.
A table is solved where every output of every row is right. Prints a row a problem.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import senn_cli

MORE = 3
"""Units above the smallest known hidden layer that a solution may take."""


def parity(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Whether an odd number of `n` bits is 1."""
    x = np.array(list(product((0, 1), repeat=n)))
    return x, x.sum(axis=1) % 2


def symmetry(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Whether `n` bits read the same from both ends."""
    x = np.array(list(product((0, 1), repeat=n)))
    return x, (x == x[:, ::-1]).all(axis=1).astype(int)


def addition() -> tuple[np.ndarray, np.ndarray]:
    """The three bits of the sum of two numbers of two bits."""
    x = np.array(list(product((0, 1), repeat=4)))
    total = x @ np.array([2, 1, 2, 1])
    return x, np.stack([total >> bit & 1 for bit in (2, 1, 0)], axis=1)


def encoder() -> tuple[np.ndarray, np.ndarray]:
    """Eight patterns of a single 1, each of which is its own answer."""
    x = np.eye(8, dtype=int)
    return x, x


PROBLEMS: dict[str, tuple[tuple[np.ndarray, np.ndarray], int]] = {
    **{f"parity-{n}": (parity(n), n) for n in range(2, 7)},
    "symmetry-6": (symmetry(6), 2),
    "addition-2-2": (addition(), 3),
    "encoder-8-3-8": (encoder(), 3),
}
"""Every problem with its table and the smallest hidden layer known of it."""


def spec_of(name: str, seed: int, table: Path) -> dict[str, Any]:
    """The spec of one run on the table, which is written to the file `table`."""
    (x, y), least = PROBLEMS[name]
    np.savez(table, x=2.0 * x - 1, y=y)
    data = {
        "source": "npz",
        "path": str(table),
        "test_path": str(table),
        "validation": 0,
        "normalize": "none",
        "task": "classification" if y.ndim == 1 else "multilabel",
    }
    expansion = {
        "policy": "dynamic_node_creation",
        "every": {"steps": 50},
        "window": {"steps": 1000},
        "flat": 0.05,
        "scale": 0.5,
        "mean_error": 0.01,
        "max_error": 0.2,
        "max_hidden": least + MORE,
    }
    return {
        "name": name,
        "seed": seed,
        "data": data,
        "network": {
            "kind": "mlp",
            "hidden": [1],
            "activation": "tanh",
            "capacity": {"initial": [10]},
        },
        "optimizer": {"kind": "adam", "learning_rate": 1e-2, "schedule": "constant"},
        "expansion": expansion,
        "training": {"steps": 60000, "batch_size": len(x), "evaluate": {"steps": 15000}},
        "checkpoints": False,
    }


def solved(name: str, seed: int, place: Path) -> tuple[bool, int]:
    """Whether a run solves a problem, and with how many hidden units; files go to `place`."""
    spec = spec_of(name, seed, place / "table.npz")
    summary = senn_cli.train(spec, root=place / "runs").summary
    return summary["test_accuracy"] == 1.0, sum(summary["hidden"])


def main() -> None:
    """Runs all problems and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("problems", nargs="*", help="some of them; all by default")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    print(f"{'problem':14} solved  least known  hidden: median  most  seconds a run")
    for name in arguments.problems or PROBLEMS:
        least = PROBLEMS[name][1]
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as place:
            seeds = range(arguments.first, arguments.first + arguments.seeds)
            found = [solved(name, seed, Path(place)) for seed in seeds]
        seconds = (time.perf_counter() - started) / len(found)
        units = [count for _, count in found]
        right = f"{sum(right for right, _ in found)}/{len(found)}"
        median = f"{statistics.median(units):g}"
        print(
            f"{name:14} {right:>6}  {least:11}  {median:>14}  {max(units):4}  {seconds:14.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
