"""`source: digits`: 1797 handwritten digits of 8x8 pixels that come with scikit-learn."""

from __future__ import annotations

import numpy as np

from senn_cli.data.dataset import Part, Source


def load() -> Source:
    """The digits as uint8 images `(1797, 8, 8)` with values 0 to 16, ten classes, no test part.

    They are the test part of the UCI set "Optical Recognition of Handwritten Digits"; nothing is
    downloaded.
    """
    from sklearn.datasets import load_digits

    bunch = load_digits()
    images = np.asarray(bunch.images).astype(np.uint8)
    labels = np.asarray(bunch.target).astype(np.int32)
    return Source(
        name="digits",
        task="classification",
        train=Part(images, labels, np.arange(len(images), dtype=np.int64)),
        test=None,
        classes=tuple(str(digit) for digit in range(10)),
    )
