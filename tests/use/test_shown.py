from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from senn_cli.data.dataset import Part
from senn_cli.data.encoding import Column, Encoding
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.use.shown import COLUMNS, EXAMPLES, POINTS, SIDE, shown


def how_of(x: Any, task: Any, k: int, **more: Any) -> Preprocessing:
    classes = () if task == "regression" else tuple("abc"[:k])
    one = np.ones(k if task == "regression" else 1, np.float32)
    ones = np.ones(1, np.float32)
    shape, dtype = tuple(x.shape[1:]), str(x.dtype)
    return Preprocessing(task, shape, dtype, classes, 0 * ones, ones, 0 * one, one, **more)


def logits(probabilities: list[list[float]]) -> Any:
    return np.log(np.array(probabilities, np.float32))


def pixels(example: dict[str, Any]) -> Any:
    content = base64.b64decode(example["pixels"])
    return np.frombuffer(content, np.uint8).reshape(example["size"])


def test_mistakes_come_by_how_sure_they_are() -> None:
    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    said = [[0.6, 0.4], [0.1, 0.9], [0.75, 0.25], [0.2, 0.8], [0.45, 0.55]]
    part = Part(x, np.array([0, 0, 1, 1, 0], np.int32), np.arange(20, 25))
    found = shown(how_of(x, "classification", 2), logits(said), part, ())
    wrong = [(one["id"], one["true"], one["predicted"]) for one in found["wrong"]]
    assert wrong == [(21, "a", "b"), (22, "b", "a"), (24, "a", "b")]
    assert [one["confidence"] for one in found["wrong"]] == pytest.approx([0.9, 0.75, 0.55])
    assert [one["id"] for one in found["right"]] == [20, 23]
    assert (found["columns"], found["more"]) == (["x1", "x2"], 0)
    assert found["wrong"][0]["values"] == [2.0, 3.0]


def test_right_answers_are_from_all_over_the_part() -> None:
    n = 10 * EXAMPLES
    x = np.zeros((n, 1), np.float32)
    part = Part(x, np.zeros(n, np.int32), np.arange(n))
    found = shown(how_of(x, "classification", 2), logits([[0.9, 0.1]] * n), part, ())
    ids = [one["id"] for one in found["right"]]
    assert (len(ids), ids[0], ids[-1], found["wrong"]) == (EXAMPLES, 0, n - 1, [])
    assert np.ptp(np.diff(ids)) <= 1


def test_of_several_labels_those_with_most_mistakes_come_first() -> None:
    x = np.zeros((4, 1), np.float32)
    y = np.array([[1, 0, 0], [0, 0, 0], [1, 1, 1], [0, 1, 1]], np.uint8)
    said = np.array([[1, 0, 1], [0, 0, 0], [0, 0, 0], [0, 1, 1]])
    part = Part(x, y, np.arange(4))
    found = shown(how_of(x, "multilabel", 3), np.where(said, 2.0, -2.0), part, ())
    wrong = [(one["id"], one["true"], one["predicted"]) for one in found["wrong"]]
    assert wrong == [(2, "a, b, c", "none"), (0, "a", "a, c")]
    right = [(one["id"], one["true"], one["predicted"]) for one in found["right"]]
    assert right == [(1, "none", "none"), (3, "b, c", "b, c")]


@pytest.mark.parametrize("channels", [None, 1, 3])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_images_are_bytes_from_the_darkest_to_the_brightest(
    channels: int | None, dtype: str
) -> None:
    shape = (4, 5) if channels is None else (4, 5, channels)
    rng = np.random.default_rng(0)
    x = rng.integers(0, 17, (3, *shape)).astype(dtype)
    x.flat[0], x.flat[1] = 0, 16
    part = Part(x, np.zeros(3, np.int32), np.arange(3))
    found = shown(how_of(x, "classification", 2), logits([[0.9, 0.1]] * 3), part, ())
    assert (found["columns"], found["more"]) == ([], 0)
    for example in found["right"]:
        expected = np.round(x[example["id"]].reshape(4, 5, channels or 1) * 255.0 / 16)
        np.testing.assert_array_equal(pixels(example), expected)


def test_a_large_image_is_thinned_out() -> None:
    x = np.zeros((1, 3 * SIDE + 1, SIDE, 3), np.uint8)
    x[0, ::4, ::4] = 255
    part = Part(x, np.zeros(1, np.int32), np.arange(1))
    found = shown(how_of(x, "classification", 2), logits([[0.9, 0.1]]), part, ())
    image = pixels(found["right"][0])
    assert image.shape == (49, 16, 3)
    assert (image == 255).all()


def test_rows_of_a_table_have_words_and_gaps() -> None:
    columns = (Column("age"), Column("city", ("Rome", "Oslo")), *map(Column, "abcdefghijkl"))
    x = np.zeros((3, 15))
    x[:, 0] = [30, np.nan, 50]
    x[:, 1:3] = [[0, 1], [1, 0], [0, 0]]
    encoding = Encoding(columns, ("y",), fill=tuple(np.zeros(15)))
    part = Part(x, np.zeros(3, np.int32), np.arange(3))
    how = how_of(x, "classification", 2, encoding=encoding)
    found = shown(how, logits([[0.9, 0.1]] * 3), part, ())
    assert found["columns"] == ["age", "city", *"abcdefghij"]
    assert (len(found["columns"]), found["more"]) == (COLUMNS, 2)
    values = [one["values"][:2] for one in found["right"]]
    assert values == [[30.0, "Oslo"], [None, "Rome"], [50.0, None]]


def test_predictions_are_ordered_by_their_scaled_errors() -> None:
    x = np.zeros((4, 2), np.float32)
    y = np.array([[10, 1], [20, 2], [30, 3], [40, 4]], np.float32)
    shift, scale = np.array([25, 2.5], np.float32), np.array([0.1, 1], np.float32)
    how = Preprocessing(
        "regression", (2,), "float32", (), np.zeros(2, np.float32), np.ones(2, np.float32),
        shift, scale,
    )  # fmt: skip
    # Errors of 2, 0, 1 and -3 deviations, in another target each time.
    error = np.array([[2, 0], [0, 0], [0, 1], [-3, 0]], np.float32)
    outputs = (y - shift) * scale + error
    found = shown(how, outputs, Part(x, y, np.arange(4)), ("u", "v"))
    assert [one["id"] for one in found["furthest"]] == [3, 0]
    assert [one["id"] for one in found["nearest"]] == [1, 2]
    assert found["furthest"][0]["true"] == [40.0, 4.0]
    assert found["furthest"][0]["predicted"] == pytest.approx([10.0, 4.0])
    points = found["points"]
    assert points["targets"] == ["u", "v"]
    np.testing.assert_allclose(points["true"], y.T)
    np.testing.assert_allclose(points["predicted"], (y + error / scale).T, rtol=1e-6)


def test_of_many_predictions_some_are_points() -> None:
    n = 3 * POINTS
    x, y = np.zeros((n, 1), np.float32), np.arange(n, dtype=np.float32)[:, None]
    found = shown(how_of(x, "regression", 1), y, Part(x, y, np.arange(n)), ("u",))
    (own,) = found["points"]["true"]
    assert (len(own), own[0], own[-1]) == (POINTS, 0.0, n - 1.0)
