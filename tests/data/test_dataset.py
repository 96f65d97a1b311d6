from __future__ import annotations

import numpy as np
import pytest

from senn_cli.data.dataset import Part

X, Y, IDS = np.arange(6.0).reshape(3, 2), np.array([1, 0, 1], np.int32), np.arange(3)
WEIGHTS = np.array([1.0, 0.5, 2.0], np.float32)


def test_rows_are_taken_with_their_weights() -> None:
    taken = Part(X, Y, IDS, WEIGHTS).take(np.array([2, 0]))
    assert taken.x.tolist() == [[4, 5], [0, 1]] and taken.y.tolist() == [1, 1]
    assert taken.ids.tolist() == [2, 0]
    assert taken.weights is not None and taken.weights.tolist() == [2, 1]
    assert Part(X, Y, IDS).take(np.array([1])).weights is None


@pytest.mark.parametrize("weights", [None, WEIGHTS[:2]])
def test_all_have_one_length(weights: np.ndarray | None) -> None:
    with pytest.raises(ValueError, match="differ in length"):
        Part(X, Y if weights is not None else Y[:2], IDS, weights)
