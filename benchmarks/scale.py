"""How steps, growth rounds and memory grow with rows, inputs, classes, layers and widths.

    python -m benchmarks scale                         # all axes, CPU-seconds
    python -m benchmarks scale --axes inputs widths --clock wall

One size changes at a time, from a network of 784 inputs (100 where rows change), one layer of 64
neurons and 10 classes that learns 16,384 random rows in batches of 256. Told of every point
are the milliseconds of a step, the seconds of a growth round (searches for a neuron and for a layer
that nothing passes, so that no shape changes), those before the first step without compilation, and
the most memory beyond what the process had with the data loaded. Of every axis then the exponents:
slopes of the least squares line through the logarithms, over all points and over the last two. Of
rows an epoch is told, too, and what memory a second epoch adds to the first.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from _turns import CLOCKS, advance
from search import forget_peak, memory
from seeds import machine

from senn_cli.data.dataset import Dataset, Part
from senn_cli.engine.programs import Ledger
from senn_cli.spec import parse_spec
from senn_cli.training.assemble import assemble

SPEC = """
data: digits
network: {{kind: mlp, hidden: {hidden}}}
expansion: {{threshold: 1e30, every: {{steps: {every}}}, patience: null, depth: {depth}}}
training: {{steps: 1000000, batch_size: 256, evaluate: {{steps: 1000000}}}}
checkpoints: false
"""


@dataclass(frozen=True)
class Size:
    """What is learnt, and by what."""

    rows: int = 16_384
    inputs: int = 784
    classes: int = 10
    layers: int = 1
    widths: int = 64


AXES: dict[str, tuple[int, ...]] = {
    "rows": (10_000, 100_000, 1_000_000),
    "inputs": (784, 1568, 3136, 4096),
    "classes": (2, 10, 100, 1000),
    "layers": (1, 2, 4, 8, 16),
    "widths": (16, 64, 256, 1024, 2048),
}
BATCH = 256


class Found(NamedTuple):
    """Seconds of a step, of a round and before the first step; MB at the peak."""

    step: float
    round: float
    start: float
    memory: float


def rows_of(size: Size) -> Dataset:
    """Random rows: what is measured does not depend on what they say."""
    rng = np.random.default_rng(0)

    def part(n: int) -> Part:
        x = rng.standard_normal((n, size.inputs), np.float32)
        return Part(x, rng.integers(0, size.classes, n).astype(np.int32), np.arange(n))

    return Dataset(
        name="random",
        task="classification",
        train=part(size.rows),
        validation=None,
        test=part(64),
        classes=tuple(map(str, range(size.classes))),
        shift=np.zeros(1, np.float32),
        scale=np.ones(1, np.float32),
        target_shift=np.zeros(1, np.float32),
        target_scale=np.ones(1, np.float32),
    )


def measured(
    size: Size, clock: Callable[[], float], steps: int, rounds: int, *, depth: bool
) -> Found:
    """Of one size, by `rounds` rounds every `steps` steps; with `depth` they search layers, too."""
    dataset = rows_of(size)
    values = {"hidden": [size.widths] * size.layers, "every": steps, "depth": str(depth).lower()}
    spec = parse_spec(SPEC.format(**values))
    loaded = memory("VmRSS")
    forget_peak()
    ledger = Ledger(clock)
    started = clock()
    made = assemble(spec, dataset, ledger)
    start = clock() - started - ledger.seconds["compile"]
    advance(made, 2 * steps)  # compiles steps and rounds
    before = dict(ledger.seconds)
    advance(made, rounds * steps)
    step, score = (
        (ledger.seconds[name] - before[name]) / count
        for name, count in (("train", rounds * steps), ("score", rounds))
    )
    return Found(step, score, start, memory("VmHWM") - loaded)


def epochs(size: Size, clock: Callable[[], float]) -> None:
    """Prints what two epochs without growth take, and what memory they add."""
    spec = parse_spec(
        SPEC.format(hidden=[size.widths], every=1, depth="false"), overrides=["expansion=none"]
    )
    made = assemble(spec, rows_of(size), Ledger())
    advance(made, 10)
    whole = size.rows // BATCH
    for number in (1, 2):
        forget_peak()
        resident, since = memory("VmRSS"), clock()
        advance(made, whole)
        print(
            f"  epoch {number} of {size.rows:,} rows, {whole} steps: {clock() - since:.2f} s, "
            f"at its peak {memory('VmHWM') - resident:+.0f} MB",
            flush=True,
        )


def slopes(sizes: Sequence[int], values: Sequence[float]) -> str:
    """Exponents over all points and over the last two."""
    x, y = np.log(sizes), np.log(np.maximum(values, 1e-9))
    return f"{np.polyfit(x, y, 1)[0]:.2f} ({(y[-1] - y[-2]) / (x[-1] - x[-2]):.2f})"


def main() -> None:
    """Measures and prints."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--axes", nargs="+", choices=list(AXES), default=list(AXES))
    parser.add_argument("--clock", choices=list(CLOCKS), default="cpu")
    parser.add_argument("--steps", type=int, default=20, help="between two rounds")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--width-alone", action="store_true", help="no search for layers")
    parser.add_argument("--least", type=int, default=0, help="leave out what is smaller")
    parser.add_argument("--most", type=int, help="leave out what is larger")
    chosen = parser.parse_args()
    clock = CLOCKS[chosen.clock]
    print(machine(), flush=True)
    for axis in chosen.axes:
        base = Size(inputs=100) if axis == "rows" else Size()
        sizes = [n for n in AXES[axis] if chosen.least <= n <= (chosen.most or n)]
        found = []
        for n in sizes:
            size = replace(base, **{axis: n})
            found.append(
                measured(size, clock, chosen.steps, chosen.rounds, depth=not chosen.width_alone)
            )
            print(
                f"{axis} {n:9,}: a step {1000 * found[-1].step:8.2f} ms, a round "
                f"{found[-1].round:7.3f} s, before the first step {found[-1].start:6.2f} s, memory "
                f"{found[-1].memory:6.0f} MB",
                flush=True,
            )
        if len(sizes) > 1:
            exponents = ", ".join(
                f"{name} {slopes(sizes, values)}"
                for name, values in zip(Found._fields, zip(*found, strict=True), strict=True)
            )
            print(f"{axis}: exponents, and of the last two points: {exponents}", flush=True)
        if axis == "rows":
            epochs(replace(base, rows=sizes[-1]), clock)


if __name__ == "__main__":
    main()
