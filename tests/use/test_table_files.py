from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from senn_cli.data.asked import columns_alone
from senn_cli.data.encoding import Column, Encoding
from senn_cli.errors import DataError
from senn_cli.use.table_files import read_rows

AB = Encoding((Column("a"), Column("b")), ("kind",))
MIXED = Encoding((Column("city", ("oslo", "rome")), Column("a")), ("y",), fill=(0, 1, 2.5))


def write(path: Path, text: str) -> Path:
    path = path / "t.csv"
    path.write_bytes(text.encode())
    return path


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    path = write(tmp_path, "\ufeffb, kind ,a\n1,egg,2\n\n3,,4e1\n")
    values, notes = read_rows(path, AB)
    assert values.tolist() == [[2, 1], [40, 3]]
    assert notes == []


def test_other_columns_are_ignored_with_a_note(tmp_path: Path) -> None:
    values, notes = read_rows(write(tmp_path, "b,c,a,d\n1,x,2,y\n"), AB)
    assert values.tolist() == [[2, 1]]
    assert notes == ["t.csv: columns that the run does not use: 'c', 'd'"]


def test_columns_without_names_are_found_by_their_number(tmp_path: Path) -> None:
    first = Encoding((Column("x2"), Column("x3")), ("x1",), named=False)
    for text, expected in (
        ("7,8\n", [[7, 8]]),
        ("9,7,8\n", [[7, 8]]),
        ("u;v\n7;8\n", [[7, 8]]),
    ):
        assert read_rows(write(tmp_path, text), first)[0].tolist() == expected
    with pytest.raises(DataError, match="has 4 columns, but the run has 2 features without names"):
        read_rows(write(tmp_path, "a,b,c,d\n1,2,3,4\n"), first)
    assert read_rows(write(tmp_path, "p,q\n1,2\n"), columns_alone(2))[0].tolist() == [[1, 2]]


def test_categories_gaps_and_what_training_did_not_know(tmp_path: Path) -> None:
    path = write(tmp_path, "a,city\n1,rome\nNA,bern\n3,?\n")
    values, notes = read_rows(path, MIXED)
    nan = np.nan
    np.testing.assert_array_equal(values, [[0, 1, 1], [0, 0, nan], [nan, nan, 3]])
    assert notes[0] == (
        "t.csv: in 1 of 3 rows 'city' has a value that is not in the training part, such as "
        "'bern'; its inputs are 0 there"
    )
    assert notes[1].startswith("missing values are filled: 1 in 'city' (the first at ")


def test_booleans_are_read_as_in_training(tmp_path: Path) -> None:
    path = write(tmp_path, "u,v\nTRUE,T\n")
    folded = Encoding((Column("u", ("false", "true")), Column("v", ("F", "T"))))
    assert read_rows(path, folded)[0].tolist() == [[0, 1, 0, 1]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("1,2\n3,4\n", "t.csv:1: the first line must name the columns, .* by name: 'a', 'b'"),
        ("a,a,b\n1,2,3\n", "two columns are called 'a'"),
        ("a,kind\n1,2\n", "no column 'b', which the run learnt from; its columns are 'a', 'kind'"),
        ("a,b\n1,2\n3\n", "t.csv:3: 1 cell, but the header has 2"),
        ("a,b\n1,x\n", "t.csv:2: column 'b' is not a number: 'x'"),
        ("a,b\n1,\n", r"values are missing: 1 in 'b' \(the first at .*t.csv:2\)"),
        ("a,b\nnan,1\n", "values are missing: 1 in 'a'"),
        ("a,b\ninf,1\n", "column 'a' is not finite: 'inf'"),
        ("a,b\n1,1e101\n", "is too large: '1e101'"),
        ("a,b\n1_0,1\n", "is not a number: '1_0'"),
        ('a,b\n"1,2\n', "t.csv:2: unexpected end of data"),
        ("a,b\n" + "x,1\n" * 9, "and 4 more"),
    ],
)
def test_faults(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_rows(write(tmp_path, text), AB)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        read_rows(tmp_path / "none.csv", AB)
    (tmp_path / "t.csv").write_bytes(b"a,b\n\xff,1\n")
    with pytest.raises(DataError, match="not UTF-8"):
        read_rows(tmp_path / "t.csv", AB)
