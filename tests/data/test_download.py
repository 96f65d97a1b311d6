from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from senn_cli.data.download import download
from senn_cli.errors import DataError

GOOD = b"the right content" * 1000
PAGE = b"<!DOCTYPE html><title>Moved</title>"
SHA = hashlib.sha256(GOOD).hexdigest()
PAGE_SHA = hashlib.sha256(PAGE).hexdigest()


def everything(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]


def fetch(
    directory: Path, mirrors: list[str], said: list[str] | None = None, **options: Any
) -> Path:
    said = [] if said is None else said
    return download("a.gz", SHA, mirrors, directory, say=said.append, **options)


def test_downloads_once(server: Any, tmp_path: Path) -> None:
    server.content["/one/a.gz"] = GOOD
    for _ in range(2):
        assert fetch(tmp_path / "new", [server.mirror("one")]).read_bytes() == GOOD
    assert server.requests == ["/one/a.gz"]
    assert [path.name for path in everything(tmp_path)] == ["a.gz"]


def test_the_next_mirror_is_tried_after_an_error_page_a_cut_and_a_404(
    server: Any, tmp_path: Path
) -> None:
    server.content |= {"/page/a.gz": PAGE, "/cut/a.gz": GOOD, "/good/a.gz": GOOD}
    server.cut.add("/cut/a.gz")
    said: list[str] = []
    mirrors = [server.mirror(name) for name in ("absent", "page", "cut", "good")]
    assert fetch(tmp_path, mirrors, said).read_bytes() == GOOD
    assert server.requests == ["/absent/a.gz", "/page/a.gz", "/cut/a.gz", "/good/a.gz"]
    assert [path.name for path in everything(tmp_path)] == ["a.gz"]
    assert sum("failed" in line for line in said) == 3


def test_failure_names_every_mirror_and_both_hashes_and_leaves_nothing(
    server: Any, tmp_path: Path
) -> None:
    server.content |= {"/page/a.gz": PAGE, "/cut/a.gz": GOOD}
    server.cut.add("/cut/a.gz")
    mirrors = [server.mirror(name) for name in ("page", "cut", "absent")]
    with pytest.raises(DataError) as caught:
        fetch(tmp_path, mirrors)
    message = caught.value.message
    assert SHA in message
    assert PAGE_SHA in message
    assert f"a web page of {len(PAGE)} bytes" in message
    assert "404" in message
    assert all(f"{mirror}a.gz" in message for mirror in mirrors)
    assert everything(tmp_path) == []


def test_an_unreachable_host_is_a_fault_of_the_mirror(server: Any, tmp_path: Path) -> None:
    server.content["/good/a.gz"] = GOOD
    said: list[str] = []
    path = fetch(tmp_path, ["http://127.0.0.1:1/", server.mirror("good")], said)
    assert path.read_bytes() == GOOD
    assert said[1] == "  failed: no connection to 127.0.0.1:1"


def test_a_damaged_file_in_the_cache_is_replaced(server: Any, tmp_path: Path) -> None:
    server.content["/good/a.gz"] = GOOD
    (tmp_path / "a.gz").write_bytes(GOOD[:100])
    assert fetch(tmp_path, [server.mirror("good")]).read_bytes() == GOOD


def test_a_damaged_file_in_the_cache_is_removed_when_no_mirror_helps(
    server: Any, tmp_path: Path
) -> None:
    (tmp_path / "a.gz").write_bytes(GOOD[:100])
    with pytest.raises(DataError, match="404"):
        fetch(tmp_path, [server.mirror("absent")])
    assert everything(tmp_path) == []


def test_a_file_of_the_users_is_left_alone(server: Any, tmp_path: Path) -> None:
    server.content["/good/a.gz"] = GOOD
    (tmp_path / "a.gz").write_bytes(b"mine")
    with pytest.raises(DataError, match="is not the published file") as caught:
        fetch(tmp_path, [server.mirror("good")], replace=False)
    assert SHA in caught.value.message
    assert hashlib.sha256(b"mine").hexdigest() in caught.value.message
    assert (tmp_path / "a.gz").read_bytes() == b"mine"
    assert server.requests == []


def test_a_directory_that_cannot_be_made_is_named(server: Any, tmp_path: Path) -> None:
    server.content["/good/a.gz"] = GOOD
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match="cannot be written"):
        fetch(tmp_path / "file" / "cache", [server.mirror("good")])


def test_other_hashes(server: Any, tmp_path: Path) -> None:
    server.content["/one/a.gz"] = GOOD
    server.content["/bad/a.gz"] = PAGE
    md5 = hashlib.md5(GOOD, usedforsecurity=False).hexdigest()
    said: list[str] = []
    mirrors = [server.mirror("bad"), server.mirror("one")]
    path = download("a.gz", md5, mirrors, tmp_path, algorithm="md5", say=said.append)
    assert path.read_bytes() == GOOD
    page = hashlib.md5(PAGE, usedforsecurity=False).hexdigest()
    assert any(f"with md5 {page}, expected md5 {md5}" in line for line in said)
