from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from senn_cli.data.check import check_dataset
from senn_cli.data.dataset import Array, Dataset, Part
from senn_cli.data.registry import load_dataset
from senn_cli.spec import parse_spec


def part(x: list[list[float]], y: list[int], first: int = 0) -> Part:
    ids = np.arange(first, first + len(x), dtype=np.int64)
    return Part(np.array(x, np.float32), np.array(y, np.int32), ids)


def dataset(train: Part, test: Part, classes: tuple[str, ...] = ("a", "b")) -> Dataset:
    zero: Array = np.zeros(1, np.float32)
    task = "classification" if classes else "regression"
    return Dataset("npz", task, train, None, test, classes, zero, zero + 1, zero, zero + 1)


FEW = "only 4 examples, of which 2 measure the result: it will vary much with the seed"
SINGLE = "train: a single example of class a, class b"


def test_a_clean_set_has_no_warnings() -> None:
    x = [[float(i), float(-i)] for i in range(90)]
    held = [[100.0 + i, 0.0] for i in range(10)]
    clean = dataset(part(x, [0, 1] * 45), part(held, [0, 1] * 5))
    assert check_dataset(clean).warnings == ()


def test_the_numbers_of_a_small_set() -> None:
    report = check_dataset(dataset(part([[0, 1], [2, 4]], [0, 1]), part([[5, 5], [6, 6]], [0, 1])))
    train = report.parts["train"]
    assert report.warnings == (FEW, SINGLE)
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
    assert report.warnings == (FEW, SINGLE, "train: 1 of 2 features never change")


def test_absent_classes_and_uneven_ones() -> None:
    train = part([[float(i)] for i in range(12)], [0] * 11 + [1])
    report = check_dataset(dataset(train, part([[20.0]], [2]), ("a", "b", "c")))
    assert report.warnings == (
        "train: no example of class c",
        "test: no example of class a, class b",
        "only 13 examples, of which 1 measure the result: it will vary much with the seed",
        "train: a single example of class b",
        "train: the largest class has 11 examples, the smallest 1",
    )


def test_non_finite_values_are_counted() -> None:
    report = check_dataset(dataset(part([[np.nan], [1]], [0, 1]), part([[2], [3]], [0, 1])))
    assert report.parts["train"].non_finite == 1
    assert "train: 1 value is not finite" in report.warnings


def test_notes_of_the_source_are_passed_on() -> None:
    clean = dataset(part([[0, 1], [2, 4]], [0, 1]), part([[5, 5], [6, 6]], [0, 1]))
    report = check_dataset(replace(clean, notes=("half of it",)))
    assert (report.notes, report.warnings) == (("half of it",), (FEW, SINGLE))


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


def targets(train: Array, test: Array) -> tuple[str, ...]:
    def of(y: Array, first: int) -> Part:
        x = np.arange(first, first + len(y), dtype=np.float32)[:, None]
        return Part(x, y.astype(np.float32), np.arange(first, first + len(y)))

    return check_dataset(dataset(of(train, 0), of(test, 1000), ())).warnings


def test_what_is_odd_about_targets_is_named() -> None:
    spread = np.linspace(0, 1, 100)
    three = np.stack([spread, np.full(100, 4.0), np.arange(100) % 3], axis=1)
    assert targets(three, three) == (
        "3 targets, which one network predicts together",
        "train: target 2 never changes",
        "train: target 3 has 3 values alone; if they are classes, write data.task: classification",
    )
    assert targets(spread[:, None], spread[:, None]) == ()
    assert targets(spread[:, None], spread[:3, None]) == ()
    assert targets(spread[:20, None], spread[:5, None]) == (
        "only 25 examples, of which 5 measure the result: it will vary much with the seed",
    )


def test_numbers_taken_for_classes_are_named() -> None:
    x = [[float(i)] for i in range(120)]
    prices = part(x, list(range(120)))
    found = check_dataset(dataset(prices, part(x, list(range(120))), tuple(map(str, range(120)))))
    assert (
        "120 classes for 120 examples; if they are numbers to predict, write data.task: regression"
    ) in found.warnings


def test_constant_columns_of_a_table_go_by_their_names(tmp_path: Path) -> None:
    rows = [f"{i},7,{i % 2},{i * i},3" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,label,c,d", *rows]))
    spec = parse_spec(
        f"data: {{source: csv, path: {tmp_path / 't.csv'}, target: label}}\nnetwork: mlp\n"
    )
    warnings = check_dataset(load_dataset(spec.data, 0)).warnings
    assert "train: 2 of 4 features never change: b, d" in warnings


def test_several_labels_and_weights() -> None:
    x = [[float(i), float(-i)] for i in range(4)]
    labels = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 0], [1, 1, 0]], np.uint8)
    weights = np.array([1, 0, 2, 0], np.float32)
    known = replace(part(x, [0] * 4), y=labels, weights=weights)
    zero: Array = np.zeros(1, np.float32)
    names = ("red", "old", "new")
    held = replace(known, weights=None)
    report = check_dataset(
        Dataset("npz", "multilabel", known, None, held, names, zero, zero + 1, zero, zero + 1)
    )
    assert report.parts["train"].class_counts == {"red": 4, "old": 2, "new": 0}
    assert "train: no example of label new" in report.warnings
    assert "train: label red holds always" in report.warnings
    assert "train: 2 examples of weight 0" in report.warnings
    assert "test: 2 examples of weight 0" not in report.warnings
