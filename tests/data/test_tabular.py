from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from senn_cli.data import tabular
from senn_cli.data.dataset import Source
from senn_cli.errors import DataError
from senn_cli.spec.tables import CsvSpec

TABLE = """a,b,label
1,2.5,cat
-3e2,0,dog
4,5,cat
"""


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_text(text, encoding=encoding)
    return path


def load(path: Path, target: Any = "label", **more: Any) -> Source:
    section = {"source": "csv", "path": path, "target": target, **more}
    return tabular.load(CsvSpec.model_validate(section))


def test_a_table(tmp_path: Path) -> None:
    source = load(write(tmp_path / "t.csv", TABLE))
    assert source.train.x.tolist() == [[1, 2.5], [-300, 0], [4, 5]]
    assert source.train.x.dtype == np.float64
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
    source = load(train, test_path=test)
    assert source.test is not None
    assert source.test.x.tolist() == [[8, 7]]
    assert source.classes == ("cat", "dog", "fox")
    assert source.test.y.tolist() == [2]
    assert source.test.ids.tolist() == [3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,label\n1,x\nred,y\n", "t.csv:3: column 'a' is not a number: 'red'"),
        ("a,label\n1,x\n,y\n", "values are missing: 1 in 'a' (the first at {}:3)"),
        ("a,label\n\n\n1,x\nnan,y\n", "values are missing: 1 in 'a' (the first at {}:5)"),
        ("a,label\n1,x\ninf,y\n", "t.csv:3: column 'a' is not finite: 'inf'"),
        ("a,label\n1_0,x\n1,y\n", "t.csv:2: column 'a' is not a number: '1_0'"),
        ("a,label\n1e101,x\n", "t.csv:2: column 'a' is too large: '1e101'"),
        ("a,label\n1,x\n2,\n", "values are missing: 1 in 'label' (the first at {}:3)"),
        ("a,label\n1,0\n2,NA\n3,1\n", "values are missing: 1 in 'label' (the first at {}:3)"),
        ("a,label\n1,0\n2,nan\n", "values are missing: 1 in 'label' (the first at {}:3)"),
        ("a,label\n1,0\n2,0.5\n", "row 1 is 0.5"),
        ("a,label\n1,x\n2\n", "t.csv:3: 1 cell, but the header has 2"),
        ("a,label\n1,x\n2,y,z\n", "t.csv:3: 3 cells, but the header has 2"),
        ("a,a,label\n1,2,x\n", "t.csv:1: two columns are called 'a'"),
        ("a,,label\n1,5,x\n", "t.csv:1: column 2 has no name"),
        ("label\nx\n", "has no column besides label"),
        ("a,label\n", "has a header but no rows"),
        ("", "is empty"),
        ('a,label\n1,"x\n2,y\n', "t.csv:2: unexpected end of data, in the row that begins here"),
        ("a,Label\n1,x\n", "has no column 'label', which data.target names"),
    ],
)
def test_faults_name_line_and_column(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path / "t.csv", text)
    with pytest.raises(DataError) as caught:
        load(path)
    assert message.format(path) in caught.value.message
    assert str(path) in caught.value.message


def test_missing_words_are_classes_among_words(tmp_path: Path) -> None:
    source = load(write(tmp_path / "t.csv", "a,label\n1,none\n2,mild\n"))
    assert source.classes == ("mild", "none")


def test_the_first_faults_are_shown_and_the_others_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,b,label\n" + "x,y,z\n" * 4)
    with pytest.raises(DataError) as caught:
        load(path, categories=[])
    lines = caught.value.message.splitlines()
    assert len(lines) == 6
    assert lines[1].endswith("t.csv:3: column 'a' is not a number: 'x'")
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
        load(train, test_path=write(tmp_path / "u.csv", "a,label\n1,cat\n"))
    with pytest.raises(DataError, match="cannot be read: No such file"):
        load(tmp_path / "absent.csv")
    (tmp_path / "latin.csv").write_bytes("a,label\n1,café\n".encode("latin-1"))
    with pytest.raises(DataError, match="is not UTF-8 text"):
        load(tmp_path / "latin.csv")
    with pytest.raises(DataError, match="is a directory, not a regular file"):
        load(tmp_path)


def test_labels_of_25_digits_are_text(tmp_path: Path) -> None:
    """They fit into no integer of NumPy's, which made the labels "of type object"."""
    one, two = "1234567890123456789012345", "1234567890123456789012346"
    source = load(write(tmp_path / "t.csv", f"a,label\n1,{two}\n2,{one}\n"))
    assert source.classes == (one, two)
    assert source.train.y.tolist() == [1, 0]


