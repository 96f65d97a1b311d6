"""Unpacking a downloaded archive: all or nothing, and only what lies below one folder."""

from __future__ import annotations

import os
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from senn_cli.errors import DataError


def unpack(archive: Path, directory: Path, folder: str) -> Path:
    """Unpacks `folder` of an archive into `directory`.

    The folder appears under its name when it is complete; nothing is left after a failure. Regular
    files below `folder` are written and nothing else: links, absolute names and names with `..` are
    refused, so that an archive can't write elsewhere.

    Args:
      archive: a zip file, or a tar file with any compression.
      directory: where to put the folder; it must not contain it yet.
      folder: the archive's own top folder.

    Returns:
      `directory / folder`.

    Raises:
      DataError: the archive is damaged, holds what is refused, or the disk cannot take it.
    """
    target = directory / folder
    try:
        temporary = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=directory))
    except OSError as error:
        raise DataError(f"{directory} cannot be written: {error.strerror or error}") from error
    try:
        members = _zipped if zipfile.is_zipfile(archive) else _tarred
        for name, content in members(archive):
            path = temporary / _safe(archive, name, folder)
            path.parent.mkdir(parents=True, exist_ok=True)
            with content, path.open("wb") as file:
                shutil.copyfileobj(content, file)
        if not (temporary / folder).is_dir():
            raise DataError(f"{archive} holds no folder {folder}")
        os.replace(temporary / folder, target)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise DataError(f"{archive} is damaged: {error}") from error
    except OSError as error:
        raise DataError(f"{archive} cannot be unpacked: {error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


def _safe(archive: Path, name: str, folder: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or path.parts[:1] != (folder,):
        raise DataError(f"{archive} holds {name!r}, which does not lie below {folder}")
    return path


def _tarred(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isdir():
                continue
            content = tar.extractfile(member) if member.isreg() else None
            if content is None:
                raise DataError(f"{archive} holds {member.name!r}, which is no regular file")
            yield member.name, content


def _zipped(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(archive) as packed:
        for member in packed.infolist():
            if member.is_dir():
                continue
            kind = stat.S_IFMT(member.external_attr >> 16)
            if kind not in (0, stat.S_IFREG):
                raise DataError(f"{archive} holds {member.filename!r}, which is no regular file")
            yield member.filename, packed.open(member)
