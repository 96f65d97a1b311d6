"""Data sets that the library `datasets` wrote to disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from senn_cli.data import huggingface
from senn_cli.data.dataset import Source
from senn_cli.errors import DataError
from senn_cli.spec.load import from_values
from senn_cli.spec.tables import HuggingfaceSpec

datasets = pytest.importorskip("datasets", reason="the package datasets is not installed")

TABLE = {"a": [1.5, 2, 3, 4], "city": ["Rome", "Oslo", "Rome", "Oslo"], "label": [1, 0, 1, 1]}
CLASSES = {"label": datasets.ClassLabel(names=["no", "yes"])}


def features(**columns: Any) -> Any:
    return datasets.Features(columns)


def table(**more: Any) -> Any:
    kinds = {"a": datasets.Value("float64"), "city": datasets.Value("string"), **CLASSES}
    return datasets.Dataset.from_dict({**TABLE, **more}, features=features(**kinds))


def pictures(*images: Any) -> Any:
    kinds = features(image=datasets.Image(), **CLASSES)
    rows = {"image": list(images), "label": [n % 2 for n in range(len(images))]}
    return datasets.Dataset.from_dict(rows, features=kinds)


def load(dataset: Any, place: Path, **more: Any) -> Source:
    dataset.save_to_disk(str(place / "set"))
    return opened(path=str(place / "set"), **more)


def opened(**section: Any) -> Source:
    spec = from_values({"data": {"source": "huggingface", **section}, "network": "mlp"}).data
    assert isinstance(spec, HuggingfaceSpec)
    return huggingface.load(spec)


def test_a_table_with_named_classes(tmp_path: Path) -> None:
    source = load(table(), tmp_path)
    assert source.train.x.tolist() == [[1.5, 1], [2, 0], [3, 1], [4, 0]]
    assert source.classes == ("no", "yes")
    assert source.train.y.tolist() == TABLE["label"]
    assert source.encoding is not None
    assert source.encoding.targets == ("label",)


def test_a_part_in_another_order(tmp_path: Path) -> None:
    assert load(table().select([3, 0]), tmp_path).train.x[:, 0].tolist() == [4, 1.5]


def test_splits(tmp_path: Path) -> None:
    rows = [table(a=[float(10 * n + k) for k in range(4)]) for n in range(4)]
    whole = datasets.DatasetDict(
        dict(zip(("train", "validation", "test", "more"), rows, strict=True))
    )
    source = load(whole, tmp_path)
    assert source.validation is not None and source.test is not None
    parts = (source.train, source.validation, source.test)
    assert [part.x[0, 0] for part in parts] == [0, 10, 20]
    assert [part.ids[0] for part in parts] == [0, 4, 8]
    place = {"path": str(tmp_path / "set")}
    other = opened(**place, split="more", test_split="train", validation_split=None)
    assert other.test is not None
    assert (other.train.x[0, 0], other.test.x[0, 0], other.validation) == (30, 0, None)
    for key in ("split", "test_split", "validation_split"):
        with pytest.raises(DataError, match=f"has no split 'absent', which data.{key} names"):
            opened(**place, **{key: "absent"})


def test_pictures(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (2, 4, 5, 3), dtype=np.uint8)
    source = load(pictures(*map(Image.fromarray, pixels)), tmp_path)
    np.testing.assert_array_equal(source.train.x, pixels)
    assert (source.train.x.dtype, source.encoding) == (np.uint8, None)
    assert source.classes == ("no", "yes")
    gray = pictures(*(Image.fromarray(image[..., 0]) for image in pixels))
    np.testing.assert_array_equal(load(gray, tmp_path / "g").train.x, pixels[..., 0])
    both = pictures(Image.fromarray(pixels[0]), Image.fromarray(pixels[1, ..., 0]))
    found = load(both, tmp_path / "b").train.x
    np.testing.assert_array_equal(found[1], np.repeat(pixels[1, ..., :1], 3, axis=2))


def test_arrays_and_vectors(tmp_path: Path) -> None:
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    rows = {"x": values.tolist(), "v": [[1.0, 2.0], [3.0, 4.0]], "y": [0.5, 1.5]}
    kinds = features(
        x=datasets.Array2D((3, 4), "float32"),
        v=datasets.List(datasets.Value("float32"), length=2),
        y=datasets.Value("float32"),
    )
    made = datasets.Dataset.from_dict(rows, features=kinds)
    source = load(made, tmp_path, columns=["x"], target="y", task="regression")
    np.testing.assert_array_equal(source.train.x, values)
    assert source.train.y.tolist() == [[0.5], [1.5]]
    table = load(made, tmp_path / "v", drop=["x"], target="y", task="regression")
    assert table.train.x.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(DataError, match=r"'x' holds images or arrays.*other columns: v"):
        load(made, tmp_path / "o", target="y", task="regression")


def test_faults(tmp_path: Path) -> None:
    small, large = Image.new("L", (4, 4)), Image.new("L", (5, 4))
    with pytest.raises(DataError, match="image of row 1 has 5x4 pixels, the first has 4x4"):
        load(pictures(small, large), tmp_path / "a")
    with pytest.raises(DataError, match="the image of row 1 is missing"):
        load(pictures(small, None), tmp_path / "b")
    with pytest.raises(DataError, match=r"row 1: the label of column 'label' is missing"):
        hidden = datasets.Dataset.from_dict(
            {"image": [small, small], "label": [0, -1]},
            features=features(image=datasets.Image(), **CLASSES),
        )
        load(hidden, tmp_path / "c")
    with pytest.raises(DataError, match="does not exist"):
        opened(path=str(tmp_path / "absent"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no data set that can be read"):
        opened(path=str(tmp_path / "empty"))
    with pytest.raises(DataError, match=r"data\.test_split is test, but .* has no splits"):
        load(table(), tmp_path / "d", test_split="test")


def test_a_named_set_with_its_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def fetched(*arguments: Any) -> Any:
        asked.append(arguments)
        return datasets.DatasetDict({"train": table(), "test": table()})

    monkeypatch.setattr(datasets, "load_dataset", fetched)
    source = opened(name="own/cats", config="small")
    assert set(asked) == {("own/cats", "small")}
    assert source.test is not None
    assert source.test.x.tolist() == source.train.x.tolist()


def test_a_name_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*arguments: Any) -> Any:
        raise ConnectionError("offline mode is enabled")

    monkeypatch.setattr(datasets, "load_dataset", offline)
    with pytest.raises(DataError, match=r"the data set own/cats is not in the cache.*offline"):
        opened(name="own/cats")
