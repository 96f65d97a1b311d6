"""Training steps a second over 1, 2, 4, 8 devices, weak and strong.

    python benchmarks/devices.py [--devices 1,2,4,8] [--kind densenet] [--batch 256]

Strong: the same batch over more devices. Weak: the same batch for every device. Trainers of one
network and the same data take turns, after a warm-up; printed are the medians of examples a second
and their ratio to one device.

Where JAX finds fewer devices than asked for, the CPU is divided into as many with
`--xla_force_host_platform_device_count`. They share its cores: such a table shows what dividing
costs, never what more devices gain, and says so.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from senn_cli.data.dataset import Dataset
    from senn_cli.training.loop import Trainer

NETWORKS = {
    "densenet": "{kind: densenet, blocks: [[16, 16], [16, 16]]}",
    "mlp": "{kind: mlp, hidden: [512, 512], activation: silu}",
}
SPEC = """
data: {{source: cifar10}}
device: {{count: {count}}}
network: {network}
optimizer: {{kind: {optimizer}}}
expansion: none
training: {{steps: 1000000, batch_size: {batch}, evaluate: {{steps: 1000000}}}}
"""


def images(size: int, count: int) -> Dataset:
    """Random pictures: what is measured does not depend on what they show."""
    from senn_cli.data.dataset import Dataset, Part

    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (count, size, size, 3)).astype(np.uint8)
    part = Part(x, rng.integers(0, 10, count).astype(np.int32), np.arange(count))
    zero, one = np.zeros(1, np.float32), np.ones(1, np.float32)
    names, pixels = tuple(map(str, range(10))), (127.5 * one, one / 63.75)
    return Dataset("random", "classification", part, None, part, names, *pixels, zero, one)


def trainer(chosen: argparse.Namespace, dataset: Dataset, count: int, batch: int) -> Trainer:
    """A trainer before its first step."""
    from senn_cli.engine.programs import Ledger
    from senn_cli.spec import parse_spec
    from senn_cli.training.assemble import assemble

    text = SPEC.format(
        count=count, network=NETWORKS[chosen.kind], optimizer=chosen.optimizer, batch=batch
    )
    return assemble(parse_spec(text), dataset, Ledger())


def seconds(made: Trainer, steps: int) -> float:
    """How long `steps` steps take, all else that is due in them included."""
    import jax

    from senn_cli.training.observer import Observer

    made.timetable = replace(made.timetable, until=made.step + steps)
    started = time.perf_counter()
    made.run(Observer())
    jax.block_until_ready(made.network.state.params)
    return time.perf_counter() - started


def measure(chosen: argparse.Namespace, counts: list[int], *, weak: bool) -> None:
    """Prints the table of one way to divide."""
    batches = [chosen.batch * (count if weak else 1) for count in counts]
    dataset = images(chosen.size, 2 * max(batches))
    made = [trainer(chosen, dataset, *pair) for pair in zip(counts, batches, strict=True)]
    for one in made:
        seconds(one, 2)
    turns = [[seconds(one, chosen.steps) for one in made] for _ in range(chosen.turns)]
    rates = [
        statistics.median(chosen.steps * batch / turn[i] for turn in turns)
        for i, batch in enumerate(batches)
    ]
    print(f"\n{'weak' if weak else 'strong'}: devices, batch, examples a second, beside one device")
    for count, batch, rate in zip(counts, batches, rates, strict=True):
        print(f"{count:3} {batch:6} {rate:10.0f} {rate / rates[0]:8.2f}")


def main() -> None:
    """Measures and prints."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", default="1,2,4,8", help="numbers of devices, 1 first")
    parser.add_argument("--kind", choices=sorted(NETWORKS), default="densenet")
    parser.add_argument("--optimizer", default="adam")
    parser.add_argument("--size", type=int, default=16, help="height and width of an image")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=5, help="steps a turn")
    parser.add_argument("--turns", type=int, default=5)
    chosen = parser.parse_args()
    counts = [int(count) for count in chosen.devices.split(",")]
    flags = os.environ.get("XLA_FLAGS", "")
    forced = f"--xla_force_host_platform_device_count={max(counts)}"
    os.environ["XLA_FLAGS"] = f"{flags} {forced}"  # of no effect on a GPU

    import jax

    from senn_cli.engine.device import in_words

    first = jax.devices()[0]
    print(f"device: {in_words(first)}; {vars(chosen)}")
    if first.platform == "cpu":
        print("Devices that share one CPU: this is what dividing costs, not what devices gain.")
    for weak in (False, True):
        measure(chosen, counts, weak=weak)


if __name__ == "__main__":
    main()
