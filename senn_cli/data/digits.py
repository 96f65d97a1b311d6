"""`source: digits`: 1797 handwritten digits of 8x8 pixels that come with scikit-learn."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np

from senn_cli.data.dataset import Part, Source

_FILE = "datasets/data/digits.csv.gz"  # of scikit-learn: 64 pixels and the digit in every line


def load() -> Source:
    """The digits as uint8 images `(1797, 8, 8)` with values 0 to 16, ten classes, no test part.

    They are the test part of the UCI set "Optical Recognition of Handwritten Digits"; nothing is
    downloaded.
    """
    table = _table()
    images, labels = table[:, :-1].reshape(-1, 8, 8).astype(np.uint8), table[:, -1]
    return Source(
        name="digits",
        task="classification",
        train=Part(images, labels.astype(np.int32), np.arange(len(images), dtype=np.int64)),
        test=None,
        classes=tuple(str(digit) for digit in range(10)),
    )


def _table() -> np.ndarray:
    """The file's numbers `(1797, 65)`; to import scikit-learn takes a quarter of a short run."""
    package = importlib.util.find_spec("sklearn")
    for place in (package.submodule_search_locations or ()) if package else ():
        if (file := Path(place) / _FILE).is_file():
            return np.loadtxt(file, delimiter=",")
    from sklearn.datasets import load_digits  # of another layout, or missing: its own error

    bunch = load_digits()
    return np.column_stack([bunch.data, bunch.target])
