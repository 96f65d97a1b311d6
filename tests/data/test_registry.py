from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter
from sklearn.utils.class_weight import compute_sample_weight

from senn_cli.data import Dataset, load_dataset, registry
from senn_cli.data.dataset import Part
from senn_cli.errors import DataError
from senn_cli.spec.data import DataSpec


def load(seed: int = 0, **section: Any) -> Dataset:
    return load_dataset(TypeAdapter(DataSpec).validate_python(section), seed)


def ids(dataset: Dataset) -> dict[str, set[int]]:
    return {name: set(part.ids.tolist()) for name, part in dataset.parts.items()}


@pytest.mark.parametrize(
    ("section", "sizes"),
    [
        ({"source": "digits", "validation": 0.1}, {"train": 1294, "validation": 144, "test": 359}),
        (
            {"source": "digits", "validation": 97, "test": 200},
            {"train": 1500, "validation": 97, "test": 200},
        ),
        ({"source": "digits", "validation": 0}, {"train": 1438, "test": 359}),
        ({"source": "moons", "validation": 0.1}, {"train": 180, "validation": 20, "test": 500}),
        ({"source": "regression", "validation": 0.1}, {"train": 45, "validation": 5, "test": 1000}),
    ],
)
def test_parts_are_disjoint_and_cover_everything(
    section: dict[str, Any], sizes: dict[str, int]
) -> None:
    dataset = load(**section)
    assert {name: len(part) for name, part in dataset.parts.items()} == sizes
    rows = [row for part in ids(dataset).values() for row in part]
    assert sorted(rows) == list(range(sum(sizes.values())))


def test_splits_follow_the_seed() -> None:
    assert ids(load(seed=1, source="digits")) == ids(load(seed=1, source="digits"))
    assert ids(load(seed=1, source="digits"))["test"] != ids(load(seed=2, source="digits"))["test"]


def test_ids_are_rows_of_the_source() -> None:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    for part in load(source="digits", subset=0.3).parts.values():
        assert np.array_equal(part.x.reshape(len(part), -1), bunch.data[part.ids])
        assert np.array_equal(part.y, bunch.target[part.ids])


def test_subsets_are_balanced_nested_and_leave_the_other_parts_alone() -> None:
    whole = load(source="digits")
    small, large = (load(source="digits", subset=share) for share in ("10%", "20%"))
    assert len(small.train) == 129
    assert len(large.train) == 259
    assert ids(small)["train"] < ids(large)["train"] < ids(whole)["train"]
    assert np.ptp(np.bincount(small.train.y)) <= 1
    for name in ("validation", "test"):
        assert ids(small)[name] == ids(large)[name] == ids(whole)[name]


def test_scaling_is_fitted_on_the_training_part_alone() -> None:
    dataset = load(source="digits", subset=0.5)
    train = dataset.train.x.astype(np.float64)
    assert dataset.shift.shape == (1, 1)
    np.testing.assert_allclose(dataset.shift, train.mean(), rtol=1e-6)
    np.testing.assert_allclose(dataset.scale, 1 / train.std(), rtol=1e-6)
    assert abs(float(dataset.test.x.mean()) - float(dataset.shift.item())) > 1e-4


def test_sizes_and_targets_of_both_tasks() -> None:
    digits, curve = load(source="digits"), load(source="regression")
    assert (digits.inputs, digits.outputs) == (64, 10)
    assert digits.target_shift.tolist() == [0.0]
    assert digits.target_scale.tolist() == [1.0]
    assert (curve.inputs, curve.outputs) == (1, 1)
    assert curve.target_shift.tolist() == [0.0]
    assert curve.target_scale.tolist() == [1.0]


@pytest.mark.parametrize("source", ["moons", "regression"])
def test_drawn_sources_are_not_scaled_unless_asked(source: str) -> None:
    plain, scaled = load(source=source), load(source=source, normalize="per_feature")
    assert np.all(plain.shift == 0)
    assert np.all(plain.scale == 1)
    np.testing.assert_allclose(scaled.shift, scaled.train.x.mean(axis=0), atol=1e-6)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    x = rng.normal(5, 3, (100, 2))
    np.savez(tmp_path / "a.npz", x=x, y=100 + 20 * x[:, :1], label=np.arange(100) % 3)
    return tmp_path / "a.npz"


