"""Does Firefly choose better neurons than chance? MNIST from 16 to 64 neurons, over several seeds.

    python benchmarks/firefly.py --seeds 5

10,000 images, one hidden layer; 16 neurons come every 5 epochs, three times, and 5 epochs follow
the last. `random` adds as many at the same times, with input weights from the initial distribution
and output weights of zero. All else is alike. Prints every run as it ends, then who is ahead.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from controls import figure, line, measure

SPEC = """
data: {source: mnist, validation: 0, subset: 10000}
network: {kind: mlp, hidden: [16], activation: silu}
optimizer: {kind: adam, learning_rate: 1e-3, schedule: constant}
training: {epochs: 20, batch_size: 128}
checkpoints: false
"""
LIMITS = "max_hidden: 64, every: 5 epochs"
POLICIES = {
    "firefly": f"{{policy: firefly, {LIMITS}, width: {{per_round: 16}}}}",
    "random": f"{{policy: random, {LIMITS}, threshold: 0, stop: 0, noise: 0, accept: paper, "
    "depth: false, bias_removed: false, width: {per_round: 16, proposals: 16, steps: 1}}",
}


def main() -> None:
    """Runs the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    arguments = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = {policy: [] for policy in POLICIES}
    with tempfile.TemporaryDirectory() as place:
        for policy, section in POLICIES.items():
            spec = Path(place) / f"{policy}.yaml"
            spec.write_text(f"{SPEC}expansion: {section}\n", encoding="utf-8")
            for seed in range(arguments.seeds):
                summary = measure(str(spec), [*arguments.overrides, f"seed={seed}"])
                found[policy].append(summary)
                print(f"{line(policy, seed, summary)}, loss {summary['test_loss']:.4f}", flush=True)
    pairs = list(zip(*found.values(), strict=True))
    right = sum(figure(one) > figure(other) for one, other in pairs)
    lower = sum(one["test_loss"] < other["test_loss"] for one, other in pairs)
    print(f"firefly: higher accuracy in {right} of {len(pairs)} seeds, lower loss in {lower}")


if __name__ == "__main__":
    main()
