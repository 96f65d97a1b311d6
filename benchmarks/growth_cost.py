"""What tracking, scoring and deciding cost, beside a plain Adam step of the same padded network.

    python -m benchmarks growth_cost [--size 32] [--channels 128] [--blocks 3] [--bud 64]
    python -m benchmarks growth_cost --natural --channels 32 --bud 16 --every 20 --stride 4

Two trainers of one DenseNet, at one capacity and on the same data, take turns: one with
`expansion: none` and no buds (plain Adam, or with `--natural` the natural gradient without
a look at the curvature in between), one that would grow, but whose probabilities are 0.
After a warm-up, each turn times the steps between two growth rounds: training steps, looks at the
curvature and the round itself. Printed: the median ms a step of both, the median of the pairs'
ratios, and where the time of the growing one goes.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import jax
import numpy as np

from senn_cli.data.dataset import Dataset, Part
from senn_cli.engine.programs import Ledger
from senn_cli.spec import Spec, parse_spec
from senn_cli.training.assemble import assemble
from senn_cli.training.loop import Trainer
from senn_cli.training.observer import Observer

SPEC = """
data: {{source: cifar10}}
network: {{kind: densenet, blocks: {blocks}, compute: {compute}{room}}}
optimizer: {optimizer}
{curvature}
expansion: {expansion}
training: {{steps: 1000000, batch_size: {batch}, evaluate: {{steps: 1000000}}}}
"""
GROWTH = """{{policy: senn, threshold: 3e-4, stop: 0, prune: true, every: {{steps: {rounds}}},
  width: {{max_width: {channels}}},
  dormant: {{activate: 0, prune: 0, redraw: 0, bud_factor: 1e30}}}}"""

ADAM = "{kind: adam, learning_rate: 3e-4}"
NATURAL = "{kind: natural_gradient, learning_rate: 0.1, kl_clip: 0.3}"
CLOCKS: dict[str, Callable[[], float]] = {"cpu": time.process_time, "wall": time.perf_counter}


def images(size: int, count: int) -> Dataset:
    """Random pictures: what is measured does not depend on what they show."""
    rng = np.random.default_rng(0)

    def part(n: int) -> Part:
        x = rng.integers(0, 256, (n, size, size, 3)).astype(np.uint8)
        return Part(x, rng.integers(0, 10, n).astype(np.int32), np.arange(n))

    return Dataset(
        name="random",
        task="classification",
        train=part(count),
        validation=None,
        test=part(64),
        classes=tuple(map(str, range(10))),
        shift=np.full(1, 127.5, np.float32),
        scale=np.full(1, 1 / 63.75, np.float32),
        target_shift=np.zeros(1, np.float32),
        target_scale=np.ones(1, np.float32),
    )


def trainer(spec: Spec, dataset: Dataset) -> tuple[Trainer, Ledger]:
    """A trainer before its first step."""
    ledger = Ledger()
    return assemble(spec, dataset, ledger), ledger


def advance(made: Trainer, steps: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of `steps` steps with all that is due in them."""
    made.timetable = replace(made.timetable, until=made.step + steps)
    started = clock()
    made.run(Observer())
    jax.block_until_ready(made.network.state.params)
    return clock() - started


def main() -> None:
    """Measures and prints."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--channels", type=int, default=128)
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--bud", type=int, default=64)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--every", type=int, default=10, help="steps between two looks")
    parser.add_argument("--stride", type=int, default=2, help="of the positions of a look")
    parser.add_argument("--rounds", type=int, default=20, help="steps between two growth rounds")
    parser.add_argument("--natural", action="store_true", help="both by the natural gradient")
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--compute", default="float32")
    chosen = parser.parse_args()
    dataset = images(chosen.size, 2048)
    used = max(1, chosen.channels // 2)

    clock = CLOCKS[chosen.clock]

    def spec(*, grows: bool) -> Spec:
        blocks = [[used if grows else chosen.channels]] * chosen.blocks
        every = chosen.every if grows else 1_000_000
        looks = f"curvature: {{every: {{steps: {every}}}, stride: {chosen.stride}}}"
        values = {
            "expansion": GROWTH.format(**vars(chosen)) if grows else "none",
            "blocks": blocks,
            "room": f", bud: {chosen.bud}, capacity: {{initial: {chosen.channels}}}" * grows,
            "optimizer": NATURAL if chosen.natural else ADAM,
            "curvature": looks if grows or chosen.natural else "",
        }
        return parse_spec(SPEC.format(**{**vars(chosen), **values}))

    plain, _ = trainer(spec(grows=False), dataset)
    growing, ledger = trainer(spec(grows=True), dataset)
    for made in (plain, growing):
        advance(made, 2 * chosen.rounds)
    before = dict(ledger.seconds)
    times: dict[str, list[float]] = {"plain": [], "growing": []}
    for _ in range(chosen.turns):
        times["plain"].append(advance(plain, chosen.rounds, clock) / chosen.rounds)
        times["growing"].append(advance(growing, chosen.rounds, clock) / chosen.rounds)
    ms = {name: 1000 * statistics.median(found) for name, found in times.items()}
    ratio = statistics.median(g / p for g, p in zip(times["growing"], times["plain"], strict=True))
    spent = {k: v - before[k] for k, v in ledger.seconds.items() if v > before[k]}
    whole = sum(spent.values())
    print(f"device: {jax.devices()[0].device_kind}; {vars(chosen)}")
    print(f"plain step {ms['plain']:.2f} ms, growing {ms['growing']:.2f} ms a step")
    print(f"ratio of the pairs, median: {ratio:.2f}")
    print("growing:", ", ".join(f"{k} {v / whole:.0%}" for k, v in spent.items()))


if __name__ == "__main__":
    main()
