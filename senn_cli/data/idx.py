"""The idx format of the MNIST family: a big-endian header, then the values in C order."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.errors import DataError
from senn_cli.given import require_file

_UNSIGNED_BYTE = 0x08


def read_idx(path: Path) -> Array:
    """Reads an idx file of unsigned bytes, gzipped or not (told by its content, not its name).

    The header is two zero bytes, the type, the number of dimensions, and every dimension as four
    bytes, the most significant first.

    Args:
      path: e.g. `train-images-idx3-ubyte.gz`.

    Returns:
      uint8 of the shape in the header.

    Raises:
      DataError: the file cannot be read, is no idx file, is cut off, or has bytes left over.
    """
    content = _unpacked(path)
    if len(content) < 4 or content[:2] != b"\x00\x00":
        raise DataError(f"{path} is not an idx file: it starts with {content[:16]!r}")
    kind, dimensions = content[2], content[3]
    if kind != _UNSIGNED_BYTE:
        raise DataError(f"{path} holds idx values of type 0x{kind:02x}; only 0x08 (bytes) is read")
    start = 4 + 4 * dimensions
    if len(content) < start:
        raise DataError(f"{path} is cut off within its header")
    shape = tuple(int(size) for size in np.frombuffer(content[4:start], ">u4"))
    expected = math.prod(shape)
    found = len(content) - start
    if found != expected:
        fault = "is cut off" if found < expected else "is longer than its header says"
        raise DataError(f"{path} {fault}: {expected} values {shape} announced, {found} found")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _unpacked(path: Path) -> bytes:
    require_file(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    if content[:2] != b"\x1f\x8b":
        return content
    try:
        return gzip.decompress(content)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} is a damaged or incomplete gzip file: {error}") from error
