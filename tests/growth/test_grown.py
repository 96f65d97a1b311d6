from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from senn_cli.growth.policies.grown import sample_rows

N = 40


def sampled(weights: Any, *, held_out: bool, samples: int = N) -> tuple[np.ndarray, np.ndarray]:
    data = SimpleNamespace(y=np.zeros(N), weights=weights)
    view: Any = SimpleNamespace(data=data, seed=3, step=7)
    return sample_rows(view, samples, held_out=held_out)


@pytest.mark.parametrize("weights", [None, np.tile([2.0, 0.0, 1.0, 1.0], N // 4)])
def test_two_samples_have_no_example_in_common(weights: Any) -> None:
    first, second = sampled(weights, held_out=True)
    assert len(first) == len(second) == N // 2
    assert not set(first.tolist()) & set(second.tolist())


def test_an_example_is_there_as_often_as_it_counts() -> None:
    weights = np.tile([3.0, 0.0, 0.5, 0.5], N // 4)
    first, second = sampled(weights, held_out=False)
    assert (first == second).all()
    counts = np.bincount(first, minlength=N)
    assert (np.abs(counts - weights) < 1).all()
    assert (counts[weights == 3.0] == 3).all() and (counts[weights == 0.0] == 0).all()


def test_the_plain_mean_of_a_large_sample_is_the_weighted_one() -> None:
    weights, values = np.linspace(0.2, 1.8, N), np.arange(N) ** 2
    first, _ = sampled(weights, held_out=False, samples=N)
    assert values[first].mean() == pytest.approx(np.average(values, weights=weights), rel=0.05)
