"""Tiny-ImageNet's folders in small, and the real ones if they are there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from senn_cli.data import tiny_imagenet
from senn_cli.data.published import TINY_IMAGENET
from senn_cli.errors import DataError

WNIDS = ["n03", "n01", "n02"]
WORDS = {"n01": "goldfish, Carassius auratus", "n02": "crane", "n03": "crane, machine"}


def offline(text: str) -> None:
    raise AssertionError(f"a download was tried: {text}")


def put(path: Path, value: int, mode: str = "RGB") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", (8, 8), value).convert(mode).save(path, quality=95)


@pytest.fixture
def root(tmp_path: Path, no_senn_data: Path) -> Path:
    """Three classes of twelve training images and two for the test; value 10 * class + number."""
    folder = tmp_path / "tiny-imagenet-200"
    for label, wnid in enumerate(sorted(WNIDS)):
        for i in range(12):
            mode = "L" if i == 5 else "RGB"
            put(folder / "train" / wnid / "images" / f"{wnid}_{i}.JPEG", 50 * label + i, mode)
        (folder / "train" / wnid / f"{wnid}_boxes.txt").write_text("x\t0\t0\t1\t1\n")
    (folder / "wnids.txt").write_text("\n".join(WNIDS) + "\n")
    extra = {"n09": "not one of the classes"}
    words = "".join(f"{wnid}\t{name}\n" for wnid, name in (WORDS | extra).items())
    (folder / "words.txt").write_text(words)
    lines = []
    for i in range(6):
        put(folder / "val" / "images" / f"val_{i}.JPEG", 200 + i)
        lines.append(f"val_{i}.JPEG\t{WNIDS[i % 3]}\t0\t0\t7\t7\n")
    (folder / "val" / "val_annotations.txt").write_text("".join(lines))
    return tmp_path


def test_val_is_the_test_part(root: Path) -> None:
    source = tiny_imagenet.load(root, say=offline)
    assert source.test is not None
    assert source.train.x.shape == (36, 8, 8, 3)
    assert source.train.y.tolist() == [0] * 12 + [1] * 12 + [2] * 12
    assert source.train.x[:, 0, 0, 0].tolist() == [50 * c + i for c in range(3) for i in range(12)]
    # Classes are numbered by sorted identifier: n01, n02, n03.
    assert source.test.y.tolist() == [2, 0, 1, 2, 0, 1]
    assert source.test.x[:, 0, 0, 0].tolist() == list(range(200, 206))
    assert source.test.ids.tolist() == list(range(36, 42))
    # n03 comes first in wnids.txt; the second crane is told from it.
    assert source.classes == ("goldfish", "crane (n02)", "crane")
    assert len(source.notes) == 1


def test_some_classes_and_some_images_of_each(root: Path) -> None:
    first = tiny_imagenet.load(root, classes=2, per_class=3, say=offline)
    assert first.classes == ("goldfish", "crane")  # n03 and n01, the first in wnids.txt
    assert first.train.x[:, 0, 0, 0].tolist() == [0, 1, 2, 100, 101, 102]
    assert first.test is not None
    assert first.test.x[:, 0, 0, 0].tolist() == [200, 201, 203, 204]
    assert first.test.y.tolist() == [1, 0, 1, 0]
    assert first.notes == ()
    named = tiny_imagenet.load(root, classes=("crane", "n02"), say=offline)
    assert named.classes == ("crane (n02)", "crane")


def test_sizes_and_gray(root: Path) -> None:
    assert tiny_imagenet.load(root, size=4, channels=1, say=offline).train.x.shape == (36, 4, 4, 1)


def test_all_faulty_files_are_named(root: Path) -> None:
    folder = root / "tiny-imagenet-200"
    bad = [folder / "train/n02/images/n02_7.JPEG", folder / "val/images/val_4.JPEG"]
    bad[0].write_bytes(bad[0].read_bytes()[:100])
    bad[1].unlink()
    with pytest.raises(DataError, match="2 images are faulty, of 42") as caught:
        tiny_imagenet.load(root, say=offline)
    assert all(str(path) in caught.value.message for path in bad)


def test_faults_of_lists(root: Path) -> None:
    folder = root / "tiny-imagenet-200"
    with pytest.raises(DataError, match=r"asks for 4 classes, but .*wnids\.txt has 3"):
        tiny_imagenet.load(root, classes=4, say=offline)
    with pytest.raises(DataError, match="names 'fish', which is no class"):
        tiny_imagenet.load(root, classes=("n01", "fish"), say=offline)
    with pytest.raises(DataError, match="names n01 twice: as 'n01' and 'goldfish'"):
        tiny_imagenet.load(root, classes=("n01", "goldfish"), say=offline)
    file = folder / "val" / "val_annotations.txt"
    good = file.read_text()
    for wrong in ("val_9.JPEG\tn09\n", "val_9.JPEG\n", "../x.JPEG\tn01\n"):
        file.write_text(good + wrong)
        with pytest.raises(DataError, match=r"val_annotations\.txt:7: should be a file name"):
            tiny_imagenet.load(root, say=offline)
    file.write_text(good)
    for image in (folder / "train/n01/images").iterdir():
        image.unlink()
    with pytest.raises(DataError, match="images holds no images"):
        tiny_imagenet.load(root, say=offline)


@pytest.fixture
def real(data_root: Path) -> Path:
    if not (data_root / TINY_IMAGENET.folder).is_dir():
        pytest.skip(f"SENN_DATA has no folder {TINY_IMAGENET.folder}")
    return data_root


def test_the_real_files(real: Path) -> None:
    source = tiny_imagenet.load(real, classes=20, per_class=100, say=offline)
    assert source.test is not None
    assert source.train.x.shape == (2000, 64, 64, 3)
    assert np.bincount(source.train.y).tolist() == [100] * 20
    assert np.bincount(source.test.y).tolist() == [50] * 20  # 10,000 images of 200 classes
    gray = (source.train.x == source.train.x[..., :1]).all(axis=(1, 2, 3))
    assert 0 < gray.sum() < 200
    assert "Egyptian cat" in source.classes  # n02124075, the first of wnids.txt
