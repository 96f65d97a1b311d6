"""Does growth help a network that was trained on another task? MNIST to Fashion-MNIST.

    python benchmarks/transfer_mlp.py --target fashion_mnist
    python benchmarks/transfer_mlp.py --target cifar10_gray   # where there is no Fashion-MNIST

For every seed a network grows on MNIST (`specs/mnist.yaml`, shortened). Then, on the target and by
`specs/mnist-to-fashion.yaml`, all with the same optimizer and number of epochs:

  (a) transfer, grown:    from that network, with growth
  (b) transfer, fixed:    from that network, `expansion.policy: none`
  (c) scratch, grown:     from 10 random neurons, with growth
  (d) scratch, fixed:     random weights in the shape that (a) ended with

Prints every run as it ends, then a table. `cifar10_gray` is CIFAR-10 in grey at 28 x 28: a harder
task with as many inputs and classes, further from MNIST than clothes are.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import senn_cli
from senn_cli.data.registry import load_dataset
from senn_cli.spec import parse_spec

SPECS = Path(__file__).resolve().parent.parent / "specs"
NAMES = ("transfer, grown", "transfer, fixed", "scratch, grown", "scratch, fixed")
GRAY = "data: {source: cifar10, size: 28, channels: 1, validation: 0}\nnetwork: mlp\n"


def gray(folder: Path) -> str:
    """Writes CIFAR-10 in grey at 28 x 28 to two archives; the override that names them."""
    dataset = load_dataset(parse_spec(GRAY).data, 0)
    for name, part in (("train", dataset.train), ("test", dataset.test)):
        np.savez(folder / f"{name}.npz", x=part.x.reshape(-1, 28, 28), y=part.y)
    return (
        f"data={{source: npz, path: '{folder / 'train.npz'}', "
        f"test_path: '{folder / 'test.npz'}', validation: 0}}"
    )


def compare(seed: int, data: list[str], epochs: tuple[int, int], root: Path) -> list[Any]:
    """The summaries of the four runs of one seed, in the order of `NAMES`."""
    target = SPECS / "mnist-to-fashion.yaml"
    start = time.perf_counter()
    overrides = [f"seed={seed}", f"training.epochs={epochs[0]}"]
    origin = senn_cli.train(SPECS / "mnist.yaml", overrides=overrides, root=root)
    print(line("MNIST", seed, origin.summary, time.perf_counter() - start), flush=True)
    common = [*data, f"seed={seed}", f"training.epochs={epochs[1]}"]
    found: list[Any] = []
    for name in NAMES:
        overrides, start = list(common), time.perf_counter()
        if name.endswith("fixed"):
            overrides.append("expansion.policy=none")
        if name == "scratch, fixed":
            overrides.append(f"network.hidden={found[0]['hidden']}")
        if name.startswith("transfer"):
            run = senn_cli.transfer(origin.path, target, overrides=overrides, root=root)
        else:
            run = senn_cli.train(target, overrides=overrides, root=root)
        print(line(name, seed, run.summary, time.perf_counter() - start), flush=True)
        found.append(run.summary)
    return found


def line(name: str, seed: int, summary: dict[str, Any], seconds: float) -> str:
    """One run in words."""
    return (
        f"{name:16} seed {seed}: test {100 * summary['test_accuracy']:.2f} %, hidden "
        f"{summary['hidden']}, {summary['parameters']} parameters, {seconds:.0f} s"
    )


def table(runs: list[list[Any]]) -> str:
    """Mean and sample standard deviation over the seeds, a row each way."""
    rows = [
        "| | test accuracy % by seed | mean | sd | hidden | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for index, name in enumerate(NAMES):
        mine = [found[index] for found in runs]
        values = [100 * summary["test_accuracy"] for summary in mine]
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        shapes = " / ".join("-".join(map(str, summary["hidden"])) for summary in mine)
        seconds = statistics.mean(summary["seconds"]["total"] for summary in mine)
        shown = " ".join(f"{value:.2f}" for value in values)
        rows.append(
            f"| {name} | {shown} | {statistics.mean(values):.2f} | {spread:.2f} | {shapes} "
            f"| {seconds:.0f} |"
        )
    return "\n".join(rows)


def main() -> None:
    """Runs the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--target", choices=("fashion_mnist", "cifar10_gray"), required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--origin-epochs", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=15)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        data = [gray(root)] if arguments.target == "cifar10_gray" else []
        epochs = (arguments.origin_epochs, arguments.epochs)
        runs = [compare(seed, data, epochs, root) for seed in range(arguments.seeds)]
    print(f"\n{arguments.target}, {arguments.epochs} epochs\n\n{table(runs)}")


if __name__ == "__main__":
    main()
