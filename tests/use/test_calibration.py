from __future__ import annotations

import numpy as np
import pytest

from senn_cli.use.calibration import BINS, calibration


def two(*confidences: float) -> np.ndarray:
    """Probabilities of two classes, the first being the more probable one."""
    return np.array([[c, 1 - c] for c in confidences])


def test_by_hand() -> None:
    # Sure by 0.9 twice and right once; sure by 0.62 once and right.
    found = calibration(two(0.9, 0.9, 0.62), np.array([0, 1, 0]))
    assert found.error == pytest.approx(2 / 3 * 0.4 + 1 / 3 * 0.38)
    assert len(found.bins) == BINS == 15
    filled = {k: one for k, one in enumerate(found.bins) if one.count}
    assert sorted(filled) == [9, 13]  # (9/15, 10/15] and (13/15, 14/15]
    assert filled[13].count == 2
    assert filled[13].confidence == pytest.approx(0.9)
    assert filled[13].accuracy == 0.5
    assert filled[9].accuracy == 1.0
    assert found.bins[0].confidence is None
    assert found.bins[0].accuracy is None


def test_the_bins_cover_all_confidences() -> None:
    found = calibration(two(0.5, 1.0, 1.0 + 1e-9), np.array([0, 0, 0]), bins=4)
    assert [one.count for one in found.bins] == [0, 1, 0, 2]  # 0.5 closes the second bin
    assert (found.bins[0].low, found.bins[-1].high) == (0.0, 1.0)
    assert [one.high for one in found.bins[:-1]] == [one.low for one in found.bins[1:]]


def test_one_bin_compares_the_means() -> None:
    p = two(0.8, 0.7, 0.9, 0.6)
    assert calibration(p, np.array([0, 1, 0, 0]), bins=1).error == pytest.approx(0.0)
    assert calibration(p, np.array([1, 1, 1, 1]), bins=1).error == pytest.approx(0.75)


def test_many_examples_against_a_loop() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4) * 0.5, 500)
    y = rng.integers(0, 4, 500)
    total = 0.0
    for k in range(15):
        inside = [i for i in range(500) if k / 15 < p[i].max() <= (k + 1) / 15]
        if inside:
            right = np.mean([p[i].argmax() == y[i] for i in inside])
            total += len(inside) / 500 * abs(right - np.mean([p[i].max() for i in inside]))
    assert calibration(p, y).error == pytest.approx(total)
