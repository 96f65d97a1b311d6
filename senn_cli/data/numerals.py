"""Numbers, booleans and marks of missing values as they are written in tables."""

from __future__ import annotations

import re

LARGEST = 1e100
"""The largest magnitude of a number: squares of it must be finite in float64."""

TRUE = frozenset({"true", "yes", "t", "y"})
BOOLEANS = TRUE | {"false", "no", "f", "n"}
"""Words that are the same in capitals and in small letters, where a column has no others."""

# Spelt in this way alone in a column of text, where `Na`, `none` and `-` may be values.
_IN_TEXT = frozenset({"", "NA", "N/A", "n/a", "nan", "NaN", "NAN", "null", "NULL", "?"})
_AMONG_NUMBERS = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-"})

_GROUPED = re.compile(r"[+-]?\d{1,3}(?:([ \u00a0\u202f',])\d{3})(?:\1\d{3})*(?:\.\d+)?")
_ONE_COMMA = re.compile(r"[+-]?\d+,\d+")


def number(cell: str, delimiter: str = ",") -> float | None:
    """The number in a cell, infinity included; None where it is none.

    `1 234`, `1'234` and `1,234.5` are numbers with separators between thousands. `1_000` is none.
    Nor is `1,234` in a table whose delimiter is not a comma, as there it may be a decimal one.
    """
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        pass
    if _GROUPED.fullmatch(cell) is None or (delimiter != "," and _ONE_COMMA.fullmatch(cell)):
        return None
    return float(re.sub(r"[^\d.+-]", "", cell))


def is_missing(cell: str, *, text: bool = False) -> bool:
    """Whether a cell stands for no value, in a column of numbers or of text."""
    return cell in _IN_TEXT if text else cell.lower() in _AMONG_NUMBERS


def is_grouped(cell: str) -> bool:
    """Whether a number is written with separators between thousands."""
    return _GROUPED.fullmatch(cell) is not None


def has_one_comma(cell: str) -> bool:
    """Whether a comma in a cell may be a decimal one."""
    return _ONE_COMMA.fullmatch(cell) is not None
