from __future__ import annotations

import numpy as np

from senn_cli.data import moons


def test_without_noise_the_points_lie_on_the_two_half_circles() -> None:
    part = moons.load(100, 40, 0.0, seed=0).train
    upper, lower = part.x[part.y == 0], part.x[part.y == 1]
    np.testing.assert_allclose(np.linalg.norm(upper, axis=1), 1, atol=1e-6)
    assert (upper[:, 1] >= -1e-6).all()
    np.testing.assert_allclose(np.linalg.norm(lower - [1, 0.5], axis=1), 1, atol=1e-6)
    assert (lower[:, 1] <= 0.5 + 1e-6).all()


def test_sizes_types_and_ids() -> None:
    source = moons.load(101, 40, 0.3, seed=1)
    assert source.test is not None
    assert source.train.x.shape == (101, 2)
    assert source.train.x.dtype == np.float32
    assert source.train.y.dtype == np.int32
    assert abs(np.bincount(source.train.y)[0] - 50.5) == 0.5
    assert source.test.ids.tolist() == list(range(101, 141))


def test_parts_are_independent_and_follow_the_seed() -> None:
    one, same, other = (moons.load(50, 50, 0.3, seed=seed) for seed in (0, 0, 1))
    assert one.test is not None
    assert same.test is not None
    assert np.array_equal(one.train.x, same.train.x)
    assert np.array_equal(one.test.x, same.test.x)
    assert not np.array_equal(one.train.x, other.train.x)
    assert not np.array_equal(one.train.x, one.test.x)


def test_the_test_part_does_not_depend_on_the_number_of_training_examples() -> None:
    one, other = moons.load(50, 30, 0.3, seed=0), moons.load(60, 30, 0.3, seed=0)
    assert one.test is not None
    assert other.test is not None
    assert np.array_equal(one.test.x, other.test.x)
