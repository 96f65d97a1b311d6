from __future__ import annotations

from pathlib import Path

import pytest

from senn_cli.errors import DataError
from senn_cli.use.table_files import Columns, header, read_table

AB = Columns(2, ("a", "b"), ("kind",))


def write(path: Path, text: str) -> Path:
    path = path / "t.csv"
    path.write_bytes(text.encode())
    return path


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    path = write(tmp_path, "\ufeffb, kind ,a\n1,egg,2\n\n3,,4e1\n")
    assert read_table(path, AB).tolist() == [[2, 1], [40, 3]]


def test_without_names_all_but_the_targets_are_features(tmp_path: Path) -> None:
    path = write(tmp_path, "u;kind;v\n1;9;2\n")
    assert read_table(path, Columns(2, None, ("kind",), ";")).tolist() == [[1, 2]]
    with pytest.raises(DataError, match="has 3 columns of features, but the run has 2"):
        read_table(path, Columns(2, None, (), ";"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("1,2\n3,4\n", "t.csv:1: the first line must name the columns"),
        ("a,a\n1,2\n", "two columns are called 'a'"),
        ("a,kind\n1,2\n", "no column 'b', which the run learnt from"),
        ("a,b,c\n1,2,3\n", "column 'c' is neither a feature of the run nor its target"),
        ("a,b\n1,2\n3\n", "t.csv:3: 1 cells, but the header has 2"),
        ("a,b\n1,x\n", "t.csv:2: column 'b' should be a finite number, found 'x'"),
        ("a,b\n1,\n", "t.csv:2: column 'b' should be a finite number, found an empty cell"),
        ("a,b\nnan,1\n", "column 'a' should be a finite number, found 'nan'"),
        ("a,b\n1,1e39\n", "found '1e39'"),
        ("a,b\n1_0,1\n", "found '1_0'"),
        ('a,b\n"1,2\n', "t.csv:2: unexpected end of data"),
        ("a,b\n" + "x,1\n" * 9, "and 4 more"),
    ],
)
def test_faults(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_table(write(tmp_path, text), AB)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        read_table(tmp_path / "none.csv", AB)
    (tmp_path / "t.csv").write_bytes(b"a,b\n\xff,1\n")
    with pytest.raises(DataError, match="not UTF-8"):
        read_table(tmp_path / "t.csv", AB)
    assert header(tmp_path / "none.csv", ",") is None


def test_a_header(tmp_path: Path) -> None:
    assert header(write(tmp_path, "\n a , b\n1,2\n"), ",") == ("a", "b")
