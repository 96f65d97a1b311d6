"""`source: moons`: two interleaved half circles in the plane, blurred by Gaussian noise."""

from __future__ import annotations

import numpy as np

from senn_cli.data.dataset import Part, Source
from senn_cli.data.split import seed_sequence


def load(train: int, test: int, noise: float, *, seed: int) -> Source:
    """Draws the two moons; the test part is drawn independently of the training part.

    Args:
      train: number of training examples (a later validation part is taken from these).
      test: number of test examples.
      noise: standard deviation of the noise on both coordinates; the circles have radius 1.
      seed: the spec's seed.

    Returns:
      Inputs float32 `(N, 2)`; two classes, upper (0) and lower (1).
    """
    from sklearn.datasets import make_moons

    def draw(count: int, purpose: str, first_id: int) -> Part:
        state = int(seed_sequence(seed, f"moons/{purpose}").generate_state(1, np.uint32)[0])
        x, y = make_moons(n_samples=count, noise=noise, random_state=state)
        ids = np.arange(first_id, first_id + count, dtype=np.int64)
        return Part(np.asarray(x, np.float32), np.asarray(y, np.int32), ids)

    return Source(
        name="moons",
        task="classification",
        train=draw(train, "train", 0),
        test=draw(test, "test", train),
        classes=("upper", "lower"),
    )
