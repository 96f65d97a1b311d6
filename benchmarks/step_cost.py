"""What a step of training costs, of several checkouts in turn: CPU-seconds, and their ratio.

    python -m benchmarks step_cost --beside ../before --turns 5

Every turn is a process for each checkout, which compiles, takes some steps and is then timed over
the same number again, without growth and evaluation. Printed are medians of CPU-milliseconds a step
and the ratio of this checkout's to the other's. CPU-seconds, not seconds: other work on the machine
lengthens the latter.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent.parent
REST = """
expansion: {policy: none}
"""
CASES: Mapping[str, tuple[str, int, int]] = {
    "quickstart": (
        "data: digits\nnetwork: {kind: mlp, hidden: [32]}\noptimizer: {kl_clip: 0.1}\n",
        128,
        600,
    ),
    "mnist": (
        "data: {source: mnist, subset: 10240, validation: 0}\n"
        "network: {kind: mlp, hidden: [60], activation: silu}\noptimizer: {kl_clip: 0.1}\n",
        1024,
        60,
    ),
    "cifar10-small": (
        "data: {source: cifar10, size: 16, subset: 2048, validation: 0}\n"
        "network: {kind: densenet, blocks: [[16], [16], [16]]}\n"
        "optimizer: {learning_rate: 0.1, weight_decay: 1e-2}\n",
        64,
        40,
    ),
}
"""Spec, batch, and steps to time."""


def timed(case: str) -> float:
    """CPU-milliseconds of a step, in this process."""
    from dataclasses import replace

    import jax

    from senn_cli.data.registry import load_dataset
    from senn_cli.engine.programs import Ledger
    from senn_cli.spec import parse_spec
    from senn_cli.training.assemble import assemble
    from senn_cli.training.observer import Observer

    text, batch, count = CASES[case]
    length = f"training: {{steps: 1000000, batch_size: {batch}, evaluate: {{steps: 1000000}}}}\n"
    spec = parse_spec(text + REST + length)
    made = assemble(spec, load_dataset(spec.data, 0), Ledger())

    def advance() -> float:
        made.timetable = replace(made.timetable, until=made.step + count)
        start = time.process_time()
        made.run(Observer())
        jax.block_until_ready(made.network.state.params)
        return 1000 * (time.process_time() - start) / count

    advance()
    return advance()


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--beside", type=Path, help="another checkout of this package")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--time", choices=list(CASES), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.time:
        print(timed(chosen.time))
        return
    checkouts = {"other": chosen.beside.resolve()} if chosen.beside else {}
    checkouts["this"] = HERE.resolve()
    for case in chosen.cases:
        found: dict[str, list[float]] = {name: [] for name in checkouts}
        for _ in range(chosen.turns):
            for name, checkout in checkouts.items():
                command = [sys.executable, str(Path(__file__).resolve()), "--time", case]
                there = {**os.environ, "PYTHONPATH": str(checkout)}
                told = subprocess.run(
                    command, check=True, stdout=subprocess.PIPE, text=True, cwd=checkout, env=there
                ).stdout
                found[name].append(float(told.split()[-1]))
        ms = {name: statistics.median(times) for name, times in found.items()}
        words = ", ".join(f"{name} {value:.3f} ms" for name, value in ms.items())
        ratio = f", ratio {ms['this'] / ms['other']:.3f}" if "other" in ms else ""
        print(f"{case}: {words} of CPU a step{ratio}", flush=True)


if __name__ == "__main__":
    main()