def test_targets_of_the_users_own_are_scaled_by_the_training_part(table: Path) -> None:
    options: dict[str, Any] = {"source": "npz", "path": table, "task": "regression"}
    dataset = load(**options)
    y = dataset.train.y
    np.testing.assert_allclose(dataset.target_shift, y.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(dataset.target_scale, 1 / y.std(axis=0, dtype=np.float64), rtol=1e-6)
    assert dataset.scale.shape == (2,)
    plain = load(**options, normalize_targets=False)
    assert plain.target_shift.tolist() == [0.0]
    assert plain.target_scale.tolist() == [1.0]


def test_a_csv_and_an_npz_of_the_same_numbers_agree(tmp_path: Path, table: Path) -> None:
    with np.load(table) as arrays:
        x, y = arrays["x"], arrays["label"]
    lines = [f"{a!r},{b!r},{label}" for (a, b), label in zip(x.tolist(), y, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["a,b,label", *lines]))
    one = load(source="npz", path=table, targets="label")
    other = load(source="csv", path=tmp_path / "a.csv", target="label")
    assert ids(one) == ids(other)
    assert np.array_equal(one.train.x, other.train.x)
    assert np.array_equal(one.shift, other.shift)
    assert one.classes == other.classes == ("0", "1", "2")


def test_a_class_with_a_single_member_is_trained_on(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros((50, 1)), y=[0] * 30 + [1] * 19 + [2])
    dataset = load(source="npz", path=tmp_path / "a.npz", test=0.4, validation=0.4)
    assert 49 in ids(dataset)["train"]
    assert dataset.outputs == 3


def test_a_test_file_takes_the_place_of_a_share(tmp_path: Path, table: Path) -> None:
    options = {"source": "npz", "path": table, "targets": "label", "test_path": table}
    assert len(load(**options).test) == 100
    with pytest.raises(DataError, match=r"data\.test is 0\.2, but data\.test_path names"):
        load(**options, test=0.2)
    none = load(source="npz", path=table, targets="label", test=0)
    assert len(none.test) == 0
    assert len(none.train) + len(none.validation) == 100


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"source": "digits", "test": 1790}, r"data\.test takes 1790 of 1797 .* the 10 classes"),
        ({"source": "digits", "validation": 2000}, r"data\.validation takes 2000 of 1438"),
        ({"source": "moons", "subset": 1}, r"data\.subset takes 1 of 180 .* each of 2 classes"),
        ({"source": "moons", "subset": 500}, r"data\.subset asks for 500 .* 180 to train on"),
        ({"source": "regression", "validation": 50}, "fewer than one example would be left"),
    ],
)
def test_parts_that_are_too_large_or_too_small(section: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(**section)


def images(path: Path, x: np.ndarray) -> dict[str, Any]:
    np.savez(path / "a.npz", x=x, y=np.arange(len(x)) % 2)
    return {"source": "npz", "path": path / "a.npz"}


def test_augmentation_needs_images(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    flat = images(tmp_path, rng.integers(0, 256, (20, 5), dtype=np.uint8))
    with pytest.raises(DataError, match=r"data\.augment needs images, .* has the shape \(5,\)"):
        load(**flat, augment=["flip"])
    assert len(load(**flat, augment=[]).train) > 0
    many = images(tmp_path, rng.integers(0, 256, (20, 5, 5, 2), dtype=np.uint8))
    assert load(**many, augment=["flip"]).train.x.shape[1:] == (5, 5, 2)
    with pytest.raises(DataError, match="needs 1 or 3 channels, but there are 2"):
        load(**many, augment="paper")


def test_colors_are_changed_on_bytes_alone(tmp_path: Path) -> None:
    unit = images(tmp_path, np.random.default_rng(0).uniform(0, 1, (20, 5, 5, 3)))
    assert load(**unit, augment=["flip"]).train.x.dtype == np.float32
    with pytest.raises(DataError, match="needs 8-bit images from 0 to 255") as caught:
        load(**unit, augment=["flip", "color"])
    assert "uint8" in str(caught.value.hint)


def test_data_needs_no_jax() -> None:
    code = "import sys, senn_cli.data, senn_cli.cli.data; print('jax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_categories_are_not_scaled_and_numbers_are(tmp_path: Path) -> None:
    rows = "".join(f"{i},{'rare' if i == 7 else 'usual'},{i % 2}\n" for i in range(60))
    (tmp_path / "t.csv").write_text("a,kind,y\n" + rows)
    dataset = load(source="csv", path=tmp_path / "t.csv", target="y")
    assert dataset.encoding is not None
    assert dataset.encoding.inputs == ("a", "kind=rare", "kind=usual")
    assert dataset.shift[1:].tolist() == [0, 0]
    assert dataset.scale[1:].tolist() == [1, 1]
    assert dataset.shift[0] == pytest.approx(dataset.train.x[:, 0].mean())


def test_gaps_and_categories_are_fitted_on_the_training_part_alone(tmp_path: Path) -> None:
    """The test table has other values and a category of its own, which change nothing."""
    train = "".join(f"{i % 5 or ''},{('oslo', 'rome')[i % 2]},{i % 3}\n" for i in range(40))
    (tmp_path / "t.csv").write_text("a,city,y\n" + train)
    (tmp_path / "u.csv").write_text("a,city,y\n,bern,0\n1e6,oslo,1\n")
    dataset = load(
        source="csv",
        path=tmp_path / "t.csv",
        test_path=tmp_path / "u.csv",
        target="y",
        missing="mean",
        validation=0,
    )
    assert dataset.encoding is not None
    assert dataset.encoding.inputs == ("a", "city=oslo", "city=rome")
    assert dataset.test.x.tolist() == [[2.5, 0, 0], [1e6, 1, 0]]  # the mean of 1, 2, 3 and 4
    assert any("test: in 1 of 2 rows 'city' has a value" in note for note in dataset.notes)


def test_numbers_above_float32_are_scaled_before_they_are_cast(tmp_path: Path) -> None:
    rows = "".join(f"{i}e60,{i}e40,{i % 2}\n" for i in range(40))
    (tmp_path / "t.csv").write_text("a,b,y\n" + rows)
    dataset = load(source="csv", path=tmp_path / "t.csv", target="y")
    z = (dataset.train.x - dataset.shift) * dataset.scale
    np.testing.assert_allclose(z.std(axis=0), 1)
    with pytest.raises(
        DataError, match=r"train: column 'a' holds .*, which is too large for float"
    ):
        load(source="csv", path=tmp_path / "t.csv", target="y", normalize="none")


def weighing(weights: Any = None, **loss: Any) -> Dataset:
    """Ten examples of a and two of b, all to train on."""
    y = np.array([0] * 10 + [1] * 2, np.int32)
    part = Part(np.zeros((12, 1), np.float32), y, np.arange(12), weights)
    one = np.ones(1, np.float32)
    data = Dataset("d", "classification", part, None, part, ("a", "b"), one, one, one, one)
    return registry.weighted(data, loss.get("class_weight"))


def test_balanced_classes_count_alike() -> None:
    found = weighing(class_weight="balanced").train.weights
    wanted = compute_sample_weight("balanced", weighing().train.y)
    assert found is not None and found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert weighing().train.weights is None


def test_weights_of_classes_and_of_examples_multiply_and_are_1_on_average() -> None:
    own = np.linspace(0, 1, 12, dtype=np.float32)
    found = weighing(own, class_weight={"b": 3.0})
    wanted = own * np.where(found.train.y == 1, 3, 1)
    np.testing.assert_allclose(found.train.weights, wanted / wanted.mean(), rtol=1e-6)
    assert found.test.weights is own  # evaluations count every example once


@pytest.mark.parametrize(
    "weights, loss, message",
    [
        (None, {"class_weight": {"c": 2.0}}, "names 'c', which is no class"),
        (np.zeros(12, np.float32), {}, "all their weights are 0"),
    ],
)
def test_faults_of_weights(weights: Any, loss: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        weighing(weights, **loss)


@pytest.mark.parametrize("bad", [-1.0, 0.5])
def test_counts(bad: float) -> None:
    y = np.array([[0.0], [bad], [4.0]])
    part = Part(np.zeros((3, 1), np.float32), y, np.arange(3))
    one = np.ones(1)
    data = Dataset("d", "regression", part, None, part, (), one, one, one, one * 2)
    if bad < 0:
        with pytest.raises(DataError, match=r"row 1: target 1 is -1, but loss: poisson"):
            registry.counted(data)
        return
    found = registry.counted(data)
    assert found.link == "log" and found.target_scale.tolist() == [1.0]
    assert found.target_shift.tolist() == [0.0] and found.unit == 1.0
    assert "not all targets are whole numbers" in found.notes[0]
