from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest

from senn_cli.data.dataset import Dataset, Part
from senn_cli.engine.arrays import Arrays, examples, inputs, on_device, targets
from senn_cli.engine.mesh import placement
from senn_cli.spec.device import DeviceSpec

RNG = np.random.default_rng(0)


def dataset(task: Any, x: np.ndarray, y: np.ndarray, **scaling: Any) -> Dataset:
    part = Part(x, y, np.arange(len(x)))
    scaled: dict[str, Any] = {
        "shift": np.zeros(1, np.float32),
        "scale": np.ones(1, np.float32),
        "target_shift": np.zeros(1, np.float32),
        "target_scale": np.ones(1, np.float32),
    }
    return Dataset("test", task, part, None, part, ("a", "b", "c"), **(scaled | scaling))


@pytest.fixture(scope="module")
def images() -> Iterator[tuple[np.ndarray, Arrays]]:
    x = RNG.integers(0, 256, (5, 3, 4), dtype=np.uint8)
    whole = dataset(
        "classification",
        x,
        np.array([0, 1, 2, 1, 0], np.int32),
        shift=np.float32(100.0),
        scale=np.full((3, 4), 0.02, np.float32),
    )
    yield x, on_device(whole, whole.train)


def test_images_stay_bytes_and_become_flat_inputs(images: tuple[np.ndarray, Arrays]) -> None:
    x, arrays = images
    assert arrays.x.dtype == np.uint8 and arrays.x.nbytes == x.nbytes
    assert examples(arrays) == 5
    found = jax.jit(inputs)(arrays)
    assert found.shape == (5, 12) and found.dtype == np.float32
    # No wrap-around of bytes below the shift.
    expected = (x.astype(float) - 100) * 0.02
    np.testing.assert_allclose(found, expected.reshape(5, 12), atol=1e-6)


def test_rows_in_the_order_asked_for(images: tuple[np.ndarray, Arrays]) -> None:
    _, arrays = images
    rows = np.array([3, 0, 3])
    np.testing.assert_array_equal(inputs(arrays, rows), np.asarray(inputs(arrays))[rows])
    np.testing.assert_array_equal(targets(arrays, rows), [1, 0, 1])


@pytest.mark.parametrize("spare", [0, 1])
def test_inputs_too_large_for_a_device_are_divided(spare: int) -> None:
    """Their rows are padded to a multiple of the devices, which nobody sees."""
    x = RNG.integers(0, 256, (10, 3, 4), dtype=np.uint8)
    data = dataset("classification", x, np.arange(10, dtype=np.int32) % 3)
    limit = (x.nbytes - spare) / 1e9
    arrays = on_device(data, data.train, placement(DeviceSpec(count=4, data_memory=limit)))
    kept = x.nbytes if spare == 0 else 3 * 3 * 4
    assert [piece.data.nbytes for piece in arrays.x.addressable_shards] == [kept] * 4
    assert arrays.y.sharding.is_fully_replicated and examples(arrays) == 10
    np.testing.assert_array_equal(jax.jit(inputs)(arrays), x.reshape(10, 12))
    alone = on_device(data, data.train, placement(DeviceSpec(data_memory=limit)))
    assert len(alone.x.addressable_shards) == 1


def test_labels_stay_as_they_are(images: tuple[np.ndarray, Arrays]) -> None:
    _, arrays = images
    found = jax.jit(targets)(arrays)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, [0, 1, 2, 1, 0])


def test_values_are_scaled() -> None:
    y = RNG.standard_normal((6, 2)).astype(np.float32)
    shift, scale = np.array([1.0, -2.0], np.float32), np.array([4.0, 0.5], np.float32)
    whole = dataset(
        "regression",
        RNG.standard_normal((6, 3)).astype(np.float32),
        y,
        target_shift=shift,
        target_scale=scale,
    )
    arrays = on_device(whole, whole.train)
    np.testing.assert_allclose(targets(arrays), (y - shift) * scale, rtol=1e-6)
    np.testing.assert_allclose(targets(arrays, np.array([4])), [(y[4] - shift) * scale], rtol=1e-6)


def test_numbers_of_float64_are_centred_on_the_host() -> None:
    x = 1.7e9 + np.arange(100.0)[:, None]
    y = 1.7e9 + np.stack([np.arange(100.0), 1e30 * np.arange(100.0)], axis=1)
    whole = dataset(
        "regression",
        x,
        y,
        shift=x.mean(axis=0),
        scale=1 / x.std(axis=0),
        target_shift=y.mean(axis=0),
        target_scale=1 / y.std(axis=0),
    )
    arrays = on_device(whole, whole.train)
    expected = (np.arange(100) - 49.5) / np.arange(100).std()
    np.testing.assert_allclose(jax.jit(inputs)(arrays)[:, 0], expected, rtol=1e-6)
    for column in jax.jit(targets)(arrays).T:  # each with a deviation of 1, in 32 bits
        assert column.dtype == np.float32
        np.testing.assert_allclose(column, expected, rtol=1e-6)
    # A power of two, near the larger deviation: an error in it is one in the targets' units.
    assert np.log2(whole.unit) % 1 == 0
    np.testing.assert_allclose(
        whole.unit / np.asarray(arrays.target_scale), y.std(axis=0), rtol=1e-6
    )


def test_numbers_of_float32_go_as_they_are() -> None:
    y = RNG.normal(5, 2, (9, 1)).astype(np.float32)
    whole = dataset("regression", y, y, target_shift=np.float32([5]), target_scale=np.float32([2]))
    arrays = on_device(whole, whole.train)
    assert whole.unit == 1.0
    np.testing.assert_array_equal(arrays.y, y)
    np.testing.assert_array_equal(arrays.target_shift, [5])
