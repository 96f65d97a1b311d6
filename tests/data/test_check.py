from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from senn_cli.data.check import check_dataset
from senn_cli.data.dataset import Array, Dataset, Part


def part(x: list[list[float]], y: list[int], first: int = 0) -> Part:
    ids = np.arange(first, first + len(x), dtype=np.int64)
    return Part(np.array(x, np.float32), np.array(y, np.int32), ids)


def dataset(train: Part, test: Part, classes: tuple[str, ...] = ("a", "b")) -> Dataset:
    zero: Array = np.zeros(1, np.float32)
    task = "classification" if classes else "regression"
    return Dataset("npz", task, train, None, test, classes, zero, zero + 1, zero, zero + 1)


def test_a_clean_set_has_no_warnings() -> None:
    report = check_dataset(dataset(part([[0, 1], [2, 4]], [0, 1]), part([[5, 5], [6, 6]], [0, 1])))
    train = report.parts["train"]
    assert report.warnings == ()
    assert (train.examples, train.inputs, train.dtype) == (2, (2,), "float32")
    assert (train.low, train.high, train.mean) == (0.0, 4.0, 1.75)
    assert train.class_counts == {"a": 1, "b": 1}
    assert train.bytes == 2 * 2 * 4 + 2 * 4
    assert report.bytes == 48
    assert (report.inputs, report.outputs) == (2, 2)


def test_duplicates_within_and_between_parts() -> None:
    train = part([[0, 1], [0, 1], [2, 2]], [0, 1, 0])
    test = part([[2, 2], [3, 3], [0, 1], [0, 1]], [0, 1, 0, 1])
    report = check_dataset(dataset(train, test))
    assert report.parts["train"].repeated == 1
    assert report.parts["test"].repeated == 1
    assert report.shared_with_train == {"test": 3}
    assert any("test: 3 of 4 examples" in warning for warning in report.warnings)


def test_constant_features_of_a_table() -> None:
    report = check_dataset(dataset(part([[7, 1], [7, 2]], [0, 1]), part([[8, 3], [9, 4]], [0, 1])))
    assert report.constant_features == 1
    assert report.warnings == ("train: 1 of 2 features never change",)


def test_absent_classes_and_uneven_ones() -> None:
    train = part([[float(i)] for i in range(12)], [0] * 11 + [1])
    report = check_dataset(dataset(train, part([[20.0]], [2]), ("a", "b", "c")))
    assert report.warnings == (
        "train: no example of class c",
        "test: no example of class a, class b",
        "train: the largest class has 11 examples, the smallest 1",
    )


def test_non_finite_values_are_counted() -> None:
    report = check_dataset(dataset(part([[np.nan], [1]], [0, 1]), part([[2], [3]], [0, 1])))
    assert report.parts["train"].non_finite == 1
    assert "train: 1 values are not finite" in report.warnings


def test_notes_of_the_source_are_shown_first() -> None:
    clean = dataset(part([[0, 1], [2, 4]], [0, 1]), part([[5, 5], [6, 6]], [0, 1]))
    assert check_dataset(replace(clean, notes=("half of it",))).warnings == ("half of it",)


def test_targets_of_a_regression() -> None:
    x = np.array([[0.0], [1.0]], np.float32)
    y = np.array([[1.0, 5.0], [3.0, 5.0]], np.float32)
    train = Part(x, y, np.arange(2))
    test = Part(x + 5, y, np.arange(2, 4))
    report = check_dataset(dataset(train, test, ()))
    assert report.parts["train"].targets == (
        {"low": 1.0, "high": 3.0, "mean": 2.0, "deviation": 1.0},
        {"low": 5.0, "high": 5.0, "mean": 5.0, "deviation": 0.0},
    )
    assert report.parts["train"].class_counts == {}
    assert json.loads(json.dumps(report.as_dict()))["outputs"] == 2
