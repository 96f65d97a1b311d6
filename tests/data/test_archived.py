"""Sets that are published as one archive: where they are looked for, and their download."""

from __future__ import annotations

import hashlib
import io
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from senn_cli.data import archived, fetch
from senn_cli.data.catalogue import entries
from senn_cli.data.published import ARCHIVES, CIFAR10, CIFAR100, Archive
from senn_cli.errors import DataError

pytestmark = pytest.mark.usefixtures("no_senn_data")


def offline(text: str) -> None:
    raise AssertionError(f"a download was tried: {text}")


def put(folder: Path, archive: Archive = CIFAR10) -> Path:
    for name in archive.needed:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return folder


@pytest.mark.parametrize(
    "below", ["cifar-10-batches-bin", "cifar10/cifar-10-batches-bin", "cifar10", ""]
)
@pytest.mark.parametrize("by_environment", [True, False])
def test_places(
    tmp_path: Path, below: str, by_environment: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "data" / below)
    root: Path | None = tmp_path / "data"
    if by_environment:
        monkeypatch.setenv("SENN_DATA", str(root))
        root = None
    assert archived.locate(CIFAR10, root, say=offline) == tmp_path / "data" / below


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="no cifar10 files; looked for batches") as caught:
        archived.find(CIFAR10, tmp_path)
    assert caught.value.hint == "download them with: senn data fetch cifar10"
    folder = put(tmp_path / "cifar-10-batches-bin")
    (folder / "data_batch_4.bin").unlink()
    with pytest.raises(DataError, match=r"cifar-10-batches-bin lacks data_batch_4\.bin$"):
        archived.find(CIFAR10, tmp_path)
    monkeypatch.setenv("SENN_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"lacks data_batch_4\.bin$"):
        archived.find(CIFAR10, None)


def test_a_stranger_s_train_folder_is_not_taken_for_a_damaged_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train").mkdir()
    monkeypatch.setenv("SENN_DATA", str(tmp_path))
    assert archived.find(ARCHIVES["tiny_imagenet"], None) is None


@pytest.fixture
def mirrored(server: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A small archive with the files of CIFAR-100, on the second of two mirrors."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as file:
        for name in CIFAR100.needed:
            info = tarfile.TarInfo(f"{CIFAR100.folder}/{name}")
            info.size = len(name)
            file.addfile(info, io.BytesIO(name.encode()))
    server.content[f"/good/{CIFAR100.file}"] = content.getvalue()
    server.content[f"/bad/{CIFAR100.file}"] = b"<html>Moved</html>"
    small = replace(
        CIFAR100,
        mirrors=(server.mirror("bad"), server.mirror("good")),
        md5=hashlib.md5(content.getvalue(), usedforsecurity=False).hexdigest(),
    )
    monkeypatch.setitem(ARCHIVES, "cifar100", small)
    return server


def test_downloaded_unpacked_and_found_again(mirrored: Any, no_senn_data: Path) -> None:
    archive, said = ARCHIVES["cifar100"], []
    assert not archived.cached(archive)
    folder = archived.locate(archive, None, say=said.append)
    assert folder == no_senn_data / "data" / "cifar100" / "cifar-100-binary"
    assert (folder / "train.bin").read_bytes() == b"train.bin"
    assert [path.name for path in folder.parent.iterdir()] == ["cifar-100-binary"]
    assert archived.cached(archive)
    assert len(mirrored.requests) == 2
    assert any("a web page" in line and "md5" in line for line in said)
    assert archived.locate(archive, None, say=offline) == folder


def test_a_damaged_folder_of_the_cache_is_replaced(mirrored: Any, no_senn_data: Path) -> None:
    folder = archived.locate(ARCHIVES["cifar100"], None, say=[].append)
    (folder / "test.bin").unlink()
    archived.locate(ARCHIVES["cifar100"], None, say=[].append)
    assert (folder / "test.bin").exists()


def test_a_failed_download_names_both_hashes_and_leaves_nothing(
    mirrored: Any, no_senn_data: Path
) -> None:
    del mirrored.content[f"/good/{CIFAR100.file}"]
    with pytest.raises(DataError) as caught:
        archived.locate(ARCHIVES["cifar100"], None, say=[].append)
    assert caught.value.title == "Download"
    page = hashlib.md5(b"<html>Moved</html>", usedforsecurity=False).hexdigest()
    assert page in caught.value.message
    assert ARCHIVES["cifar100"].md5 in caught.value.message
    assert "cifar-100-binary" in str(caught.value.hint)
    assert [path for path in no_senn_data.rglob("*") if path.is_file()] == []


def test_fetch_into_a_directory_replaces_nothing(mirrored: Any, tmp_path: Path) -> None:
    directory = fetch.fetch("cifar100", tmp_path / "here", say=[].append)
    assert directory == tmp_path / "here" / "cifar100"
    assert archived.find(CIFAR100, tmp_path / "here") == directory / "cifar-100-binary"
    (directory / "cifar-100-binary" / "train.bin").unlink()
    with pytest.raises(DataError, match=r"exists, but lacks train\.bin"):
        fetch.fetch("cifar100", tmp_path / "here", say=offline)
    other = tmp_path / "there" / "cifar100"
    other.mkdir(parents=True)
    (other / CIFAR100.file).write_bytes(b"mine")
    with pytest.raises(DataError, match="is not the published file: its md5 is"):
        fetch.fetch("cifar100", tmp_path / "there", say=offline)
    assert (other / CIFAR100.file).read_bytes() == b"mine"


def test_an_archive_that_was_there_is_used_and_kept(mirrored: Any, tmp_path: Path) -> None:
    directory = tmp_path / "here" / "cifar100"
    directory.mkdir(parents=True)
    packed = mirrored.content[f"/good/{CIFAR100.file}"]
    (directory / CIFAR100.file).write_bytes(packed)
    fetch.fetch("cifar100", tmp_path / "here", say=[].append)
    assert mirrored.requests == []
    assert (directory / CIFAR100.file).read_bytes() == packed
    assert (directory / "cifar-100-binary" / "test.bin").exists()


def test_the_catalogue_and_the_fetchable_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sets = ("mnist", "fashion_mnist", "cifar10", "cifar100", "tiny_imagenet")
    assert fetch.fetchable() == sets
    listed = {entry.name: entry for entry in entries()}
    assert set(sets) < set(listed)
    assert not any(listed[name].available for name in sets)
    assert listed["cifar10"].where == "to be downloaded, 170 MB"
    assert listed["folder"].available
    put(tmp_path / "data" / "cifar-10-batches-bin")
    monkeypatch.setenv("SENN_DATA", str(tmp_path / "data"))
    listed = {entry.name: entry for entry in entries()}
    assert listed["cifar10"].available
    assert listed["cifar10"].where == f"SENN_DATA={tmp_path / 'data'}"
    (tmp_path / "data" / "cifar-10-batches-bin" / "test_batch.bin").unlink()
    broken = {entry.name: entry for entry in entries()}["cifar10"]
    assert not broken.available
    assert "lacks test_batch.bin" in broken.where


def test_published_facts_are_complete() -> None:
    for name, archive in ARCHIVES.items():
        assert archive.name == name
        assert len(bytes.fromhex(archive.md5)) == 16
        assert all(mirror.endswith("/") for mirror in archive.mirrors)
