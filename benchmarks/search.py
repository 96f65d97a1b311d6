"""The default search for a neuron beside the paper's recipe, on MNIST's 784 inputs.

    python -m benchmarks search                    # 10,000 proposals x 300 steps: minutes, 2 cores
    python -m benchmarks search --proposals 1000   # a tenth of the recipe, its seconds times ten

A rational 784-10-10 network learns for some epochs. Then a neuron for its hidden layer is sought
in two ways that take turns: by the defaults, and by the paper's recipe (appendix B), gradient
ascent on all weights from the initial distribution on one batch of 1,024 images, in plain JAX. Told
are seconds without compilation, medians of the turns and of the pairs' ratios; the memory that a
search adds at its peak; and the exact score Delta eta, less its bias, of either's best neuron on
10,000 images that neither has seen.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from _turns import advance, trainer
from seeds import machine

from senn_cli.data.registry import load
from senn_cli.engine.feed import handed
from senn_cli.growth.objective import Neurons
from senn_cli.growth.observed import Observed
from senn_cli.growth.policies.search import SearchGrowth
from senn_cli.growth.target import Target
from senn_cli.randomness import key_data, numpy_generator
from senn_cli.spec import parse_spec

SPEC = """
data: {{source: mnist, validation: 0}}
network: {{kind: mlp, hidden: [10], activation: rational}}
expansion: {{depth: false}}
seed: {seed}
training: {{epochs: {epochs}, batch_size: 1024, evaluate: {{steps: 1000000}}}}
checkpoints: false
"""
BATCH, SEEN, HELD_OUT = 1024, 8192, 10_000


def memory(name: str) -> float:
    """`VmRSS` or `VmHWM` of this process in MB."""
    text = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(text.split(f"{name}:")[1].split()[0]) / 1024


def forget_peak() -> None:
    """Has the peak `VmHWM` begin anew."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def main() -> None:
    """Measures and prints."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--proposals", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--turns", type=int, default=3)
    chosen = parser.parse_args()
    print(machine(), flush=True)
    spec = parse_spec(SPEC.format(seed=0, epochs=chosen.epochs))
    made, _ = trainer(spec, load(spec))
    assert made.timetable.total is not None
    advance(made, made.timetable.total)
    policy, state, input_spectrum = made.policy, made.network, made.input_spectrum
    assert isinstance(policy, SearchGrowth) and input_spectrum is not None
    compiled, default = policy.compiled, policy.settings.width
    assert default is not None
    recipe = replace(
        default,
        method="gradient_ascent",
        proposals=chosen.proposals,
        polished=1,
        steps=chosen.steps,
    )
    order = numpy_generator(0, "search benchmark", 0).permutation(len(made.dataset.train))
    order = order.astype(np.int32)

    def look(start: int, count: int) -> Observed:
        rows = order[start : start + count]
        shape, params = state.architecture.shape(), state.state.params
        return Observed(
            compiled, compiled.observe(shape, params, state.widths, *handed(made.train, rows))
        )

    def target(seen: Observed) -> Target:
        return seen.target(1, *state.architecture.widths, made.dataset.outputs)

    held_out = look(len(order) - HELD_OUT, HELD_OUT)
    spectrum = (input_spectrum.values, input_spectrum.vectors)
    ways = {"defaults": (default, look(0, SEEN)), "recipe": (recipe, look(0, BATCH))}

    def arguments(name: str, turn: int) -> tuple[Any, ...]:
        settings, seen = ways[name]
        source = seen.sample.reads[0]
        active, key = np.int32(source.shape[1]), key_data(0, "search benchmark", turn)
        return key, source, spectrum, target(seen).residual, active, "rational", settings

    def search(name: str, turn: int) -> Neurons:
        found: Neurons = compiled.search_width(*arguments(name, turn))
        return jax.block_until_ready(found)

    for name in ways:
        compiled.search_width.expect(*arguments(name, 0))()
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    peaks: dict[str, float] = {}
    for turn in range(chosen.turns):
        for name in ways:
            forget_peak()
            before, started = memory("VmRSS"), time.perf_counter()
            found = search(name, turn)
            seconds[name].append(time.perf_counter() - started)
            peaks[name] = max(peaks.get(name, 0.0), memory("VmHWM") - before)
            made = compiled.activate(held_out.sample.reads[0], found, "rational")
            gain = jax.device_get(compiled.score_width(target(held_out), made))
            score = float(np.max(gain.exact - gain.bias))
            print(
                f"turn {turn}, {name:8} {seconds[name][-1]:8.3f} s, "
                f"Delta eta on {HELD_OUT:,} others {score:.5f}",
                flush=True,
            )
    for name, found_seconds in seconds.items():
        print(
            f"{name:8} median {statistics.median(found_seconds):.3f} s, {peaks[name]:.0f} MB more"
        )
    pairs = zip(seconds["recipe"], seconds["defaults"], strict=True)
    ratio = statistics.median(recipe / default for recipe, default in pairs)
    print(f"recipe / defaults, median of the pairs: {ratio:.0f}")


if __name__ == "__main__":
    main()
