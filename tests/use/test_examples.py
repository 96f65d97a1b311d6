from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from senn_cli.data.preprocessing import Preprocessing
from senn_cli.errors import DataError
from senn_cli.use.examples import as_examples


def how(shape: tuple[int, ...], dtype: str) -> Preprocessing:
    zero, one = np.zeros(1, np.float32), np.ones(1, np.float32)
    return Preprocessing("classification", shape, dtype, ("a", "b"), zero, one, zero, one)


@pytest.mark.parametrize("given", [(5, 2, 3), (5, 6), (5, 2, 3, 1)])
def test_shapes_that_fit(given: tuple[int, ...]) -> None:
    values = np.arange(30, dtype=np.uint8).reshape(given)
    found = as_examples(values, how((2, 3), "uint8"), "x")
    np.testing.assert_array_equal(found, np.arange(30).reshape(5, 2, 3))


def test_a_channel_may_be_missing_and_one_feature_needs_no_axis() -> None:
    assert as_examples(np.zeros((4, 2, 2), np.uint8), how((2, 2, 1), "uint8"), "x").shape == (
        (4, 2, 2, 1)
    )
    assert as_examples(np.zeros(4), how((1,), "float32"), "x").shape == (4, 1)


@pytest.mark.parametrize("given", [(2, 3), (6,), (5, 3, 2), (5, 7), (), (5,)])
def test_shapes_that_do_not(given: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match=r"x: expected examples of the shape \(2, 3\)") as caught:
        as_examples(np.zeros(given, np.uint8), how((2, 3), "uint8"), "x")
    assert (caught.value.hint is not None) == (given == (2, 3))


def test_integers_are_pixels_only_within_their_range() -> None:
    found = as_examples(np.array([[0, 255]], np.int64), how((2,), "uint8"), "x")
    assert found.dtype == np.uint8
    assert found.tolist() == [[0, 255]]
    for wrong in (-1, 256):
        with pytest.raises(DataError, match=rf"at index \(1, 0\) stands {wrong}"):
            as_examples(np.array([[0, 1], [wrong, 1]]), how((2,), "uint8"), "x")


@pytest.mark.parametrize("dtype", ["<f8", ">f8", ">f4", "f2", ">i2", "u8", "u1"])
@pytest.mark.parametrize("shape", [(7, 8, 8), (7, 64)])
def test_whole_numbers_of_any_type_and_order_are_pixels(dtype: str, shape: tuple[int, ...]) -> None:
    pixels = np.random.default_rng(0).integers(0, 17, (7, 64))
    values = np.asfortranarray(pixels.reshape(shape).astype(dtype))
    found = as_examples(values, how((8, 8), "uint8"), "x")
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, pixels.reshape(7, 8, 8))


def test_pixels_that_are_scaled_already_have_a_hint() -> None:
    with pytest.raises(DataError) as caught:
        as_examples(np.full((1, 2), 0.5), how((2,), "uint8"), "x")
    assert "look scaled already" in str(caught.value.hint)
    with pytest.raises(DataError) as caught:
        as_examples(np.full((1, 2), 1.5), how((2,), "uint8"), "x")
    assert caught.value.hint is None


@pytest.mark.parametrize(
    ("values", "dtype", "message"),
    [
        (np.full((1, 2), 0.5), "uint8", r"from 0 to 255, but at index \(0, 0\) stands 0\.5"),
        (np.array([[0, np.nan]]), "uint8", r"from 0 to 255, but at index \(0, 1\) stands nan"),
        (np.array([[0, 1e300]]), "uint8", r"from 0 to 255, but at index \(0, 1\) stands 1e\+300"),
        (np.array([[True, False]]), "uint8", "from 0 to 255; these are of type bool"),
        (np.zeros((1, 2), np.uint8), "float32", "the numbers are uint8"),
        (np.array([[1.0, np.nan]]), "float32", "1 of 2 values are NaN or infinite"),
        (np.array([["a", "b"]]), "float32", "expected real numbers"),
        (np.array([[1e300, 0.0]]), "float32", "too large for float32"),
    ],
)
def test_types_that_do_not_fit(values: Any, dtype: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        as_examples(values, how((2,), dtype), "x")
