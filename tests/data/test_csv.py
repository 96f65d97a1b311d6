from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from senn_cli.data import csv
from senn_cli.data.dataset import Source
from senn_cli.errors import DataError

TABLE = """a,b,label
1,2.5,cat
-3e2,0,dog
4,5,cat
"""


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_text(text, encoding=encoding)
    return path


def load(path: Path, target: Any = "label", task: Any = "classification", **more: Any) -> Source:
    return csv.load(path, more.pop("test", None), target, task, **more)


def test_a_table(tmp_path: Path) -> None:
    source = load(write(tmp_path / "t.csv", TABLE))
    assert source.train.x.tolist() == [[1, 2.5], [-300, 0], [4, 5]]
    assert source.train.x.dtype == np.float32
    assert source.classes == ("cat", "dog")
    assert source.train.y.tolist() == [0, 1, 0]
    assert source.train.ids.tolist() == [0, 1, 2]
    assert source.test is None


def test_integer_labels_are_sorted_as_numbers(tmp_path: Path) -> None:
    source = load(write(tmp_path / "t.csv", "label,a\n10,1\n9,2\n10,3\n-1,4\n"))
    assert source.classes == ("-1", "9", "10")
    assert source.train.y.tolist() == [2, 1, 2, 0]


def test_long_numbers_are_not_merged(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "label,a\n9007199254740993,1\n9007199254740992,2\n")
    assert load(path).classes == ("9007199254740992", "9007199254740993")


def test_labels_that_a_spreadsheet_wrote_as_floats(tmp_path: Path) -> None:
    assert load(write(tmp_path / "t.csv", "label,a\n1.0,1\n0.0,2\n")).classes == ("0", "1")


def test_regression_with_two_targets_in_the_order_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "u,a,v\n1,2,3\n4,5,6\n")
    source = load(path, target=["v", "u"], task="regression")
    assert source.train.x.tolist() == [[2], [5]]
    assert source.train.y.tolist() == [[3, 1], [6, 4]]
    assert source.classes == ()


def test_byte_order_mark_blank_lines_spaces_quotes_and_delimiter(tmp_path: Path) -> None:
    text = '"a;x"; b ;label\r\n 1 ;2; yes \r\n\r\n"3";4;no\r\n'
    source = load(write(tmp_path / "t.csv", text, "utf-8-sig"), delimiter=";")
    assert source.train.x.tolist() == [[1, 2], [3, 4]]
    assert source.classes == ("no", "yes")


def test_a_test_file_with_its_columns_in_another_order(tmp_path: Path) -> None:
    train = write(tmp_path / "t.csv", TABLE)
    test = write(tmp_path / "u.csv", "label,b,a,unused\nfox,7,8,x\n")
    source = load(train, test=test)
    assert source.test is not None
    assert source.test.x.tolist() == [[8, 7]]
    assert source.classes == ("cat", "dog", "fox")
    assert source.test.y.tolist() == [2]
    assert source.test.ids.tolist() == [3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,label\n1,x\nred,y\n", "t.csv:3: column 'a' is not a number: 'red'"),
        ("a,label\n1,x\n,y\n", "t.csv:3: column 'a' is empty"),
        ("a,label\n\n\n1,x\nnan,y\n", "t.csv:5: column 'a' is not finite: 'nan'"),
        ("a,label\n1_0,x\n", "t.csv:2: column 'a' is not a number: '1_0'"),
        ("a,label\n1e39,x\n", "t.csv:2: column 'a' is too large for float32: '1e39'"),
        ("a,label\n1,x\n2,\n", "t.csv:3: column 'label' is empty"),
        ("a,label\n1,0\n2,NA\n3,1\n", "t.csv:3: column 'label' is missing: 'NA'"),
        ("a,label\n1,0\n2,nan\n", "t.csv:3: column 'label' is missing: 'nan'"),
        ("a,label\n1,0\n2,0.5\n", "row 1 is 0.5"),
        ("a,label\n1,x\n2\n", "t.csv:3: 1 cells, but the header has 2"),
        ("a,label\n1,x\n2,y,z\n", "t.csv:3: 3 cells, but the header has 2"),
        ("1,2\n3,4\n", "t.csv:1: the first line must name the columns"),
        ("a,a,label\n1,2,x\n", "t.csv:1: two columns are called 'a'"),
        ("a,,label\n1,2,x\n", "t.csv:1: column 2 has no name"),
        ("a;label\n1;x\n", "t.csv:1: only one column, 'a;label'"),
        ("label\nx\n", "has no column besides label"),
        ("a,label\n", "has a header but no rows"),
        ("", "is empty"),
        ('a,label\n1,"x\n2,y\n', "t.csv:3: unexpected end of data"),
        ("a,Label\n1,x\n", "has no column 'label', which data.target names"),
    ],
)
def test_faults_name_line_and_column(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path / "t.csv", text)
    with pytest.raises(DataError) as caught:
        load(path)
    assert message in caught.value.message
    assert str(path) in caught.value.message


def test_missing_words_are_classes_among_words(tmp_path: Path) -> None:
    source = load(write(tmp_path / "t.csv", "a,label\n1,none\n2,mild\n"))
    assert source.classes == ("mild", "none")


def test_the_first_faults_are_shown_and_the_others_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,b,label\n" + "x,y,z\n" * 4)
    with pytest.raises(DataError) as caught:
        load(path)
    lines = caught.value.message.splitlines()
    assert len(lines) == 6
    assert lines[1].endswith("t.csv:2: column 'b' is not a number: 'y'")
    assert lines[-1] == "and 3 more"


def test_did_you_mean(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        load(write(tmp_path / "t.csv", TABLE), target="lable")
    assert caught.value.hint == "did you mean 'label'?"


def test_two_targets_are_no_classification(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a classification has one"):
        load(write(tmp_path / "t.csv", TABLE), target=["a", "label"])


def test_a_test_file_without_a_column_and_files_that_cannot_be_read(tmp_path: Path) -> None:
    train = write(tmp_path / "t.csv", TABLE)
    with pytest.raises(DataError, match=r"u\.csv has no column 'b'"):
        load(train, test=write(tmp_path / "u.csv", "a,label\n1,cat\n"))
    with pytest.raises(DataError, match="cannot be read: No such file"):
        load(tmp_path / "absent.csv")
    (tmp_path / "latin.csv").write_bytes("a,label\n1,café\n".encode("latin-1"))
    with pytest.raises(DataError, match="is not UTF-8 text"):
        load(tmp_path / "latin.csv")
    with pytest.raises(DataError, match="is a directory, not a regular file"):
        load(tmp_path)
