"""Tables as they are downloaded: compressed, with or without a header, separated by anything."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from senn_cli.data.table import Table
from senn_cli.data.text_table import read_table
from senn_cli.errors import DataError


def write(folder: Path, text: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def rows(table: Table) -> list[list[str]]:
    return [list(cells) for cells in zip(*table.columns, strict=True)]


def read(folder: Path, text: str, **how: object) -> Table:
    return read_table(write(folder, text), **how)  # type: ignore[arg-type]


def test_an_open_quote_is_reported_where_it_opens(tmp_path: Path) -> None:
    """Not at the end of the file, where it is noticed."""
    text = 'a,b\n1,"2\n' + "3,4\n" * 89
    with pytest.raises(DataError, match=r"t\.csv:2: unexpected end of data") as caught:
        read(tmp_path, text)
    assert caught.value.hint == "a quote in it may lack its other end"


def test_a_row_over_several_lines_has_the_number_of_its_first(tmp_path: Path) -> None:
    table = read(tmp_path, 'a,b\n"1\n2",x\n3,y\n')
    assert rows(table) == [["1\n2", "x"], ["3", "y"]]
    assert table.lines == [2, 4]
    with pytest.raises(DataError, match=r"t\.csv:2: 1 cell, but the header has 2"):
        read(tmp_path, 'a,b\n"1\n2"\n3,y\n')


def test_gzip_is_told_by_the_content(tmp_path: Path) -> None:
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert rows(read_table(tmp_path / "t.csv.gz")) == [["1", "2"]]
    (tmp_path / "t.gz").write_bytes(gzip.compress(b"a,b\n1,2\n" * 99)[:20])
    with pytest.raises(DataError, match=r"t\.gz cannot be read"):
        read_table(tmp_path / "t.gz")


def test_a_mark_of_the_byte_order_and_old_ends_of_lines(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufeffa,b\r\n1,2\r\n").header == ("a", "b")
    table = read(tmp_path, "a,b\r1,2\r3,4\r")
    assert rows(table) == [["1", "2"], ["3", "4"]]
    assert table.lines == [2, 3]


@pytest.mark.parametrize("mark", [",", ";", "\t", "|", " ", "   "])
def test_delimiters_are_found_and_told(tmp_path: Path, mark: str) -> None:
    table = read(tmp_path, "a_b,c\n1.5,x\n2,y\n".replace(",", mark))
    assert table.header == ("a_b", "c")
    assert rows(table) == [["1.5", "x"], ["2", "y"]]
    assert bool(table.notes) == (mark != ",")
    assert (read(tmp_path, "a|b\n1|2\n", delimiter="|")).notes == ()


def test_blanks_around_cells_that_are_separated_by_them(tmp_path: Path) -> None:
    table = read(tmp_path, "  a   b  \n 1\t 2 \n")
    assert (table.header, rows(table)) == (("a", "b"), [["1", "2"]])


def test_a_header_that_lies_deeper(tmp_path: Path) -> None:
    text = "exported by somebody, once\n\na;b\n1;2\n"
    table = read(tmp_path, text, header=3)
    assert (table.header, rows(table), table.lines) == (("a", "b"), [["1", "2"]], [4])
    with pytest.raises(DataError, match="is empty from line 9 on"):
        read(tmp_path, text, header=9)


def test_no_header(tmp_path: Path) -> None:
    table = read(tmp_path, "x,y\n1,2\n", header="none")
    assert table.header == ("x1", "x2")
    assert rows(table) == [["x", "y"], ["1", "2"]]
    assert not table.named
    assert read(tmp_path, "1,2\n3,4\n", header=1).header == ("1", "2")


def test_names_that_are_known_are_looked_for(tmp_path: Path) -> None:
    text = "a list of things\nb,more,a\n1,2,3\n"
    assert read(tmp_path, text, names=["a", "b"]).header == ("b", "more", "a")


def test_columns_without_a_name_that_tell_nothing_are_left_out(tmp_path: Path) -> None:
    table = read(tmp_path, ",a,,b\n0,5,,7\n1,6,,8\n")
    assert (table.header, rows(table)) == (("a", "b"), [["5", "7"], ["6", "8"]])
    assert [note.partition(" has ")[2] for note in table.notes] == [
        "no name and counts the rows; it is left out",
        "no name and is empty; it is left out",
    ]
    assert read(tmp_path, "a,b,\n1,2\n3,4\n").header == ("a", "b")


def test_a_text_that_is_no_utf_8(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("a\ncafé\n".encode("latin-1"))
    with pytest.raises(DataError, match="is not UTF-8 text") as caught:
        read_table(tmp_path / "t.csv")
    assert caught.value.hint == "save it in the encoding UTF-8"
