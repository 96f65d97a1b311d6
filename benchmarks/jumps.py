"""Does the loss of training jump? Counts it over seeds, with growth and without.

    python -m benchmarks jumps --seeds 20 --into jumps-runs

A row of metrics is a jump when its training loss is above three times the median of the ten rows
before it, from epoch 5 on (moons, whose every step is an epoch, from step 60 on). Every run stays
in the folder, and one that is there is not run again. Without growth the shape is the one that the
grown run of the same seed ended with. Printed: jumps, the largest ratio to the median, steps that
were refused, test figures.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import senn_cli

HERE = Path(__file__).parent.parent
TIMES = 3.0
WINDOW = 10
CASES: Mapping[str, tuple[str, int, tuple[str, ...]]] = {
    "quickstart": ("quickstart", 5, ()),
    "moons": ("moons", 60, ("training.evaluate.steps=1",)),
    "mnist-10000": ("mnist", 5, ("data.subset=10000", "data.validation=0")),
    "mnist": ("mnist", 5, ()),
}
"""The spec, the epoch from which on jumps count, and what is set in it."""


def ratios(rows: list[dict[str, Any]], start: int) -> list[float]:
    """Every counted row's training loss over the median of the rows before it."""
    losses = [float(row["train_loss"]) for row in rows]
    return [
        loss / statistics.median(losses[max(0, index - WINDOW) : index])
        for index, (row, loss) in enumerate(zip(rows, losses, strict=True))
        if index and row["epoch"] >= start
    ]


def run(case: str, seed: int, folder: Path, shape: list[int] | None) -> dict[str, Any]:
    """The figures of one run, made where the folder has none.

    Args:
      shape: the hidden widths of a network that does not grow; None for one that does.
    """
    name, start, changes = CASES[case]
    place = folder / f"{case}-{'grown' if shape is None else 'static'}-{seed}"
    if not (place / "summary.json").exists():
        overrides = [*changes, f"seed={seed}", "checkpoints.enabled=false"]
        if shape is not None:
            still = ["expansion.policy=none", f"network.hidden={shape}"]
            overrides += [*still, "network.capacity.initial=null"]
        senn_cli.train(str(HERE / f"specs/{name}.yaml"), overrides=overrides, run_directory=place)
    summary = json.loads((place / "summary.json").read_text(encoding="utf-8"))
    lines = (place / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    found = ratios(rows, start)
    return {
        "jumps": sum(ratio > TIMES for ratio in found),
        "largest": max(found),
        "refused": rows[-1].get("refused_steps", 0),
        "test": 100 * float(summary["test_accuracy"]),
        "hidden": summary["hidden"],
    }


def main() -> None:
    """Runs what is missing, and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--into", type=Path, default=Path("jumps-runs"))
    chosen = parser.parse_args()
    for case in chosen.cases:
        found: dict[str, list[dict[str, Any]]] = {"grown": [], "static": []}
        for seed in range(chosen.seeds):
            found["grown"].append(run(case, seed, chosen.into, None))
            shape = found["grown"][-1]["hidden"]
            found["static"].append(run(case, seed, chosen.into, shape))
            for kind, runs in found.items():
                print(f"  {case} {kind} seed {seed}: {runs[-1]}", flush=True)
        for kind, runs in found.items():
            told = ", ".join(f"{key} {sum(r[key] for r in runs)}" for key in ("jumps", "refused"))
            largest = max(r["largest"] for r in runs)
            test = statistics.mean(r["test"] for r in runs)
            print(
                f"{case} {kind}: {told} over {len(runs)} seeds, largest {largest:.2f}, {test:.2f}%"
            )


if __name__ == "__main__":
    main()
