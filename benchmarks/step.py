"""A step of the natural gradient beside Adam's and kfac-jax's, and what equal seconds bring.

    python -m benchmarks step                          # 784-64-64-10 on MNIST, batches of 1024
    python -m benchmarks step --turns 3 --seconds 5 10 --clock cpu
    python -m benchmarks step --kfac-jax ../kfac-jax/bin/python      # of an environment with it

Trainers of one fixed network, on the same data, begin with the same weights and take turns: `adam`,
`kfac` (the natural gradient by factors), `cg` (by conjugate gradients) and kfac-jax as
`_kfac_jax.py` says, each at the settings of a small grid, defaults first. First the milliseconds of
a step: medians over the turns, and the medians of the pairs' ratios to the first of Adam. Then
every setting is trained anew for as many steps as it takes in so many seconds by these medians, its
schedule as long as that. Of each kind the setting with the lowest validation loss at one seed is
trained at others, and with it the defaults of `kfac`: their means are told. Test figures choose
nothing. `--clock cpu` has CPU-seconds of all threads in place of seconds, for a machine that has
other work.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from _learners import HEADS, Found, KfacJax, Own, Runner, Setting
from _turns import CLOCKS
from seeds import machine

GRIDS: dict[str, tuple[str, ...]] = {
    "adam": (
        "learning_rate: 3e-3",
        "learning_rate: 1e-2",
        "learning_rate: 1e-2, weight_decay: 0.1",
        "learning_rate: 1e-2, weight_decay: 0.3",
        "learning_rate: 1e-2, weight_decay: 1.0",
    ),
    "kfac": (
        "",
        "weight_decay: 1e-2",
        "weight_decay: 1e-2, kl_clip: 0.3",
        "weight_decay: 1e-2, kl_clip: 0.3, learning_rate: 1.0",
        "weight_decay: 3e-2, kl_clip: 0.3, learning_rate: 1.0",
    ),
    "cg": (
        "",
        "weight_decay: 1e-2",
        "weight_decay: 1e-2, kl_clip: 1.0",
        "weight_decay: 1e-2, kl_clip: 1.0, damping: 0.1",
    ),
    "kfac-jax": (
        "{}",
        '{"l2": 1e-4}',
        '{"l2": 1e-3}',
        '{"peak": 0.01}',
        '{"peak": 0.1}',
    ),
}
"""What is tried of each kind: of `senn` beside its head, of kfac-jax as its script takes it."""

TUNED = 10
"""The seed of the runs that choose."""


DEFAULT = Setting("kfac", "")


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
    parser.add_argument("--kinds", nargs="+", choices=list(GRIDS), default=list(GRIDS))
    parser.add_argument("--kfac-jax", metavar="PYTHON", help="of an environment that has it")
    chosen = parser.parse_args()
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as place:
        seeds = (TUNED, *range(chosen.seeds))
        rival = KfacJax(chosen, Path(place), seeds) if chosen.kfac_jax else None
        compare(chosen, rival)


def compare(chosen: argparse.Namespace, rival: KfacJax | None) -> None:
    """Measures steps, then what equal seconds bring."""
    kinds = [kind for kind in chosen.kinds if rival is not None or kind in HEADS]
    settings = [Setting(kind, written) for kind in kinds for written in GRIDS[kind]]

    def made(one: Setting, steps: int, seed: int = 0) -> Runner:
        if one.kind in HEADS:
            return Own(chosen, one, steps, seed)
        assert rival is not None
        rival.make(one.written, steps, seed)
        return rival

    ms = timed({one: partial(made, one) for one in settings}, chosen)
    for seconds in chosen.seconds:

        def learnt(one: Setting, seed: int, seconds: float = seconds) -> Found:
            steps = max(int(1000 * seconds / ms[one]), 2)
            runner = made(one, steps, seed)
            runner.advance(steps)
            found = runner.found()
            print(f"{seconds:g} s, seed {seed}, {one}, {steps} steps: {found}", flush=True)
            return found

        held = {one: learnt(one, TUNED).validation for one in settings}
        best = [
            min((s for s in settings if s.kind == kind), key=held.__getitem__) for kind in kinds
        ]
        for one in dict.fromkeys([*best, *(one for one in settings if one == DEFAULT)]):
            several = [learnt(one, seed) for seed in range(chosen.seeds)]
            means = Found(*map(statistics.mean, zip(*several, strict=True)))
            print(f"{seconds:g} s, mean of {chosen.seeds} seeds, {one}: {means}", flush=True)


def timed(
    made: Mapping[Setting, Callable[[int], Runner]], chosen: argparse.Namespace
) -> dict[Setting, float]:
    """Milliseconds of a step of each, in turn; those of kfac-jax, which share a process, as one."""
    first = {one: one if one.kind in HEADS else Setting(one.kind, "{}") for one in made}
    started = {one: made[one](10**6) for one in dict.fromkeys(first.values())}
    for runner in started.values():
        runner.advance(20)  # compiles
    times: dict[Setting, list[float]] = {one: [] for one in started}
    for _ in range(chosen.turns):
        for one, runner in started.items():
            # Conjugate gradients take a hundred times as long.
            count = max(chosen.at_a_time // (10 if one.kind == "cg" else 1), 5)
            times[one].append(1000 * runner.advance(count) / count)
    base = next(iter(times))
    medians = {one: statistics.median(found) for one, found in times.items()}
    for one, found in times.items():
        ratio = statistics.median(a / b for a, b in zip(found, times[base], strict=True))
        print(f"{medians[one]:8.2f} ms a step, {ratio:.2f} of {base}'s: {one}", flush=True)
    return {one: medians[shared] for one, shared in first.items()}


if __name__ == "__main__":
    main()
