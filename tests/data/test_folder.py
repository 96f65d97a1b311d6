"""Folders of images: layouts, parts, classes, and faults by path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pydantic import TypeAdapter

from senn_cli.data import Dataset, folder, load_dataset
from senn_cli.errors import DataError
from senn_cli.spec.data import DataSpec


def put(path: Path, value: int, size: tuple[int, int] = (4, 4)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", size, value).save(path)


def load(path: Path, **section: Any) -> Dataset:
    value = {"source": "folder", "path": path, **section}
    return load_dataset(TypeAdapter(DataSpec).validate_python(value), 0)


def values(part: Any) -> list[int]:
    """The gray values of a part's images, each of which is even."""
    assert (part.x == part.x[:, :1, :1, :1]).all()
    found: list[int] = part.x[:, 0, 0, 0].tolist()
    return found


@pytest.fixture
def flat(tmp_path: Path) -> Path:
    """Two classes of ten images, cats 0 to 9 and dogs 100 to 109, PNG and nested folders."""
    for i in range(10):
        put(tmp_path / "data" / "cat" / f"{i}.png", i)
        put(tmp_path / "data" / "dog" / "more" / f"{i}.png", 100 + i)
    return tmp_path / "data"


def test_class_folders_are_split_by_a_share(flat: Path) -> None:
    dataset = load(flat, test=0.2, validation=0.25)
    assert dataset.classes == ("cat", "dog")
    assert {name: len(part) for name, part in dataset.parts.items()} == {
        "train": 12,
        "validation": 4,
        "test": 4,
    }
    for part in dataset.parts.values():
        assert part.x.shape[1:] == (4, 4, 3)
        assert part.x.dtype == np.uint8
        assert [int(value >= 100) for value in values(part)] == part.y.tolist()
        assert np.ptp(np.bincount(part.y)) == 0
    everything = sorted(value for part in dataset.parts.values() for value in values(part))
    assert everything == [*range(10), *range(100, 110)]


def test_ids_are_places_in_the_order_of_paths(flat: Path) -> None:
    source = folder.load(flat, channels=1)
    assert source.train.ids.tolist() == list(range(20))
    assert values(source.train) == [*range(10), *range(100, 110)]
    dataset = load(flat)
    for part in dataset.parts.values():
        assert [source.train.x[i, 0, 0, 0] for i in part.ids] == values(part)


def layout(root: Path, *parts: str) -> Path:
    for number, part in enumerate(parts):
        for i in range(4):
            put(root / part / "a" / f"{i}.png", 50 * number + i)
            put(root / part / "b" / f"{i}.png", 50 * number + 10 + i)
    return root


@pytest.mark.parametrize("other", ["val", "test"])
def test_one_folder_beside_train_is_the_test_part(tmp_path: Path, other: str) -> None:
    dataset = load(layout(tmp_path, "train", other), validation=0.25)
    assert {name: len(part) for name, part in dataset.parts.items()} == {
        "train": 6,
        "validation": 2,
        "test": 8,
    }
    assert values(dataset.test) == [50, 51, 52, 53, 60, 61, 62, 63]
    assert sorted(values(dataset.train) + values(dataset.validation)) == [
        0,
        1,
        2,
        3,
        *range(10, 14),
    ]


def test_three_folders_are_the_three_parts(tmp_path: Path) -> None:
    dataset = load(layout(tmp_path, "train", "val", "test"))
    assert values(dataset.train) == [0, 1, 2, 3, 10, 11, 12, 13]
    assert dataset.validation is not None
    assert values(dataset.validation) == [50, 51, 52, 53, 60, 61, 62, 63]
    assert values(dataset.test) == [100, 101, 102, 103, 110, 111, 112, 113]
    rows = [row for part in dataset.parts.values() for row in part.ids.tolist()]
    assert sorted(rows) == list(range(24))
    assert load(tmp_path, validation=0).validation is None


@pytest.mark.parametrize("name", ["val", "Valid", "VALIDATION", "dev"])
@pytest.mark.parametrize("train", ["train", "Training"])
def test_validation_by_any_of_its_names_is_never_passed_over(
    tmp_path: Path, train: str, name: str
) -> None:
    dataset = load(layout(tmp_path, train, name))
    assert values(dataset.test) == [50, 51, 52, 53, 60, 61, 62, 63]
    (told,) = dataset.notes
    assert told == f"{tmp_path}: {train} is the train part (8), {name} is the test part (8)"
    dataset = load(layout(tmp_path, train, name, "Testing"))
    assert dataset.validation is not None
    assert values(dataset.validation) == [50, 51, 52, 53, 60, 61, 62, 63]
    assert values(dataset.test) == [100, 101, 102, 103, 110, 111, 112, 113]
    assert f"{name} is the validation part (8), Testing is the test part (8)" in dataset.notes[0]


