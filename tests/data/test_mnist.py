from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from senn_cli.data import mnist
from senn_cli.data.published import FILES, MNIST, PUBLISHED
from senn_cli.errors import DataError

pytestmark = pytest.mark.usefixtures("no_senn_data")
Write = Callable[..., Path]


def offline(text: str) -> None:
    raise AssertionError(f"a download was tried: {text}")


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("dotted", [True, False])
@pytest.mark.parametrize("folder", ["", "mnist", "MNIST/raw"])
def test_root_in_every_layout(
    tmp_path: Path, write_idx: Write, packed: bool, dotted: bool, folder: str
) -> None:
    write_idx(tmp_path / "data" / folder, packed=packed, dotted=dotted)
    source = mnist.load("mnist", tmp_path / "data", say=offline)
    assert source.test is not None
    assert source.train.x.shape == (30, 3, 2)
    assert source.train.x.dtype == np.uint8
    assert source.train.y.tolist() == [*range(10)] * 3
    assert source.train.y.dtype == np.int32
    assert source.test.ids.tolist() == list(range(30, 40))


@pytest.mark.parametrize("folder", ["", "fashion_mnist", "fashion-mnist"])
def test_the_environment_variable(
    tmp_path: Path, write_idx: Write, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_idx(tmp_path / "data" / folder)
    monkeypatch.setenv("SENN_DATA", str(tmp_path / "data"))
    source = mnist.load("fashion_mnist", None, say=offline)
    assert len(source.train) == 30
    assert source.classes[9] == "Ankle boot"


def test_the_named_folder_comes_before_the_directory_itself(
    tmp_path: Path, write_idx: Write
) -> None:
    write_idx(tmp_path / "mnist")
    write_idx(tmp_path)
    files = mnist.find(MNIST, tmp_path)
    assert files is not None
    assert {path.parent for path in files.values()} == {tmp_path / "mnist"}


def test_a_root_without_the_files_is_an_error_that_names_the_places(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no mnist files") as caught:
        mnist.load("mnist", tmp_path, say=offline)
    assert str(tmp_path / "mnist") in caught.value.message
    assert caught.value.hint == "download them with: senn data fetch mnist"


def test_a_missing_file_is_named(tmp_path: Path, write_idx: Write) -> None:
    write_idx(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(DataError, match="lacks t10k-labels-idx1-ubyte"):
        mnist.load("mnist", tmp_path, say=offline)


@pytest.fixture
def mirrored(server: Any, small_idx: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Any:
    """The small files as the published ones, on a mirror of this machine."""
    for name, content in small_idx.items():
        server.content[f"/good/{name}.gz"] = content
    small = replace(
        MNIST,
        mirrors=(server.mirror("bad"), server.mirror("good")),
        sha256={name: hashlib.sha256(content).hexdigest() for name, content in small_idx.items()},
    )
    monkeypatch.setitem(PUBLISHED, "mnist", small)
    return server


def test_downloads_into_the_cache_once(mirrored: Any, no_senn_data: Path) -> None:
    said: list[str] = []
    source = mnist.load("mnist", None, say=said.append)
    assert len(source.train) == 30
    names = sorted(path.name for path in no_senn_data.rglob("*") if path.is_file())
    assert names == sorted(f"{name}.gz" for name in FILES)
    assert mnist.cached(PUBLISHED["mnist"])
    assert len(mnist.load("mnist", None, say=offline).train) == 30
    assert len(mirrored.requests) == 8


def test_senn_data_without_the_files_falls_back_to_a_download(
    mirrored: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SENN_DATA", str(tmp_path / "nothing"))
    assert len(mnist.load("mnist", None, say=[].append).train) == 30


def test_a_failed_download_says_what_to_do_without_a_connection(
    mirrored: Any, no_senn_data: Path
) -> None:
    mirrored.content.clear()
    with pytest.raises(DataError) as caught:
        mnist.load("mnist", None, say=[].append)
    assert caught.value.title == "Download"
    assert "SENN_DATA" in str(caught.value.hint)
    assert [path for path in no_senn_data.rglob("*") if path.is_file()] == []


def relabel(path: Path, labels: np.ndarray) -> None:
    header = bytes([0, 0, 8, 1]) + len(labels).to_bytes(4, "big")
    path.write_bytes(gzip.compress(header + labels.astype("u1").tobytes()))


def test_labels_out_of_range_and_of_another_number_are_errors(
    tmp_path: Path, write_idx: Write
) -> None:
    labels = write_idx(tmp_path) / "train-labels-idx1-ubyte.gz"
    relabel(labels, np.full(30, 10))
    with pytest.raises(DataError, match="row 0 has the label 10"):
        mnist.load("mnist", tmp_path, say=offline)
    relabel(labels, np.zeros(29))
    with pytest.raises(DataError, match=r"labels of shape \(29,\) for the 30 images"):
        mnist.load("mnist", tmp_path, say=offline)


def test_the_files_of_the_other_data_set_are_refused(
    tmp_path: Path, write_idx: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The small files have three examples a class; let that be what Fashion-MNIST is known by.
    fashion = replace(PUBLISHED["fashion_mnist"], train_counts=(3,) * 10)
    monkeypatch.setitem(PUBLISHED, "fashion_mnist", fashion)
    with pytest.raises(DataError, match="belongs to fashion_mnist, not to mnist"):
        mnist.load("mnist", write_idx(tmp_path), say=offline)


def test_published_facts_are_complete() -> None:
    sums = [sum_ for published in PUBLISHED.values() for sum_ in published.sha256.values()]
    assert len(set(sums)) == 8
    assert all(len(bytes.fromhex(sum_)) == 32 for sum_ in sums)
    for published in PUBLISHED.values():
        assert set(published.sha256) == set(FILES)
        assert sum(published.train_counts) == 60_000
        assert len(published.classes) == len(published.train_counts) == 10
        assert all(mirror.endswith("/") for mirror in published.mirrors)
