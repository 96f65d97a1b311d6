"""Does Net2Net's wider layer learn faster than one padded by chance? MNIST, 64 neurons to 128.

    python benchmarks/net2net.py --seeds 5

One hidden layer of 64 ReLU neurons learns for some epochs; then 64 more come, as copies that share
output weights (`net2net`) or of random weights, in and out, from the initial distribution (random
padding: `dynamic_node_creation` of scale 1, told to grow then). Up to there both are one run, to
the bit. Adam, the same batches. A third run has 128 neurons from the start. Prints after how many
epochs the validation accuracy first reached 97.5%: of the two that grow, counted from when they
did, and beside it the accuracy just behind that.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import senn_cli

WANTED = 0.975
EVERY = 10
"""Evaluations an epoch."""


def spec_of(way: str, seed: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """The spec of one run."""
    per_epoch = (60000 if arguments.subset is None else arguments.subset) // arguments.batch
    per_epoch = per_epoch * 9 // 10  # the rest is for validation
    at = per_epoch * arguments.before
    data = {"source": "mnist", "validation": 0.1}
    if arguments.subset is not None:
        data["subset"] = arguments.subset
    times = {"every": {"steps": per_epoch}, "until": {"steps": at}, "max_hidden": 128}
    width = {"per_round": 64}
    expansions: dict[str, Any] = {
        "net2net": {"policy": "net2net", "start": {"steps": at}, "width": width, **times}
        | {"jitter": arguments.jitter},
        "padding": {
            "policy": "dynamic_node_creation",
            "start": {"steps": at - per_epoch},  # a loss to compare with
            "window": {"steps": per_epoch},
            "flat": 1e9,
            "scale": 1.0,
            "width": width,
            **times,
        },
        "scratch": {"policy": "none"},
    }
    return {
        "name": way,
        "seed": seed,
        "data": data,
        "network": {
            "kind": "mlp",
            "hidden": [128 if way == "scratch" else 64],
            "activation": "relu",
            "capacity": {"initial": [128]},
        },
        "optimizer": {"kind": "adam", "learning_rate": 1e-3, "schedule": "constant"},
        "expansion": expansions[way],
        "training": {
            "epochs": arguments.before + arguments.after,
            "batch_size": arguments.batch,
            "evaluate": {"steps": max(1, per_epoch // EVERY)},
        },
        "checkpoints": False,
    }


def measure(way: str, seed: int, arguments: argparse.Namespace) -> tuple[float | None, float]:
    """Epochs until the accuracy was reached, None if never, and the first accuracy counted."""
    with tempfile.TemporaryDirectory() as place:
        run = senn_cli.train(spec_of(way, seed, arguments), root=place)
        lines = (Path(run.path) / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    began = 0.0
    if way != "scratch":
        grown = next(i for i, row in enumerate(rows) if sum(row["hidden"]) == 128)
        began, rows = rows[grown - 1]["epoch"], rows[grown:]
    reached = (row["epoch"] - began for row in rows if row["validation_accuracy"] >= WANTED)
    return next(reached, None), float(rows[0]["validation_accuracy"])


def main() -> None:
    """Runs the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--before", type=int, default=4, help="epochs of the smaller network")
    parser.add_argument("--after", type=int, default=8, help="epochs from there")
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--subset", type=int, default=None, help="images; all without it")
    parser.add_argument("--jitter", type=float, default=1e-2, help="noise on copies")
    parser.add_argument("--ways", nargs="+", default=["net2net", "padding", "scratch"])
    arguments = parser.parse_args()
    for seed in range(arguments.seeds):
        for way in arguments.ways:
            reached, first = measure(way, seed, arguments)
            told = "never" if reached is None else f"{reached:.1f} epochs"
            print(f"seed {seed} {way:8} {told:>11}, first accuracy {100 * first:.2f}%", flush=True)


if __name__ == "__main__":
    main()
