"""Archives that are honest, damaged or hostile."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from senn_cli.data.archive import unpack
from senn_cli.errors import DataError


def tar(path: Path, members: dict[str, bytes | tarfile.TarInfo]) -> Path:
    with tarfile.open(path, "w:gz") as file:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                file.addfile(content)
                continue
            info = tarfile.TarInfo(name)
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
    return path


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def entries(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


MEMBERS = {"set/a.bin": b"one", "set/deep/b.bin": b"two"}


@pytest.mark.parametrize("make", [tar, zipped])
def test_everything_below_the_folder(tmp_path: Path, make: object) -> None:
    archive = make(tmp_path / "packed", MEMBERS)  # type: ignore[operator]
    assert unpack(archive, tmp_path, "set") == tmp_path / "set"
    assert (tmp_path / "set/a.bin").read_bytes() == b"one"
    assert (tmp_path / "set/deep/b.bin").read_bytes() == b"two"
    assert entries(tmp_path) == ["packed", "set"]


@pytest.mark.parametrize("make", [tar, zipped])
@pytest.mark.parametrize(
    "name", ["../evil", "set/../../evil", "/tmp/evil", "other/a", "set\\..\\a"]
)
def test_names_that_lead_elsewhere_are_refused(tmp_path: Path, make: object, name: str) -> None:
    archive = make(tmp_path / "packed", {**MEMBERS, name: b"x"})  # type: ignore[operator]
    with pytest.raises(DataError, match="does not lie below set"):
        unpack(archive, tmp_path, "set")
    assert entries(tmp_path) == ["packed"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(tmp_path: Path, kind: bytes) -> None:
    info = tarfile.TarInfo("set/link")
    info.type, info.linkname = kind, "/etc/passwd"
    with pytest.raises(DataError, match="no regular file"):
        unpack(tar(tmp_path / "packed", {**MEMBERS, "set/link": info}), tmp_path, "set")
    assert entries(tmp_path) == ["packed"]


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "packed", MEMBERS)
    with zipfile.ZipFile(archive, "a") as file:
        info = zipfile.ZipInfo("set/link")
        info.external_attr = 0o120777 << 16
        file.writestr(info, "/etc/passwd")
    with pytest.raises(DataError, match="no regular file"):
        unpack(archive, tmp_path, "set")


@pytest.mark.parametrize("make", [tar, zipped])
def test_a_cut_archive_leaves_nothing(tmp_path: Path, make: object) -> None:
    noise = bytes((i * i * 31) % 251 for i in range(50_000))
    archive = make(tmp_path / "packed", {"set/a": noise, "set/b": noise})  # type: ignore[operator]
    whole = archive.read_bytes()
    archive.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"is damaged|cannot be unpacked"):
        unpack(archive, tmp_path, "set")
    assert entries(tmp_path) == ["packed"]


def test_an_archive_without_the_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no folder set"):
        unpack(tar(tmp_path / "packed", {}), tmp_path, "set")
