"""Does searching for channels pay? A small DenseNet, its controls and standing proposals.

    python benchmarks/channels.py

CIFAR-10 at 16 x 16, 1,500 training images, two blocks of 6 channels, Adam, the same steps for all:

  search    `proposals: search`: at most four channels a round, none of them priced
  random    the same times and sites by `policy: random`, weights from the initial distribution
  dormant   `proposals: dormant`, with as many rounds
  none      `policy: none`: the channels of the start

No layers come, so that all differ in channels alone. Every run is a process of its own; the first
of each kind compiles for those after it, as far as they share sizes. Prints every run as it ends,
then means and ranges over the seeds. Seconds of rounds are without compilation, on the clock.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from controls import figure
from seeds import Measured, machine, measure, span

SPEC = """
name: channels
data: {source: cifar10, size: 16, subset: 1500}
network: {kind: densenet, blocks: [[6], [6]], capacity: {initial: 24}}
optimizer: {kind: adam, learning_rate: 1e-2, schedule: constant}
expansion: none
training: {epochs: 6, batch_size: 50, evaluate: {epochs: 6}}
"""
_ROUNDS = "start: {epochs: 1}, every: {epochs: 1}, depth: false, stop: 0, accept: paper"
_SEARCH = (
    f"proposals: search, {_ROUNDS}, threshold: 1e-3, samples: 512, "
    "width: {per_round: 4, proposals: 32, polished: 4, steps: 4, max_width: 24}"
)
KINDS = {
    "search": f"{{{_SEARCH}}}",
    "random": f"{{policy: random, {_SEARCH}}}",
    "dormant": f"{{proposals: dormant, {_ROUNDS}, threshold: 1e-3, "
    "width: {per_round: 4, max_width: 24}, dormant: {activate: 2e-2, slow: 1e-2}}",
    "none": "none",
}


def line(kind: str, seed: int, run: Measured) -> str:
    """One run in words."""
    seconds = run.summary["seconds"]
    return (
        f"{kind:8}seed {seed}: test {figure(run.summary):.2f}%, channels {run.summary['hidden']}, "
        f"{run.summary['parameters']:,} parameters; {run.cpu_seconds:.0f} CPU-seconds; "
        f"rounds {seconds['score']:.1f} s, compilation {seconds['compile']:.0f} s"
    )


def table(found: dict[str, list[Measured]]) -> str:
    """All kinds as a table: means and ranges over the seeds."""
    rows = [
        "| | test accuracy %, mean | range | channels | CPU-seconds | seconds of rounds |",
        "|---|---|---|---|---|---|",
    ]
    for kind, runs in found.items():
        figures = [figure(run.summary) for run in runs]
        channels = [sum(run.summary["hidden"]) for run in runs]
        rounds = [run.summary["seconds"]["score"] for run in runs]
        rows.append(
            f"| {kind} | {statistics.mean(figures):.1f} | {span(figures, '.1f')} | "
            f"{span(channels)} | {span([run.cpu_seconds for run in runs], '.0f')} | "
            f"{span(rounds, '.1f')} |"
        )
    return "\n".join(rows)


def main() -> None:
    """Runs and prints."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    arguments = parser.parse_args()
    print(machine(), flush=True)
    found: dict[str, list[Measured]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as place:
        spec = Path(place) / "channels.yaml"
        spec.write_text(SPEC, encoding="utf-8")
        for seed in range(arguments.seeds):
            for kind, expansion in KINDS.items():
                overrides = [f"expansion={expansion}", *arguments.overrides]
                run = measure(spec, seed, overrides, f"{place}/cache")
                found[kind].append(run)
                print(line(kind, seed, run), flush=True)
    print(table(found))


if __name__ == "__main__":
    main()
