"""A step of the natural gradient beside Adam's and kfac-jax's, and what equal seconds bring.

    python -m benchmarks step                          # 784-64-64-10 on MNIST, batches of 1024
    python -m benchmarks step --turns 3 --seconds 5 10
    python -m benchmarks step --kfac-jax ../kfac-jax/bin/python      # of an environment with it

Trainers of one fixed network, on the same data, begin with the same weights and take turns: `kfac`
(the defaults, with less weight decay, and with longer steps, too), `cg` (the paper's preset with
the metric and the rates of the defaults), `adam` at three rates, and kfac-jax as `_kfac_jax.py`
says. First the milliseconds of a step: medians over the turns, and the medians of the pairs' ratios
to Adam's. Then every one is trained anew for as many steps as it takes in so many seconds by these
medians, its schedule as long as that. Compare with those of each kind that have the lowest
validation loss; the test accuracy chooses nothing. `--clock cpu` has CPU-seconds of all threads in
place of seconds, for a machine that has other work.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from growth_cost import CLOCKS, advance, trainer
from seeds import machine

from senn_cli.data.registry import load
from senn_cli.engine.feed import placed
from senn_cli.spec import parse_spec

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
    "kfac, decay 1e-2": "{kind: natural_gradient, weight_decay: 1e-2}",
    "and clip 0.3": "{kind: natural_gradient, weight_decay: 1e-2, kl_clip: 0.3}",
    "cg": "{kind: natural_gradient, solver: cg, cg_tolerance: 0.1}",
}
BASE = "adam 3e-3"
KFAC_JAX: dict[str, float | None] = {"kfac-jax": None, "kfac-jax 1e-1": 0.1, "kfac-jax 1e-2": 0.01}


class Found(NamedTuple):
    """What a network has learnt: losses in nats, accuracy as a share."""

    training: float
    validation: float
    accuracy: float


class Runner(Protocol):
    """One training."""

    def advance(self, steps: int) -> float:
        """Seconds of so many steps."""

    def found(self) -> Found:
        """What it has learnt."""


class Own:
    """One of senn's."""

    def __init__(self, chosen: argparse.Namespace, name: str, steps: int, seed: int = 0) -> None:
        spec = parse_spec(
            SPEC.format(
                hidden=chosen.hidden,
                optimizer=OPTIMIZERS[name],
                steps=steps,
                batch=chosen.batch,
                seed=seed,
            )
        )
        self.trainer, self._clock = trainer(spec, load(spec))[0], CLOCKS[chosen.clock]

    def advance(self, steps: int) -> float:
        """As of `Runner`."""
        return advance(self.trainer, steps, self._clock)

    def found(self) -> Found:
        """As of `Runner`."""
        one = self.trainer
        test, held = one.dataset.test, one.validation
        assert test is not None and held is not None
        losses = [one.measure(data, one.network)[0] for data in (one.train, held)]
        return Found(*losses, one.measure(placed(one.dataset, test), one.network)[1])


class KfacJax:
    """kfac-jax in a process of its own, which trains one network after the other."""

    def __init__(self, chosen: argparse.Namespace, python: str, place: Path) -> None:
        for seed in range(chosen.seeds):
            one = Own(chosen, BASE, 1, seed).trainer
            for layer, name in enumerate(sorted(one.network.state.params)):
                for leaf, value in one.network.state.params[name].items():
                    np.save(place / f"{leaf}_{seed}_{layer}.npy", np.asarray(value))
        data = one.dataset
        for name, part in (
            ("train", data.train),
            ("validation", data.validation),
            ("test", data.test),
        ):
            assert part is not None
            x = (np.asarray(part.x, np.float32) - data.shift) * data.scale
            np.save(place / f"{name}_x.npy", x.reshape(len(x), -1))
            np.save(place / f"{name}_y.npy", np.asarray(part.y, np.int32))
        script = str(Path(__file__).with_name("_kfac_jax.py"))
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [python, script, str(place), chosen.clock], stdin=pipe, stdout=pipe, text=True
        )
        self._batch = chosen.batch

    def make(self, peak: float | None, steps: int, seed: int = 0) -> None:
        """Begins anew."""
        settings = {"steps": steps, "batch": self._batch, "seed": seed, "peak": peak}
        self._asked({"make": settings})

    def advance(self, steps: int) -> float:
        """As of `Runner`."""
        return float(self._asked({"advance": steps}))

    def found(self) -> Found:
        """As of `Runner`."""
        told = {part: self._asked({"measure": part}) for part in ("train", "validation", "test")}
        return Found(told["train"][0], told["validation"][0], told["test"][1])

    def _asked(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())


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
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall")
    parser.add_argument("--kfac-jax", metavar="PYTHON", help="of an environment that has it")
    chosen = parser.parse_args()
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as place:
        rival = KfacJax(chosen, chosen.kfac_jax, Path(place)) if chosen.kfac_jax else None
        compare(chosen, rival)


def compare(chosen: argparse.Namespace, rival: KfacJax | None) -> None:
    """Measures steps, then what equal seconds bring."""
    rivals = KFAC_JAX if rival is not None else {}

    def made(name: str, steps: int, seed: int = 0) -> Runner:
        if name in OPTIMIZERS:
            return Own(chosen, name, steps, seed)
        assert rival is not None
        rival.make(rivals[name], steps, seed)
        return rival

    # Those of kfac-jax share a process and take the same time but for what is adaptive.
    timed = [*OPTIMIZERS, *list(rivals)[:1]]
    started = {name: made(name, 10**6) for name in timed}
    for one in started.values():
        one.advance(20)  # compiles
    times: dict[str, list[float]] = {name: [] for name in timed}
    for _ in range(chosen.turns):
        for name, one in started.items():
            # Conjugate gradients take a hundred times as long.
            count = max(chosen.at_a_time // (10 if name == "cg" else 1), 5)
            times[name].append(1000 * one.advance(count) / count)
    ms = {name: statistics.median(found) for name, found in times.items()}
    for name, found in times.items():
        ratio = statistics.median(a / b for a, b in zip(found, times[BASE], strict=True))
        print(f"{name:16} {ms[name]:8.2f} ms a step, {ratio:.2f} of {BASE}'s", flush=True)
    for seconds in chosen.seconds:
        for seed in range(chosen.seeds):
            for name in (*OPTIMIZERS, *rivals):
                steps = steps_of(seconds, ms.get(name, ms[timed[-1]]))
                one = made(name, steps, seed)
                one.advance(steps)
                loss, held, accuracy = one.found()
                print(
                    f"{seconds:g} s, seed {seed}, {name:16} {steps:6} steps: training loss "
                    f"{loss:.4f}, validation {held:.4f}, test accuracy {100 * accuracy:.2f}%",
                    flush=True,
                )


if __name__ == "__main__":
    main()
