"""Numbers as the page carries them: short, and nothing that JSON lacks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

DIGITS = 5
"""Significant digits of the numbers on the page: more than a picture or a table shows."""


def short(value: Any) -> float | int | None:
    """`value` with `DIGITS` significant digits; whole numbers as they are, None for no number."""
    if value is None or isinstance(value, bool | str):
        return None
    if isinstance(value, int):
        return value
    number = float(value)
    return float(f"{number:.{DIGITS}g}") if math.isfinite(number) else None


def column(rows: Iterable[Any], key: str) -> list[float | int | None]:
    """The key of every row, None where a row lacks it."""
    return [short(row.get(key)) for row in rows]
