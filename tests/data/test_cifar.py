"""CIFAR's binary files, written by their definition and read back; the real ones if there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from senn_cli.data import cifar, load_dataset
from senn_cli.data.published import CIFAR10
from senn_cli.errors import DataError
from senn_cli.spec.data import DataSpec

TEN = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def offline(text: str) -> None:
    raise AssertionError(f"a download was tried: {text}")


def write_ten(directory: Path, per_file: int = 20) -> np.ndarray:
    """Six small files; returns the images of all in order, (6 * per_file, 32, 32, 3)."""
    directory.mkdir(parents=True)
    (directory / "batches.meta.txt").write_text("\n".join(TEN) + "\n\n")
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (6 * per_file, 32, 32, 3), dtype=np.uint8)
    names = [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]
    for number, name in enumerate(names):
        content = b""
        for row in range(per_file):
            pixels = images[number * per_file + row]
            planes = b"".join(pixels[:, :, channel].tobytes() for channel in range(3))
            content += bytes([row % 10]) + planes
        (directory / name).write_bytes(content)
    return images


@pytest.fixture
def ten(tmp_path: Path) -> np.ndarray:
    return write_ten(tmp_path / "data" / "cifar-10-batches-bin")


@pytest.mark.usefixtures("no_senn_data")
def test_pixels_labels_and_names(tmp_path: Path, ten: np.ndarray) -> None:
    source = cifar.load_cifar10(tmp_path / "data", say=offline)
    assert source.test is not None
    assert source.train.x.flags.c_contiguous
    assert np.array_equal(source.train.x, ten[:100])
    assert np.array_equal(source.test.x, ten[100:])
    assert source.train.y.tolist() == [*range(10)] * 10
    assert source.train.y.dtype == np.int32
    assert source.test.ids.tolist() == list(range(100, 120))
    assert source.classes == tuple(TEN)
    assert source.notes == (
        "train: classes have 10 to 10 examples; in the published cifar10 each has 5000",
        "test: classes have 2 to 2 examples; in the published cifar10 each has 1000",
    )


@pytest.mark.usefixtures("no_senn_data", "ten")
def test_through_a_spec(tmp_path: Path) -> None:
    def load(**section: Any) -> Any:
        value = {"source": "cifar10", "root": tmp_path / "data", **section}
        return load_dataset(TypeAdapter(DataSpec).validate_python(value), 0)

    dataset = load(size=16, channels=1, normalize="per_channel", augment="paper")
    assert dataset.train.x.shape == (90, 16, 16, 1)
    assert dataset.shift.shape == (1, 1, 1)
    assert len(dataset.notes) == 2
    colored = load(normalize="per_channel")
    train = colored.train.x.astype(np.float64)
    np.testing.assert_allclose(colored.shift[0, 0], train.mean(axis=(0, 1, 2)), rtol=1e-6)
    np.testing.assert_allclose(colored.scale[0, 0], 1 / train.std(axis=(0, 1, 2)), rtol=1e-6)


@pytest.mark.usefixtures("no_senn_data", "ten")
def test_faults(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "cifar-10-batches-bin"
    file = folder / "data_batch_3.bin"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    with pytest.raises(DataError, match=r"data_batch_3\.bin has 61459 bytes, .* records of 3073"):
        cifar.load_cifar10(folder, say=offline)
    file.write_bytes(whole[: 3073 * 4] + bytes([10]) + whole[3073 * 4 + 1 :])
    with pytest.raises(DataError, match=r"data_batch_3\.bin: record 4 has the label 10"):
        cifar.load_cifar10(folder, say=offline)
    file.write_bytes(b"")
    with pytest.raises(DataError, match="has 0 bytes"):
        cifar.load_cifar10(folder, say=offline)
    file.write_bytes(whole)
    (folder / "batches.meta.txt").write_text("cat\ndog\n")
    with pytest.raises(DataError, match=r"meta\.txt should name 10 classes, one a line, found 2"):
        cifar.load_cifar10(folder, say=offline)


@pytest.mark.usefixtures("no_senn_data")
def test_fine_and_coarse_labels(tmp_path: Path) -> None:
    folder = tmp_path / "cifar-100-binary"
    folder.mkdir()
    (folder / "coarse_label_names.txt").write_text("\n".join(f"c{i}" for i in range(20)))
    (folder / "fine_label_names.txt").write_text("\n".join(f"f{i}" for i in range(100)))
    for name, count in (("train.bin", 100), ("test.bin", 100)):
        content = b"".join(bytes([row % 20, row]) + bytes([row]) * 3072 for row in range(count))
        (folder / name).write_bytes(content)
    fine = cifar.load_cifar100(tmp_path, say=offline)
    assert fine.train.y.tolist() == list(range(100))
    assert fine.classes[99] == "f99"
    assert (fine.train.x == np.arange(100).reshape(-1, 1, 1, 1)).all()
    coarse = cifar.load_cifar100(tmp_path, labels="coarse", say=offline)
    assert coarse.train.y.tolist() == [row % 20 for row in range(100)]
    assert coarse.classes == tuple(f"c{i}" for i in range(20))


@pytest.fixture
def real(data_root: Path) -> Path:
    if not (data_root / CIFAR10.folder).is_dir():
        pytest.skip(f"SENN_DATA has no folder {CIFAR10.folder}")
    return data_root


def test_the_real_files(real: Path) -> None:
    source = cifar.load_cifar10(real, say=offline)
    assert source.test is not None
    assert source.train.x.shape == (50_000, 32, 32, 3)
    assert source.test.x.shape == (10_000, 32, 32, 3)
    assert np.bincount(source.train.y).tolist() == [5000] * 10
    assert np.bincount(source.test.y).tolist() == [1000] * 10
    assert source.classes == tuple(TEN)
    assert source.notes == ()
    # The channel means that the literature reports, 125.3, 123.0 and 113.9.
    means = source.train.x.mean(axis=(0, 1, 2))
    np.testing.assert_allclose(means, [125.3, 123.0, 113.9], atol=0.5)
    # A picture in which rows or columns were exchanged is not as smooth.
    x = source.train.x[:2000].astype(np.float64)
    for axis in (1, 2):
        assert np.abs(np.diff(x, axis=axis)).mean() < 20
    # Ships and airplanes are on blue, frogs and deer are not.
    blue = x[..., 2].mean(axis=(1, 2)) - x[..., 0].mean(axis=(1, 2))
    y = source.train.y[:2000]
    assert blue[(y == 0) | (y == 8)].mean() > blue[(y == 4) | (y == 6)].mean() + 10