def test_a_missing_target_asks_for_one_and_lists_the_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", TABLE)
    with pytest.raises(DataError, match=r"data\.target is missing.*They are a, b, label") as caught:
        load(path, target=None)
    assert caught.value.hint == "for example data.target: label"


def test_without_a_header_the_last_column_is_the_target_unless_a_number_names_another(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "t.csv", "1,2,cat\n3,4,dog\n")
    source = load(path, target=None)
    assert source.encoding is not None
    assert source.encoding.names == ("x1", "x2")
    assert source.encoding.targets == ("x3",)
    assert source.classes == ("cat", "dog")
    assert any("the last, x3, is predicted" in note for note in source.notes)
    first = load(path, target=1, task="regression", drop=[3])
    assert first.train.y.tolist() == [[1], [3]]
    assert first.train.x.tolist() == [[2], [4]]
    with pytest.raises(DataError, match=r"data\.target names column 4, but .* has 3"):
        load(path, target=4)


def test_columns_are_chosen_and_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,b,name,label\n1,2,Ann,x\n3,4,Bob,y\n")
    assert load(path, columns=["b", "a"]).train.x.tolist() == [[2, 1], [4, 3]]
    assert load(path, drop=["name", 2]).train.x.tolist() == [[1], [3]]
    for section, message in (
        ({"drop": ["nme"]}, r"has no column 'nme', which data\.drop names"),
        ({"columns": ["c"]}, r"has no column 'c', which data\.columns names"),
        ({"columns": ["a", "label"]}, r"data\.columns names 'label', which data\.target names too"),
        ({"drop": ["label"]}, r"data\.drop names 'label', which data\.target names too"),
        ({"drop": ["a", "b", "name"]}, "no column besides label"),
        ({"drop": ["a"], "categories": ["a"]}, r"names 'a', which is no column to learn from"),
    ):
        with pytest.raises(DataError, match=message):
            load(path, **section)


def test_missing_values_are_counted_by_column_and_the_option_is_named(tmp_path: Path) -> None:
    rows = "1,,x\nNA,rome,y\n?,oslo,z\n-,N/A,z\nnull,rome,\n5,rome,x\n"
    path = write(tmp_path / "t.csv", "a,city,label\n" + rows)
    with pytest.raises(DataError) as caught:
        load(path)
    assert caught.value.message == (
        f"values are missing: 4 in 'a' (the first at {path}:3), 2 in 'city' (the first at "
        f"{path}:2), 1 in 'label' (the first at {path}:6)"
    )
    assert "data.missing: median" in str(caught.value.hint)


