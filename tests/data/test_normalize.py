from __future__ import annotations

import numpy as np
import pytest

from senn_cli.data import normalize
from senn_cli.errors import DataError


def apply(x: np.ndarray, shift: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return (x - shift) * scale


def test_per_feature_gives_mean_zero_and_deviation_one() -> None:
    x = np.random.default_rng(0).normal([3, -2], [0.1, 50], (500, 2)).astype(np.float32)
    shift, scale = normalize.fit("per_feature", x)
    assert shift.shape == scale.shape == (2,)
    assert shift.dtype == scale.dtype == np.float32
    z = apply(x, shift, scale)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(z.std(axis=0), 1, rtol=1e-5)


def test_a_small_example_by_hand() -> None:
    x = np.array([[1.0], [3.0]], np.float32)  # mean 2, standard deviation 1
    shift, scale = normalize.fit("per_feature", x)
    assert (shift.tolist(), scale.tolist()) == ([2.0], [1.0])


@pytest.mark.parametrize("value", [0.1, 1e6, -3.3e-12, 0.0])
def test_constant_features_become_exactly_zero(value: float) -> None:
    x = np.full((1001, 1), value, np.float32)
    shift, scale = normalize.fit("per_feature", x)
    assert scale.tolist() == [1.0]
    assert np.array_equal(apply(x, shift, scale), np.zeros_like(x))


def test_rounding_of_a_large_constant_is_not_blown_up() -> None:
    x = np.full((100, 1), 16_777_216.0, np.float32)
    x[0] += 2  # one unit in the last place
    _, scale = normalize.fit("per_feature", x)
    assert scale.tolist() == [1.0]


def test_global_takes_one_mean_over_all_pixels() -> None:
    x = np.array([[[0, 0], [0, 4]], [[4, 4], [4, 0]]], np.uint8)  # mean 2, deviation 2
    shift, scale = normalize.fit("global", x)
    assert shift.shape == (1, 1)
    assert (shift.item(), scale.item()) == (2.0, 0.5)


def test_per_channel_takes_one_mean_a_color() -> None:
    x = np.zeros((2, 2, 2, 3), np.uint8)
    x[..., 0] = 7  # constant
    x[0, ..., 1] = 10  # mean 5, deviation 5
    x[..., 0, 2] = 8  # mean 4, deviation 4
    shift, scale = normalize.fit("per_channel", x)
    assert shift.shape == scale.shape == (1, 1, 3)
    assert shift.dtype == scale.dtype == np.float32
    assert shift.ravel().tolist() == [7.0, 5.0, 4.0]
    np.testing.assert_allclose(scale.ravel(), [1.0, 0.2, 0.25], rtol=1e-6)
    z = apply(x, shift, scale)
    assert (z[..., 0] == 0).all()
    assert set(np.unique(np.abs(z[..., 1:]))) == {1.0}


def test_gray_images_have_one_channel_and_tables_none() -> None:
    x = np.random.default_rng(0).integers(0, 256, (9, 4, 5), dtype=np.uint8)
    for one, other in zip(normalize.fit("per_channel", x), normalize.fit("global", x), strict=True):
        assert one.shape == (1, 1)
        assert one == other
    with pytest.raises(DataError, match=r"the inputs are no images: one has the shape \(5,\)"):
        normalize.fit("per_channel", x[:, 0])


def test_blocks_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).integers(0, 256, (97, 5, 3)).astype(np.uint8)
    whole = normalize.fit("per_feature", x)
    monkeypatch.setattr(normalize, "_BLOCK_BYTES", 15 * 8 * 10)
    blocked = normalize.fit("per_feature", x)
    np.testing.assert_allclose(blocked[0], whole[0], rtol=1e-6)
    np.testing.assert_allclose(blocked[1], whole[1], rtol=1e-6)
    np.testing.assert_allclose(whole[0], x.mean(axis=0, dtype=np.float64), rtol=1e-6)
    np.testing.assert_allclose(1 / whole[1], x.std(axis=0, dtype=np.float64), rtol=1e-6)


def test_none_leaves_inputs_alone() -> None:
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    assert np.array_equal(apply(x, *normalize.fit("none", x)), x)


def test_auto() -> None:
    assert normalize.resolve("auto", np.zeros((1, 2, 2), np.uint8)) == "global"
    assert normalize.resolve("auto", np.zeros((1, 2), np.float32)) == "per_feature"
