"""What is known of a table before it is read: the most rows that it can have."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from senn_cli.data.known import known
from senn_cli.spec.tables import CsvSpec


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"a,b\n1,2\n3,4\n", 3),
        (b"a,b\n1,2\n3,4", 3),
        (b"a,b\r\n1,2\r\n3,4\r\n", 3),
        (b"a,b\r1,2\r3,4\r", 3),  # one line, for who counts line feeds alone
        (b"a,b\r1,2\r3,4", 3),
        (b"", 0),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), None),
    ],
)
def test_lines_of_a_table(tmp_path: Path, content: bytes, rows: int | None) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    found = known(CsvSpec(source="csv", path=tmp_path / "t.csv", target="b"))
    assert (None if found is None else found.rows) == rows
