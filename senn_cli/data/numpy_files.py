"""NumPy's files, `.npz` and `.npy`, one array at a time. Pickled objects are never loaded."""

from __future__ import annotations

import contextlib
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.errors import DataError
from senn_cli.given import TABLE, looks_like, require_file

MAPPED = 1 << 30
"""Bytes from which on an array that is not compressed stays in its file: rows are read from there
when they are asked for."""

_ANY = Exception
"""What a damaged file can raise in NumPy, zipfile and zlib: almost anything."""


@dataclass(frozen=True)
class Archive:
    """An open archive of named arrays.

    Attributes:
      path: of the file.
      names: of its arrays, in order.
    """

    path: Path
    names: tuple[str, ...]
    _file: np.lib.npyio.NpzFile

    def take(self, name: str, near: str = "did you mean {!r}?", other: str = "") -> Array:
        """The array of that name.

        Args:
          near: the hint where one of a similar name is there, which stands for `{!r}`.
          other: the hint where none is.

        Raises:
          DataError: there is none, it is damaged, or it holds Python objects.
        """
        if name not in self.names:
            listed = ", ".join(map(repr, self.names)) or "none"
            close = get_close_matches(name, self.names, n=1)
            raise DataError(
                f"{self.path} has no array {name!r}; it has {listed}",
                hint=near.format(close[0]) if close else other or None,
            )
        try:
            mapped = _mapped(self.path, self._file, name)
            return np.asarray(self._file[name]) if mapped is None else mapped
        except MemoryError:
            raise
        except _ANY as error:
            what = f"{self.path}, array {name!r}"
            if "allow_pickle" in str(error):
                raise _objects(what) from error
            raise DataError(
                f"{what} is damaged: {_told(error)}", hint="Write the file again."
            ) from error


def _mapped(path: Path, file: np.lib.npyio.NpzFile, name: str) -> np.memmap[Any, Any] | None:
    """A large array that is stored as it is, mapped; None for what is to be read."""
    archive = file.zip
    assert archive is not None
    member = archive.getinfo(name if name in archive.namelist() else f"{name}.npy")
    if member.compress_type != zipfile.ZIP_STORED or member.file_size < MAPPED:
        return None
    with path.open("rb") as raw:
        raw.seek(member.header_offset + 26)
        lengths = struct.unpack("<HH", raw.read(4))  # of the name and what follows it
        raw.seek(member.header_offset + 30 + sum(lengths))
        version = np.lib.format.read_magic(raw)
        read = np.lib.format.read_array_header_1_0
        if version != (1, 0):
            read = np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(raw)
        if dtype.hasobject or fortran:
            return None
        return np.memmap(path, dtype, "r", raw.tell(), shape)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Archive | Array]:
    """The archive in a file, or the single array.

    Raises:
      DataError: it cannot be read, is no file of NumPy's, is damaged, or holds Python objects.
    """
    require_file(path)
    try:
        file = path.open("rb")  # NumPy leaves a file open that turns out to be damaged
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {_told(error)}") from error
    with file:
        found = _loaded(file, path)
        if not isinstance(found, np.lib.npyio.NpzFile):
            yield np.asarray(found)
            return
        with found:
            yield Archive(path, tuple(found.files), found)


def _loaded(file: BinaryIO, path: Path) -> Array | np.lib.npyio.NpzFile:
    try:
        found: Array | np.lib.npyio.NpzFile = np.load(file, allow_pickle=False)
    except MemoryError:
        raise
    except _ANY as error:
        raise _no_numpy(path, error) from error
    return found


def _no_numpy(path: Path, error: Exception) -> DataError:
    """What is wrong with a file that NumPy cannot open, from what it looks like."""
    like = looks_like(path)
    if like in ("a zip archive", "a single NumPy array (.npy)"):
        if "allow_pickle" in str(error):
            return _objects(str(path))
        # zipfile finds the table of contents at the end.
        cut = isinstance(error, zipfile.BadZipFile) and "not a zip file" in str(error)
        told = "the end of the archive is missing" if cut else _told(error)
        return DataError(
            f"{path} is damaged or incomplete: {told}",
            hint="Copy or write it again; a download that was interrupted ends too early.",
        )
    if like == "an empty file":
        return DataError(f"{path} is empty")
    hint = "NumPy's files are written by numpy.savez(path, x=..., y=...) or numpy.save(path, x)."
    if like == TABLE:
        hint = "Tables are read by `data: {source: csv, path: ..., target: COLUMN}`."
    elif like == "a Python pickle":
        hint = f"A pickle can run any code and is never loaded. {hint}"
    seems = "" if like is None else f"; it looks like {like}"
    return DataError(f"{path} is no file of NumPy's (.npz or .npy){seems}", hint=hint)


def _objects(what: str) -> DataError:
    return DataError(
        f"{what} holds Python objects, which are never loaded: a pickle can run any code",
        hint="Store it as an array of numbers or of text: numpy.array(x, dtype=float) or dtype=str",
    )


def _told(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
