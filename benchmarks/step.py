"""A step of the natural gradient beside Adam's, and what equal seconds of either bring.

    python -m benchmarks step                          # 784-64-64-10 on MNIST, batches of 1024
    python -m benchmarks step --turns 3 --seconds 5 10

Trainers of one fixed network, on the same data and batches, take turns: `kfac` (the defaults), `cg`
(the paper's preset with the metric and the rates of the defaults), and `adam` at three rates. First
the milliseconds of a step: medians over the turns, and the medians of the pairs' ratios to Adam's.
Then every one is trained anew for as many steps as it takes in so many seconds by these medians,
its cosine schedule as long as that. Compare with Adam at the rate of the lowest validation loss;
the test accuracy chooses nothing.
"""

from __future__ import annotations

import argparse
import statistics

from growth_cost import advance, trainer
from seeds import machine

from senn_cli.data.registry import load
from senn_cli.engine.feed import placed
from senn_cli.spec import parse_spec
from senn_cli.training.loop import Trainer

SPEC = """
data: {{source: mnist, validation: 5000}}
network: {{kind: mlp, hidden: {hidden}, activation: silu}}
optimizer: {optimizer}
expansion: none
seed: {seed}
training: {{steps: {steps}, batch_size: {batch}, evaluate: {{steps: 1000000}}}}
checkpoints: false
"""
OPTIMIZERS = {
    "adam 1e-3": "{kind: adam, learning_rate: 1e-3, schedule: cosine}",
    "adam 3e-3": "{kind: adam, learning_rate: 3e-3, schedule: cosine}",
    "adam 1e-2": "{kind: adam, learning_rate: 1e-2, schedule: cosine}",
    "kfac": "{kind: natural_gradient}",
    "cg": "{kind: natural_gradient, solver: cg, cg_tolerance: 0.1}",
}
BASE = "adam 3e-3"


def steps_of(seconds: float, ms: float) -> int:
    """Steps of `ms` that fit."""
    return max(int(1000 * seconds / ms), 2)


def main() -> None:
    """Measures and prints."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hidden", type=int, nargs="+", default=[64, 64])
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--at-a-time", type=int, default=50, help="steps of a turn")
    parser.add_argument("--seconds", type=float, nargs="*", default=[2.0, 10.0])
    parser.add_argument("--seeds", type=int, default=3)
    chosen = parser.parse_args()
    print(machine(), flush=True)

    def made(name: str, steps: int, seed: int = 0) -> Trainer:
        text = SPEC.format(
            hidden=chosen.hidden,
            optimizer=OPTIMIZERS[name],
            steps=steps,
            batch=chosen.batch,
            seed=seed,
        )
        spec = parse_spec(text)
        return trainer(spec, load(spec))[0]

    started = {name: made(name, 10**6) for name in OPTIMIZERS}
    for one in started.values():
        advance(one, 20)  # compiles
    times: dict[str, list[float]] = {name: [] for name in OPTIMIZERS}
    for _ in range(chosen.turns):
        for name, one in started.items():
            # Conjugate gradients take a hundred times as long.
            count = max(chosen.at_a_time // (10 if name == "cg" else 1), 5)
            times[name].append(1000 * advance(one, count) / count)
    ms = {name: statistics.median(found) for name, found in times.items()}
    for name, found in times.items():
        ratio = statistics.median(a / b for a, b in zip(found, times[BASE], strict=True))
        print(f"{name:10} {ms[name]:8.2f} ms a step, {ratio:.2f} of {BASE}'s", flush=True)
    for seconds in chosen.seconds:
        for seed in range(chosen.seeds):
            for name in OPTIMIZERS:
                steps = steps_of(seconds, ms[name])
                one = made(name, steps, seed)
                advance(one, steps)
                assert one.validation is not None
                test = one.dataset.test
                assert test is not None
                loss, _ = one.measure(one.train, one.network)
                held, _ = one.measure(one.validation, one.network)
                accuracy = one.measure(placed(one.dataset, test), one.network)[1]
                print(
                    f"{seconds:g} s, seed {seed}, {name:10} {steps:6} steps: training loss "
                    f"{loss:.4f}, validation {held:.4f}, test accuracy {100 * accuracy:.2f}%",
                    flush=True,
                )


if __name__ == "__main__":
    main()
