"""Calibration: whether a network that is 80% sure is right in 80% of the cases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from senn_cli.data.dataset import Array

BINS = 15


@dataclass(frozen=True)
class Bin:
    """The examples whose confidence lies in (low, high].

    Attributes:
      count: how many there are.
      confidence: their mean confidence; None where there are none.
      accuracy: the share of them that was answered rightly; None where there are none.
    """

    low: float
    high: float
    count: int
    confidence: float | None
    accuracy: float | None


@dataclass(frozen=True)
class Calibration:
    """The expected calibration error, and the bins that it was computed from."""

    error: float
    bins: tuple[Bin, ...]


def calibration(probabilities: Array, y: Array, bins: int = BINS) -> Calibration:
    """The expected calibration error over `bins` of equal width.

    With the confidence of an example being its largest probability, the error is
    `sum_k n_k / N |accuracy_k - confidence_k|` (Guo et al. 2017, equation 3).

    Args:
      probabilities: `(N, classes)`, N >= 1.
      y: class numbers `(N,)`.
      bins: how many; bin k holds confidences in (k / bins, (k + 1) / bins].
    """
    confidence = probabilities.max(axis=1).astype(np.float64)
    hits = (probabilities.argmax(axis=1) == y).astype(np.float64)
    edges = np.linspace(0.0, 1.0, bins + 1)
    # Rounding may put a probability above 1, and 0 belongs to no bin: both join the outermost.
    place = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, bins - 1)
    counts = np.bincount(place, minlength=bins)
    sure = np.bincount(place, confidence, bins)
    right = np.bincount(place, hits, bins)
    made = tuple(
        Bin(
            low=float(edges[k]),
            high=float(edges[k + 1]),
            count=int(counts[k]),
            confidence=float(sure[k] / counts[k]) if counts[k] else None,
            accuracy=float(right[k] / counts[k]) if counts[k] else None,
        )
        for k in range(bins)
    )
    return Calibration(float(np.abs(right - sure).sum() / len(y)), made)
