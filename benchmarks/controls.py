"""Does growing by score pay? A spec against its controls, over several seeds.

    python benchmarks/controls.py specs/mnist.yaml --seeds 5

For every seed, in turn: the spec as it is; the same with `expansion.policy: random` (the same times
and sites, weights from the initial distribution); and a static network of the shape that the first
one ended with (`policy: none`), all with the same optimizer, schedule and length. Prints every run
as it ends, then means and the differences of means.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

import senn_cli


def measure(spec: str, overrides: list[str]) -> dict[str, Any]:
    """The summary of one run, whose directory is thrown away."""
    with tempfile.TemporaryDirectory() as root:
        return senn_cli.train(spec, overrides=overrides, root=root).summary


def figure(summary: dict[str, Any]) -> float:
    """Test accuracy in percent, or the test mean squared error."""
    if "test_accuracy" in summary:
        return 100 * float(summary["test_accuracy"])
    return float(summary["test_mse"])


def line(policy: str, seed: int, summary: dict[str, Any]) -> str:
    """One run in words."""
    seconds = summary["seconds"]
    parts = " ".join(f"{k} {seconds[k]:.0f}" for k in ("train", "score", "compile"))
    return (
        f"{policy:7} seed {seed}: test {figure(summary):.4g}, hidden {summary['hidden']}, "
        f"{summary['parameters']} parameters, {seconds['total']:.0f} s ({parts})"
    )


def main() -> None:
    """Runs the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("spec", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    arguments = parser.parse_args()
    figures: dict[str, list[float]] = {"senn": [], "random": [], "none": []}
    for seed in range(arguments.seeds):
        shape: list[int] = []
        for policy in figures:
            overrides = [*arguments.overrides, f"seed={seed}", f"expansion.policy={policy}"]
            if policy == "none":
                overrides += [f"network.hidden={shape}", "network.capacity.initial=null"]
            summary = measure(str(arguments.spec), overrides)
            shape = shape or summary["hidden"]
            figures[policy].append(figure(summary))
            print(line(policy, seed, summary), flush=True)
    for policy, values in figures.items():
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        print(f"{policy:7} mean {statistics.mean(values):.4g}, standard deviation {spread:.2g}")
    for other in ("random", "none"):
        gap = statistics.mean(figures["senn"]) - statistics.mean(figures[other])
        print(f"senn - {other}: {gap:+.3g}")


if __name__ == "__main__":
    main()
