from __future__ import annotations

import pytest

from senn_cli.data.numerals import is_grouped, is_missing, number


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("1.5", 1.5),
        ("-3e2", -300),
        ("1 234", 1234),
        ("1\u00a0234\u202f", None),
        ("1\u202f234\u202f567.5", 1234567.5),
        ("1,234.5", 1234.5),
        ("1'234", 1234),
        ("-1,234,567", -1234567),
        ("12,34", None),
        ("1,2345", None),
        ("1,234 567", None),
        ("1_000", None),
        ("12:30", None),
        ("", None),
    ],
)
def test_numbers(cell: str, value: float | None) -> None:
    assert number(cell) == value


def test_one_comma_may_be_a_decimal_one_where_commas_do_not_separate() -> None:
    assert number("1,234", ";") is None
    assert number("1,234.0", ";") == 1234
    assert number("1,234,567", ";") == 1234567
    assert is_grouped("1 234")
    assert not is_grouped("1234")


def test_marks_of_missing_values() -> None:
    for mark in ("", "NA", "N/A", "nan", "null", "?"):
        assert is_missing(mark)
        assert is_missing(mark, text=True)
    for mark in ("-", "none", "None", "Na"):  # in text, sodium is a value
        assert is_missing(mark)
        assert not is_missing(mark, text=True)
