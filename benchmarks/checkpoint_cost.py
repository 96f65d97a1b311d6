"""What do checkpoints cost? Their share of the loop's time, and their bytes on disk.

    SENN_DATA=/where/mnist/is python benchmarks/checkpoint_cost.py

Trains the network of `specs/mnist.yaml` at its start and at its final width. Stretches of steps
with a save at their beginning alternate with stretches without one, so that whatever else the
machine does meets both alike. A save costs the difference: the copy that the loop waits for and
what writing in the background takes from the steps beside it. Its share follows from the default
interval. Without MNIST, noise of the same shape stands in.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import senn_cli
from senn_cli.data.mnist import find
from senn_cli.data.published import PUBLISHED
from senn_cli.data.registry import load_dataset
from senn_cli.engine.device import choose_device
from senn_cli.engine.programs import Ledger
from senn_cli.runs.directory import RunDirectory
from senn_cli.spec.checkpoints import CheckpointsSpec
from senn_cli.training.assemble import assemble
from senn_cli.training.loop import Trainer
from senn_cli.training.observer import Observer
from senn_cli.training.saving import Saver, data_digest
from senn_cli.training.snapshot import arrays_of

SPEC = Path(__file__).parent.parent / "specs" / "mnist.yaml"
ENDLESS = 10**9  # steps


def advance(trainer: Trainer, steps: int) -> float:
    """Seconds that the loop takes for so many steps, evaluations included."""
    trainer.timetable = replace(trainer.timetable, until=trainer.step + steps)
    began = time.perf_counter()
    trainer.run(Observer())
    return time.perf_counter() - began


def measure(overrides: list[str], folder: Path, pairs: int, seconds: float) -> None:
    """Prints what saves cost a run of the spec with `overrides`."""
    spec = senn_cli.load_spec(SPEC, overrides)
    choose_device(spec.device)
    dataset = load_dataset(spec.data, spec.seed)
    trainer = assemble(spec, dataset, Ledger())
    directory = RunDirectory.at(folder)
    saver = Saver(directory, CheckpointsSpec(), trainer, data_digest(dataset))
    advance(trainer, 2 * trainer.timetable.per_epoch)  # compiles; learns the length of a dispatch
    saver.save(trainer.moment, wait=True)  # Orbax is imported by the first
    steps = trainer.timetable.per_epoch
    steps = max(1, round(steps * seconds / advance(trainer, steps)))

    differences, waits = [], []
    for _ in range(pairs):
        without = advance(trainer, steps)
        before = trainer.ledger.seconds["save"]
        began = time.perf_counter()
        saver.save(trainer.moment)
        waits.append(trainer.ledger.seconds["save"] - before)
        advance(trainer, steps)
        saver.store.wait()
        differences.append(time.perf_counter() - began - without)

    arrays = sum(int(array.nbytes) for array in arrays_of(trainer.moment).values())
    newest = saver.store.directory / str(saver.store.steps()[-1])
    disk = sum(file.stat().st_size for file in newest.rglob("*") if file.is_file())
    minutes = CheckpointsSpec().every.minutes or 0.0
    cost, spread = statistics.mean(differences), statistics.stdev(differences)
    error = spread / len(differences) ** 0.5
    print(
        f"hidden {trainer.network.architecture.widths}: the loop waits "
        f"{1e3 * statistics.median(waits):.0f} ms a save, which costs "
        f"{1e3 * cost:.0f} ± {1e3 * error:.0f} ms in all ({pairs} pairs of {seconds:g} s); every "
        f"{minutes:g} minutes that is {cost / (60 * minutes):.2%} of the time\n"
        f"  arrays {arrays / 1e6:.2f} MB, on disk {disk / 1e6:.2f} MB: {disk / arrays:.3f} times",
        flush=True,
    )


def stand_in(folder: Path) -> list[str]:
    """Overrides for noise of MNIST's shape."""
    random = np.random.default_rng(0)
    files = {"path": (folder / "train.npz", 60_000), "test_path": (folder / "test.npz", 10_000)}
    for path, count in files.values():
        x = random.integers(0, 256, (count, 28, 28), np.uint8)
        np.savez(path, x=x, y=random.integers(0, 10, count))
    keys = ", ".join(f"{name}: {path}" for name, (path, _) in files.items())
    return [f"data={{source: npz, validation: 0, {keys}}}"]


def main() -> None:
    """Measures the network at its start and at its end."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of a stretch")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        data = [] if find(PUBLISHED["mnist"], None) else stand_in(Path(name))
        print("data: MNIST" if not data else "data: noise of MNIST's shape", flush=True)
        fixed = ["expansion.policy=none", f"training={{steps: {ENDLESS}, batch_size: 1024}}", *data]
        for number, width in enumerate((10, 60)):
            place = Path(name, f"run-{number}")
            measure(
                [*fixed, f"network.hidden=[{width}]"], place, arguments.pairs, arguments.seconds
            )


if __name__ == "__main__":
    main()
