from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from senn_cli.data import npz
from senn_cli.data.dataset import Source, Task
from senn_cli.data.registry import load_dataset
from senn_cli.errors import DataError
from senn_cli.spec.load import from_values


def write(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


def load(
    path: Path, test: Path | None = None, task: Task = "classification", weights: str | None = None
) -> Source:
    return npz.load(path, test, "x", "y", task, weights)


def test_integers_are_mapped_to_sorted_classes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.npz", x=np.eye(4), y=[10, -1, 2, 10])
    source = load(path)
    assert source.classes == ("-1", "2", "10")
    assert source.train.y.tolist() == [2, 0, 1, 2]
    assert source.train.y.dtype == np.int32
    assert source.train.x.dtype == np.float64
    assert source.test is None


def test_integers_of_several_types_stay_integers(tmp_path: Path) -> None:
    train = write(tmp_path / "a.npz", x=np.zeros((2, 1)), y=np.array([0, 1], np.uint64))
    test = write(tmp_path / "b.npz", x=np.zeros((2, 1)), y=np.array([-1, 1], np.int64))
    assert load(train, test).classes == ("-1", "0", "1")


def test_text_labels_and_uint8_images(tmp_path: Path) -> None:
    images = np.arange(24, dtype=np.uint8).reshape(3, 2, 4)
    source = load(write(tmp_path / "a.npz", x=images, y=["dog", "cat", "dog"]))
    assert source.classes == ("cat", "dog")
    assert source.train.y.tolist() == [1, 0, 1]
    assert source.train.x.dtype == np.uint8
    assert source.train.x.shape == (3, 2, 4)


def test_a_test_file_counts_ids_on_and_may_have_other_classes(tmp_path: Path) -> None:
    train = write(tmp_path / "a.npz", x=np.zeros((3, 2)), y=[0, 1, 0])
    test = write(tmp_path / "b.npz", x=np.ones((2, 2)), y=[2, 1])
    source = load(train, test)
    assert source.test is not None
    assert source.classes == ("0", "1", "2")
    assert source.test.y.tolist() == [2, 1]
    assert source.test.ids.tolist() == [3, 4]


@pytest.mark.parametrize(("y", "shape"), [([1.5, 2.5], (2, 1)), ([[1, 2, 3], [4, 5, 6]], (2, 3))])
def test_regression_targets(tmp_path: Path, y: list[Any], shape: tuple[int, int]) -> None:
    source = load(write(tmp_path / "a.npz", x=[1.0, 2.0], y=y), task="regression")
    assert source.train.x.shape == (2, 1)
    assert source.train.y.shape == shape
    assert source.train.y.dtype == np.float64
    assert source.classes == ()


class Bomb:
    """Leaves a mark where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_objects_are_refused_without_running_their_code(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    objects = np.array([Bomb(mark), Bomb(mark)], dtype=object)
    path = write(tmp_path / "a.npz", x=np.zeros((2, 1)), y=objects)
    with pytest.raises(DataError, match="'y' holds Python objects, which are never loaded"):
        load(path)
    pickled = tmp_path / "b.npz"
    pickled.write_bytes(__import__("pickle").dumps(Bomb(mark)))
    with pytest.raises(
        DataError, match=r"no file of NumPy's .*looks like a Python pickle"
    ) as caught:
        load(pickled)
    assert "never loaded" in str(caught.value.hint)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros((3, 2)), "y": [0, 1]}, "'x' has 3 examples, but .*'y' has 2"),
        (
            {"x": [[0.0], [np.nan]], "y": [0, 1]},
            r"1 of 2 values .* the first is nan at index \(1, 0\)",
        ),
        ({"x": [[0.0], [1e300]], "y": [0, 1]}, r"1e\+300 at index \(1, 0\) is too large"),
        ({"x": [["a"], ["b"]], "y": [0, 1]}, "expected real numbers"),
        ({"x": [[1j], [0]], "y": [0, 1]}, "expected real numbers"),
        ({"x": np.zeros((0, 2)), "y": np.zeros(0, int)}, "is empty"),
        ({"x": 1.0, "y": 0}, "a single value"),
        ({"x": np.zeros((2, 1)), "y": np.eye(2)}, r"one a row, shape \(N,\), .*\(2, 2\)"),
        ({"x": np.zeros((2, 1)), "y": [0.0, 0.5]}, "row 1 is 0.5"),
        ({"x": np.zeros((2, 1)), "y": [0.0, np.nan]}, "NaN or infinite"),
        ({"x": np.zeros((2, 1)), "y": [0.0, 1e300]}, "row 1 is 1e"),
        ({"x": np.zeros((2, 1)), "y": np.array([0, 2**63], np.uint64)}, "is too large"),
        ({"x": np.zeros((2, 1)), "y": np.array([b"a", b"\xff"])}, "must be ASCII"),
        ({"x": np.zeros((2, 1)), "labels": [0, 1]}, "has no array 'y'; it has 'x', 'labels'"),
    ],
)
def test_faults_of_a_classification(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    path = write(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataError, match=message) as caught:
        load(path)
    assert str(path) in caught.value.message


def test_faults_of_a_regression(tmp_path: Path) -> None:
    path = write(tmp_path / "a.npz", x=np.zeros((2, 1)), y=[0.0, np.inf])
    with pytest.raises(DataError, match="the first is inf at index 1"):
        load(path, task="regression")
    path = write(tmp_path / "a.npz", x=np.zeros((2, 1)), y=np.zeros((2, 1, 1)))
    with pytest.raises(DataError, match=r"must have shape \(N,\) or \(N, k\)"):
        load(path, task="regression")


def test_parts_that_do_not_agree(tmp_path: Path) -> None:
    train = write(tmp_path / "a.npz", x=np.zeros((2, 3)), y=[0, 1])
    test = write(tmp_path / "b.npz", x=np.zeros((2, 4)), y=[0, 1])
    with pytest.raises(DataError, match=r"shape \(3,\) in .*a\.npz, but \(4,\)"):
        load(train, test)
    test = write(tmp_path / "b.npz", x=np.zeros((2, 3), np.uint8), y=[0, 1])
    with pytest.raises(DataError, match=r"float64 in .*a\.npz, but uint8"):
        load(train, test)
    test = write(tmp_path / "b.npz", x=np.zeros((2, 3)), y=["0", "1"])
    with pytest.raises(DataError, match="labels are text in one"):
        load(train, test)


def test_files_that_are_no_archives(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read: No such file"):
        load(tmp_path / "absent.npz")
    np.save(tmp_path / "single.npy", np.zeros(3))
    with pytest.raises(DataError, match="holds a single array"):
        load(tmp_path / "single.npy")
    (tmp_path / "page.npz").write_text("<html>")
    with pytest.raises(DataError, match=r"no file of NumPy's .*looks like a web page"):
        load(tmp_path / "page.npz")
    with pytest.raises(DataError, match="is a directory, not a regular file"):
        load(tmp_path)
    (tmp_path / "empty.npz").write_bytes(b"")
    with pytest.raises(DataError, match="is empty"):
        load(tmp_path / "empty.npz")


def test_a_table_given_as_an_archive_is_sent_to_source_csv(tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    path.write_text("a,b,label\n1,2,x\n")
    with pytest.raises(
        DataError, match=r"no file of NumPy's .*looks like a table of text"
    ) as found:
        load(path)
    assert "source: csv" in str(found.value.hint)
    assert "pickle" not in found.value.message


def test_cut_off_and_damaged_archives(tmp_path: Path) -> None:
    path = write(tmp_path / "a.npz", x=np.random.default_rng(0).random((100, 3)), y=[0, 1] * 50)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="incomplete: the end of the archive is missing"):
        load(path)
    path.write_bytes(content[:500] + b"\0" * 50 + content[550:])
    with pytest.raises(DataError, match="'x' is damaged"):
        load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", "text")
        archive.writestr("y.npy", "text")
    with pytest.raises(DataError, match="'x'"):
        load(path)


def test_did_you_mean(tmp_path: Path) -> None:
    path = write(tmp_path / "a.npz", inputs=np.zeros((2, 1)), y=[0, 1])
    with pytest.raises(DataError) as caught:
        npz.load(path, None, "input", "y", "classification")
    assert caught.value.hint == "did you mean 'inputs'?"


@pytest.mark.parametrize(
    ("dtype", "axes", "kept"),
    [
        (np.float64, 2, np.float64),
        (np.int64, 2, np.float64),
        (np.int32, 2, np.float64),
        (np.float32, 2, np.float32),
        (np.float16, 2, np.float32),
        (np.int16, 2, np.float32),
        (np.bool_, 2, np.float32),
        (np.uint8, 2, np.uint8),
        (np.float64, 3, np.float32),  # images
    ],
)
def test_numbers_that_may_lie_far_from_0_stay_float64(
    tmp_path: Path, dtype: Any, axes: int, kept: Any
) -> None:
    x = np.ones((2, 3, 4)[:axes], dtype)
    assert load(write(tmp_path / "a.npz", x=x, y=[0, 1])).train.x.dtype == kept


def test_types_of_two_archives_are_joined(tmp_path: Path) -> None:
    one = write(tmp_path / "a.npz", x=np.zeros((2, 1), np.float32), y=[0.5, 1.5])
    two = write(tmp_path / "b.npz", x=np.zeros((2, 1)), y=np.ones(2, np.float32))
    source = load(one, two, task="regression")
    assert source.test is not None
    for part in (source.train, source.test):
        assert (part.x.dtype, part.y.dtype) == (np.float64, np.float64)


def test_weights_and_several_labels(tmp_path: Path) -> None:
    arrays = {"x": np.eye(3), "y": [[1, 0], [0, 0], [1, 1]], "w": [0.5, 1, 2]}
    source = load(write(tmp_path / "a.npz", **arrays), None, "multilabel", "w")
    assert source.classes == ("1", "2")
    assert (source.train.y.dtype, source.train.y.tolist()) == (np.uint8, arrays["y"])
    assert source.train.weights is not None
    assert source.train.weights.tolist() == arrays["w"]
    for name, values, message in (
        ("w", [1, 1], r"array 'x' has 3 examples, but .*array 'w' has 2"),
        ("w", [[1], [1], [1]], r"array 'w': expected numbers of the shape \(N,\)"),
        ("w", [1, -1, 1], "array 'w': a weight is negative: -1 in row 1"),
        ("w", [0, 0, 0], "array 'w': all weights are zero"),
        ("y", [1, 0, 1], r"array 'y': several labels are numbers 0 or 1 of the shape"),
        ("y", [[1, 0], [0, 3], [1, 1]], r"array 'y': a label holds .* at index \(1, 1\) stands 3"),
    ):
        path = write(tmp_path / "b.npz", **{**arrays, name: values})
        with pytest.raises(DataError, match=message):
            load(path, None, "multilabel", "w")


def test_more_classes_than_a_network_can_have(tmp_path: Path) -> None:
    path = write(tmp_path / "a.npz", x=np.zeros((10_001, 1)), y=np.arange(10_001))
    spec = from_values({"data": {"source": "npz", "path": str(path)}, "network": "mlp"})
    with pytest.raises(DataError, match=r"10,001 different values, .* at most 10,000 classes"):
        load_dataset(spec.data, 0)
