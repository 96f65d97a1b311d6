from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from senn_cli.data.idx import read_idx
from senn_cli.errors import DataError

# Two images of 1x3 pixels, byte by byte.
CONTENT = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 1, 2, 3, 253, 254, 255])


@pytest.mark.parametrize("packed", [False, True])
def test_reads_plain_and_gzipped(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "images"
    path.write_bytes(gzip.compress(CONTENT) if packed else CONTENT)
    array = read_idx(path)
    assert array.dtype == np.uint8
    assert array.tolist() == [[[1, 2, 3]], [[253, 254, 255]]]


DAMAGED = {
    "a page": (b"<html>moved</html>", "is not an idx file"),
    "nothing": (b"", "is not an idx file"),
    "too short": (CONTENT[:-1], r"is cut off: 6 values \(2, 1, 3\) announced, 5 found"),
    "too long": (CONTENT + b"x", "is longer than its header says"),
    "no sizes": (CONTENT[:9], "cut off within its header"),
    "floats": (bytes([0, 0, 0x0D, 1, 0, 0, 0, 1]) + bytes(4), "type 0x0d"),
    "gzip, too short": (gzip.compress(CONTENT)[:-9], "damaged or incomplete gzip"),
    "no gzip": (b"\x1f\x8bnot really", "damaged or incomplete gzip"),
}


# Ids of their own: gzip's bytes have the present second in them.
@pytest.mark.parametrize(("content", "message"), DAMAGED.values(), ids=DAMAGED)
def test_damaged_files_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "broken-idx3-ubyte.gz"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_idx(path)
    assert str(path) in caught.value.message


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read: No such file"):
        read_idx(tmp_path / "absent")