def test_capitals_make_no_two_classes_of_train_and_test(tmp_path: Path) -> None:
    dataset = load(layout(tmp_path, "Train", "Test"))
    assert dataset.classes == ("a", "b")
    assert len(dataset.test) == 8


def test_a_folder_beside_the_parts_is_an_error_that_names_it(tmp_path: Path) -> None:
    layout(tmp_path, "train", "holdout")
    with pytest.raises(DataError) as caught:
        load(tmp_path)
    assert caught.value.message.startswith(f"{tmp_path / 'holdout'} lies beside {tmp_path}/train")
    (tmp_path / "holdout").rename(tmp_path / "__MACOSX")
    assert len(load(tmp_path, test=2, validation=0).train) == 6


def test_parts_that_are_ambiguous_or_lack_one_to_train_on(tmp_path: Path) -> None:
    layout(tmp_path, "val", "Valid", "train")
    with pytest.raises(DataError, match=r"Valid and .*val both name the val part"):
        load(tmp_path)
    (tmp_path / "train").rename(tmp_path / "test")
    with pytest.raises(DataError, match="but no folder to train on") as caught:
        load(tmp_path)
    assert caught.value.hint == f"call it {tmp_path / 'train'}"


def test_a_class_may_be_called_like_a_part(tmp_path: Path) -> None:
    assert load(layout(tmp_path / "x", ""), test=2).classes == ("a", "b")
    for name in ("dev", "prod"):
        for i in range(4):
            put(tmp_path / name / f"{i}.png", i)
    (tmp_path / "x").rename(tmp_path / ".x")
    assert load(tmp_path, test=2, validation=0).classes == ("dev", "prod")


def test_a_train_folder_alone_is_split(tmp_path: Path) -> None:
    dataset = load(layout(tmp_path, "train"), test=2, validation=2)
    assert {name: len(part) for name, part in dataset.parts.items()} == {
        "train": 4,
        "validation": 2,
        "test": 2,
    }


def test_one_size_and_one_channel(tmp_path: Path, flat: Path) -> None:
    put(flat / "cat" / "large.png", 55, (30, 20))
    with pytest.raises(DataError, match="the images differ in size"):
        load(flat)
    dataset = load(flat, size=6, channels=1)
    assert dataset.train.x.shape[1:] == (6, 6, 1)
    assert dataset.inputs == 36


def test_every_faulty_file_is_named_by_its_path(flat: Path) -> None:
    (flat / "cat" / "notes.txt").write_text("hello")
    whole = (flat / "dog" / "more" / "3.png").read_bytes()
    (flat / "dog" / "more" / "3.png").write_bytes(whole[: len(whole) - 30])
    with pytest.raises(DataError, match="2 images are faulty, of 21") as caught:
        load(flat)
    assert str(flat / "cat" / "notes.txt") in caught.value.message
    assert str(flat / "dog" / "more" / "3.png") in caught.value.message


def test_hidden_files_and_leftovers_of_systems_are_passed_over(flat: Path) -> None:
    for name in (".DS_Store", "cat/.hidden", "cat/Thumbs.db", "dog/desktop.ini"):
        (flat / name).write_text("x")
    (flat / ".git").mkdir()
    assert folder.load(flat).classes == ("cat", "dog")
    assert len(folder.load(flat).train) == 20


def test_layouts_that_are_wrong(tmp_path: Path, flat: Path) -> None:
    with pytest.raises(DataError, match=r"data\.path: .* does not exist"):
        folder.load(tmp_path / "absent")
    with pytest.raises(DataError, match="is a file, not a directory"):
        folder.load(flat / "cat" / "0.png")
    with pytest.raises(DataError, match="has no class folders"):
        folder.load(flat / "cat")
    (flat / "fox").mkdir()
    with pytest.raises(DataError, match="fox holds no images"):
        folder.load(flat)


def test_classes_of_the_parts_must_agree(tmp_path: Path) -> None:
    root = layout(tmp_path, "train", "test")
    (root / "test" / "b").rename(root / "test" / "bb")
    with pytest.raises(DataError, match=r"bb is a class that .*train does not have") as caught:
        folder.load(root)
    assert caught.value.hint == "did you mean 'b'?"


def test_a_class_may_be_absent_from_the_test_part(tmp_path: Path) -> None:
    root = layout(tmp_path, "train", "test")
    for file in (root / "test" / "b").iterdir():
        file.unlink()
    assert load(root).test.y.tolist() == [0] * 4
    for file in (root / "test" / "a").iterdir():
        file.unlink()
    with pytest.raises(DataError, match="test holds no images"):
        load(root)


def test_a_channel_s_scaling_and_augmentation(flat: Path) -> None:
    assert load(flat, normalize="per_channel", augment="paper").shift.shape == (1, 1, 3)
