"""How much of the regression's test error comes from points beyond all training points?

    python benchmarks/extrapolation.py --seeds 8

Trains `specs/regression.yaml` for several seeds, each another target function, and prints the mean
squared error over all test points and over those between the outermost training points.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import senn_cli
from senn_cli.data.registry import load_dataset
from senn_cli.nets.registry import outputs as outputs_of

SPEC = Path(__file__).parent.parent / "specs" / "regression.yaml"


def measure(seed: int) -> str:
    """One seed's line."""
    spec = senn_cli.load_spec(SPEC, [f"seed={seed}"])
    with tempfile.TemporaryDirectory() as root:
        run = senn_cli.train(spec, root=root)
    data = load_dataset(spec.data, seed)
    x, widths = jnp.asarray((data.test.x - data.shift) * data.scale), run.architecture.widths
    outputs = outputs_of(run.architecture.shape(), run.params, x, jnp.asarray(widths))
    error = np.asarray((outputs - data.test.y) ** 2)[:, 0]
    inner, low, high = data.test.x[:, 0], data.train.x.min(), data.train.x.max()
    within = (inner >= low) & (inner <= high)
    return (
        f"seed {seed}: hidden {run.summary['hidden']}, error {error.mean():.2g}, "
        f"between the training points {error[within].mean():.2g}, "
        f"{np.count_nonzero(~within)} points beyond them"
    )


def main() -> None:
    """Prints a line a seed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, default=8)
    for seed in range(parser.parse_args().seeds):
        print(measure(seed), flush=True)


if __name__ == "__main__":
    main()