def test_rows_with_missing_values_are_dropped(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,label\n1,x\n,y\n3,\n4,y\n")
    source = load(path, missing="drop")
    assert source.train.x.tolist() == [[1], [4]]
    assert source.train.ids.tolist() == [0, 3]
    assert "2 of 4 rows are left out" in source.notes[0]
    with pytest.raises(DataError, match="no row without a missing value"):
        load(write(tmp_path / "u.csv", "a,label\n,x\n1,\n"), missing="drop")


def test_only_a_missing_target_drops_a_row_where_values_are_filled(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,label\n1,x\n,y\n3,\n4,y\n")
    source = load(path, missing="median")
    np.testing.assert_array_equal(source.train.x, [[1], [np.nan], [4]])
    assert source.train.ids.tolist() == [0, 1, 3]
    path = write(tmp_path / "u.csv", "a,y\n1,2\n2,-\n3,4\n")
    values = load(path, target="y", task="regression", missing="mean")
    assert values.train.y.tolist() == [[2], [4]]


def test_text_becomes_categories_and_booleans_are_two(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "city,old,y\nrome,TRUE,1\noslo,false,2\nrome,True,3\n")
    source = load(path, target="y", task="regression")
    assert source.encoding is not None
    assert [c.categories for c in source.encoding.features] == [("oslo", "rome"), ("false", "true")]
    assert source.train.x.tolist() == [[1, 1], [0, 0], [1, 1]]
    assert source.encoding.inputs == ("city=oslo", "city=rome", "old=false", "old=true")


def test_numbers_are_categories_where_the_spec_says_so(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "zip,a,label\n01234,1,x\n1234,2,y\n")
    source = load(path, categories=["zip"])
    assert source.encoding is not None
    assert source.encoding.inputs == ("zip=01234", "zip=1234", "a")


def test_names_are_no_categories(tmp_path: Path) -> None:
    rows = "".join(f"person {i},{i % 3},{'xy'[i % 2]}\n" for i in range(50))
    path = write(tmp_path / "t.csv", "Name,a,label\n" + rows)
    with pytest.raises(DataError, match="'Name' is text with 50 different values") as caught:
        load(path)
    assert "data.drop: [Name]" in str(caught.value.hint)
    assert load(path, drop=["Name"]).train.x.shape == (50, 1)
    assert load(path, categories=["Name"]).train.x.shape == (50, 2)


def test_a_typing_error_makes_no_category(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,label\n1,x\n2,y\n3o,x\n")
    with pytest.raises(DataError, match=r"t\.csv:4: column 'a' is not a number: '3o'") as caught:
        load(path)
    assert "data.categories: [a]" in str(caught.value.hint)


def test_separators_between_thousands(tmp_path: Path) -> None:
    text = 'a,b,label\n"1 234","1,234.5",x\n-12 000 000,"12,000",y\n'
    source = load(write(tmp_path / "t.csv", text))
    assert source.train.x.tolist() == [[1234, 1234.5], [-12_000_000, 12_000]]
    assert "column 'a': 2 numbers have separators between thousands, such as '1 234'" in (
        source.notes
    )


def test_a_decimal_comma_is_not_taken_for_thousands(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a;label\n1,234;x\n2,5;y\n")
    with pytest.raises(DataError, match="has a comma: is '1,234' a fraction, or thousands"):
        load(path, categories=[])


def test_many_numbers_as_classes_and_a_column_that_counts_are_noted(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i * i % 7},{i}\n" for i in range(1, 61))
    source = load(write(tmp_path / "t.csv", "id,a,label\n" + rows))
    assert any("'id' numbers the rows" in note for note in source.notes)
    assert any("60 different numbers, which are taken for classes" in n for n in source.notes)


def test_classes_have_the_names_in_scikit_learns_first_line(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "3,1,setosa,virginica\n5,1\n6,0\n7,1\n")
    source = load(path, target=None)
    assert source.classes == ("setosa", "virginica")
    assert source.train.y.tolist() == [1, 0, 1]


def test_weights_are_a_column_that_is_not_learned_from(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,w,label\n1,0.5,x\n2,2,y\n3,0,x\n")
    source = load(path, weights="w")
    assert source.train.x.tolist() == [[1], [2], [3]]
    assert source.train.weights is not None
    assert (source.train.weights.dtype, source.train.weights.tolist()) == (np.float32, [0.5, 2, 0])
    assert load(path, drop=["w"]).train.weights is None


@pytest.mark.parametrize(
    ("cell", "section", "message"),
    [
        ("-1", {}, "column 'w': a weight is negative: -1.0 in row 1"),
        ("", {}, "values are missing: 1 in 'w' (the first at {}:3)"),
        ("big", {}, "t.csv:3: column 'w' is not a number: 'big'"),
        ("1", {"weights": "v"}, "has no column 'v', which data.weights names"),
        ("1", {"weights": "label"}, "data.weights names 'label', which data.target names too"),
        ("1", {"columns": ["a", "w"]}, "data.columns names 'w', which data.weights names too"),
    ],
)
def test_faulty_weights(tmp_path: Path, cell: str, section: dict[str, Any], message: str) -> None:
    path = write(tmp_path / "t.csv", f"a,w,label\n1,1,x\n2,{cell},y\n")
    with pytest.raises(DataError) as caught:
        load(path, **{"weights": "w", **section})
    assert message.format(path) in caught.value.message


def test_a_row_without_a_weight_is_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,w,label\n1,1,x\n2,,y\n3,2,y\n")
    source = load(path, weights="w", missing="drop")
    assert source.train.weights is not None
    assert (source.train.ids.tolist(), source.train.weights.tolist()) == ([0, 2], [1, 2])


def test_several_labels(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,red,old\n1,1,true\n2,0,false\n3,1.0,Yes\n")
    source = load(path, target=["old", "red"], task="multilabel")
    assert source.classes == ("old", "red")
    assert source.train.y.dtype == np.uint8
    assert source.train.y.tolist() == [[1, 1], [0, 0], [1, 1]]
    with pytest.raises(DataError, match=r"u\.csv: a label holds \(1\) or does not \(0\).*stands 2"):
        load(write(tmp_path / "u.csv", "a,red\n1,2\n"), target=["red"], task="multilabel")
    with pytest.raises(DataError, match=r"names 2 columns; a classification has one") as caught:
        load(path, target=["old", "red"])
    assert "data.task: multilabel" in str(caught.value.hint)
