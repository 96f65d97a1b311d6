from __future__ import annotations

import os
from pathlib import Path

import pytest

from senn_cli.runs.files import nearest_existing, why_not_writable, write_atomic


def test_the_file_is_replaced_and_nothing_else_stays(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    write_atomic(path, "one\r\n")
    write_atomic(path, "zwölf\n")
    assert path.read_bytes() == "zwölf\n".encode()
    assert os.listdir(tmp_path) == ["summary.json"]


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write_atomic(tmp_path / "a", "")
    finally:
        os.umask(old)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_a_failure_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "summary.json"
    write_atomic(path, "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomic(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["summary.json"]


def test_the_nearest_existing_parent(tmp_path: Path) -> None:
    assert nearest_existing(tmp_path / "a" / "b") == tmp_path
    assert nearest_existing(tmp_path) == tmp_path


def test_a_writable_place_is_left_as_it_was(tmp_path: Path) -> None:
    assert why_not_writable(tmp_path / "not" / "yet") is None
    assert os.listdir(tmp_path) == []


def test_a_file_is_no_place_for_files(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert why_not_writable(file / "below") == f"{file} is not a directory"


def test_why_a_place_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "open", read_only)
    assert why_not_writable(tmp_path) == f"{tmp_path}: Read-only file system"
