"""Trains specs/cifar10.yaml for as many epochs as fit into some minutes, and says what it took.

    python benchmarks/cifar10_gpu.py [--minutes 8] [--set KEY=VALUE ...]

A first run of two epochs measures what an epoch costs; the second one trains for as many as fit
into what is left, with the whole schedule of the learning rate within them. Printed: the device,
accuracy, widths, events, ms a step, the share of the time per phase, and seconds of compilation.
CIFAR-10 is downloaded, or found through SENN_DATA. On a CPU, try it with a tiny limit:

    python benchmarks/cifar10_gpu.py --minutes 1 --epochs 1 --set data.subset=3200 \
        --set data.size=8 --set network.capacity.initial=16 --set network.bud=4
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import jax

import senn_cli
from senn_cli.words import plural

SPEC = Path(__file__).parent.parent / "specs" / "cifar10.yaml"


def run(epochs: int, overrides: list[str], root: Path) -> tuple[dict[str, Any], float, Path]:
    """The summary of a run of `epochs`, the wall seconds it took, and its directory."""
    started = time.perf_counter()
    length = [f"training.epochs={epochs}", "checkpoints.enabled=false"]
    found = senn_cli.train(SPEC, overrides=[*length, *overrides], root=root)
    return found.summary, time.perf_counter() - started, found.path


def edits(path: Path) -> dict[str, int]:
    """How many accepted edits of each kind the history has."""
    counts: dict[str, int] = {}
    history = path / "history.jsonl"
    if not history.exists():  # too few steps for a round
        return counts
    for line in history.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["accepted"]:
            amount = event.get("neurons", 1) if event["edit"] == "add_neurons" else 1
            counts[event["edit"]] = counts.get(event["edit"], 0) + int(amount)
    return counts


def main() -> None:
    """Measures and prints."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--epochs", type=int, help="instead of as many as fit")
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    chosen = parser.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        root, epochs = Path(place), chosen.epochs
        if epochs is None:
            first, _, _ = run(2, chosen.overrides, root)
            spent = first["seconds"]
            each = sum(spent[k] for k in ("train", "track", "score", "surgery", "evaluate")) / 2
            once = spent["total"] - 2 * each
            left = 60 * chosen.minutes - (time.perf_counter() - began)
            # A grown network is slower, and every enlargement compiles anew.
            epochs = max(1, int((left - 2 * once) / (1.5 * each)))
        summary, wall, path = run(epochs, chosen.overrides, root)
        counts = edits(path)
    seconds = summary["seconds"]
    total = seconds["total"]
    print(f"device: {jax.devices()[0].device_kind}")
    print(f"{plural(epochs, 'epoch')}, {plural(summary['steps'], 'step')} in {wall:.0f} s")
    print(f"test accuracy: {summary['test_accuracy']:.2%}")
    print(f"hidden: {summary['hidden']}, {summary['parameters']:,} parameters")
    print("edits:", ", ".join(f"{k} {v}" for k, v in sorted(counts.items())) or "none")
    print(
        f"training: {1000 * seconds['train'] / summary['steps']:.2f} ms a step; with tracking and "
        f"growth {1000 * (total - seconds['compile']) / summary['steps']:.2f} ms"
    )
    print("share:", ", ".join(f"{k} {v / total:.1%}" for k, v in seconds.items() if k != "total"))
    print(f"compilation: {seconds['compile']:.1f} s, {summary['compiled']}")


if __name__ == "__main__":
    main()
