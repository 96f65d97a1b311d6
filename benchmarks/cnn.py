"""CIFAR-10: a DenseNet that grows, its final shape from the start, and growth's share of a step.

    python -m benchmarks cnn                                     # minutes, at 16 x 16
    python -m benchmarks cnn specs/cifar10-cpu.yaml --seeds 0    # a step at 32 x 32 alone

First steps at one capacity, in turn: `adam` and `static` (the spec's optimizer, with no look at the
curvature in between), with all channels in use and no buds, and `growing` as the spec has it, whose
probabilities are 0, so that it looks, scores and decides, and stays as it is. All is compiled
before the first turn. Told are CPU- and wall milliseconds a step, medians over turns from one round
to the next, and medians of the ratios of what was taken in turn.

Then whole runs, also in turn, each a process with an empty compilation cache: the spec, a fixed
network of the shape that it ended with, and that by Adam (3e-3, one cycle) in the same epochs and
batches. Told are seconds and CPU-seconds of the process, with compilation, accuracies, examples a
second within the steps, and what looks, scores and edits took beside the steps. Without a spec it
is specs/cifar10-small.yaml for 6 epochs. The images are those of CIFAR-10's binary version, found
through SENN_DATA or downloaded.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from _turns import CLOCKS, advance, settle, trainer
from seeds import Measured, machine, measure

from senn_cli.data.dataset import Dataset
from senn_cli.data.registry import load
from senn_cli.errors import UsageError
from senn_cli.spec import load_spec
from senn_cli.spec.expansion import StandingSpec
from senn_cli.spec.network import DenseNetSpec
from senn_cli.training.loop import Trainer
from senn_cli.words import plural

SMALL = Path(__file__).parent.parent / "specs" / "cifar10-small.yaml"
SHORT = ("training.epochs=6", "expansion.until={epochs: 3}")
FIXED = ("expansion={policy: none}",)
ADAM = ("optimizer={kind: adam, learning_rate: 3e-3, schedule: one_cycle}",)
ENDLESS = (
    "training.epochs=null",
    "training.steps=1000000",
    "training.evaluate={steps: 1000000}",
    "checkpoints.enabled=false",
)
NEVER = ("curvature.every={steps: 1000000}",)
STILL = (
    "expansion.start=null",
    "expansion.until=null",
    "expansion.dormant={activate: 0, prune: 0, redraw: 0, bud_factor: 1e30}",
)
GROWTH = ("track", "score", "surgery")
"""Phases of a run that a fixed network does without, or nearly."""


def of_one_capacity(
    spec: Path, overrides: Sequence[str], data: Dataset
) -> tuple[dict[str, Trainer], int]:
    """The trainers that take turns, and how many steps lie between two of the spec's rounds.

    Raises:
      UsageError: the spec is of another kind of network or growth.
    """
    grown = load_spec(spec, [*overrides, *ENDLESS, *STILL])
    growth, network = grown.growth, grown.network
    count = growth.every.steps if isinstance(growth, StandingSpec) else None
    if count is None or not isinstance(network, DenseNetSpec):
        raise UsageError(f"{spec} should be of a DenseNet that grows by steps, in dormant channels")
    growing = trainer(grown, data)[0]
    room = iter(layer.capacity for layer in growing.network.architecture.hidden)
    full = [[next(room) for _ in block] for block in network.blocks]
    print(f"at a capacity of {full}:", flush=True)
    fixed = [*overrides, *ENDLESS, *FIXED, f"network.blocks={full}"]
    made = {
        "adam": trainer(load_spec(spec, [*fixed, *ADAM]), data)[0],
        "static": trainer(load_spec(spec, [*fixed, *NEVER]), data)[0],
        "growing": growing,
    }
    return made, count


def steps_in_turn(made: Mapping[str, Trainer], count: int, turns: int) -> None:
    """Measures and prints what one of `count` steps takes."""
    for one in made.values():
        advance(one, 2 * count)
    settle()
    spent = made["growing"].ledger.seconds
    before = dict(spent)
    taken: dict[tuple[str, str], list[float]] = defaultdict(list)
    for _ in range(turns):
        for name, one in made.items():
            since = {clock: now() for clock, now in CLOCKS.items()}
            advance(one, count)
            for clock, now in CLOCKS.items():
                taken[name, clock].append(1000 * (now() - since[clock]) / count)
    for (name, clock), found in taken.items():
        beside = {
            other: statistics.median(a / b for a, b in zip(found, taken[other, clock], strict=True))
            for other in ("adam", "static")
        }
        ratios = ", ".join(f"{value:.2f} of {other}'s" for other, value in beside.items())
        print(f"  {name:8} {clock:4} {statistics.median(found):6.1f} ms a step, {ratios}")
    new = {phase: value - before[phase] for phase, value in spent.items()}
    shares = ", ".join(f"{k} {v / sum(new.values()):.1%}" for k, v in new.items() if v)
    print(f"  of the growing one's wall time: {shares}", flush=True)


def runs_in_turn(spec: Path, overrides: Sequence[str], examples: int, seeds: int) -> None:
    """Trains and prints whole runs, then medians of the ratios."""
    found: dict[str, list[Measured]] = {"senn": [], "static": [], "static, adam": []}
    for seed in range(seeds):
        shape: list[str] = []
        for name, sets in (("senn", ()), ("static", FIXED), ("static, adam", (*FIXED, *ADAM))):
            with tempfile.TemporaryDirectory() as cache:
                run = measure(spec, seed, [*overrides, *sets, *shape], cache)
            shape = shape or [f"network.blocks={json.dumps(run.shape['blocks'])}"]
            found[name].append(run)
            print(f"seed {seed}, {line(name, run, examples)}", flush=True)
    for name, several in found.items():
        if name != "senn":
            beside = list(zip(found["senn"], several, strict=True))
            wall = statistics.median(a.seconds / b.seconds for a, b in beside)
            cpu = statistics.median(a.cpu_seconds / b.cpu_seconds for a, b in beside)
            gap = statistics.mean(
                100 * (a.summary["test_accuracy"] - b.summary["test_accuracy"]) for a, b in beside
            )
            print(
                f"senn beside {name}: {wall:.2f} of its seconds, {cpu:.2f} of its CPU-seconds, "
                f"{gap:+.2f} points of test accuracy in the mean"
            )


def line(name: str, run: Measured, examples: int) -> str:
    """One run in words; `examples` are those of an epoch."""
    summary, seconds = run.summary, run.summary["seconds"]
    held = run.rows[-1].get("validation_accuracy")
    accuracies = "" if held is None else f"validation {held:.2%}, "
    growth = sum(seconds[phase] for phase in GROWTH) / seconds["train"]
    return (
        f"{name:12} {accuracies}test {summary['test_accuracy']:.2%} with {run.shape['blocks']}, "
        f"{summary['parameters']:,} parameters; {run.seconds:.0f} s, {run.cpu_seconds:.0f} CPU-s, "
        f"compiling {seconds['compile']:.0f} s ({plural(summary['compilations'], 'program')}); "
        f"{examples * summary['epochs'] / seconds['train']:.0f} examples a second; looks, scores "
        f"and edits {growth:.2f} of the steps"
    )


def main() -> None:
    """Measures and prints."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("spec", type=Path, nargs="?", help="of a DenseNet that grows")
    parser.add_argument("--set", action="append", default=[], help="an override of the spec")
    parser.add_argument("--turns", type=int, default=7, help="of steps; 0 for none")
    parser.add_argument("--seeds", type=int, default=1, help="of whole runs; 0 for none")
    chosen = parser.parse_args()
    spec = chosen.spec or SMALL
    overrides = [*(() if chosen.spec else SHORT), *chosen.set]
    print(machine(), flush=True)
    print(f"{spec.stem} {json.dumps(overrides)}", flush=True)
    data = load(load_spec(spec, overrides))
    if chosen.turns:
        steps_in_turn(*of_one_capacity(spec, overrides, data), chosen.turns)
    if chosen.seeds:
        runs_in_turn(spec, overrides, len(data.train), chosen.seeds)


if __name__ == "__main__":
    main()
