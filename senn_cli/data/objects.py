"""Columns of Python objects, as frames hold them where they have no type: numbers, or texts."""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Iterable, Sequence
from decimal import Decimal

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.data.table import Cells
from senn_cli.errors import DataError

_TIMES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)


def cells_of(values: Iterable[object], what: str) -> Cells:
    """A column of objects as numbers, if all are, or as texts.

    Booleans become the texts `true` and `false`; None, NaN and what equals nothing, not even
    itself, are missing. Blanks around a text are dropped, as in a file.

    Args:
      values: of every row.
      what: how to call the column in an error.

    Raises:
      DataError: dates, complex numbers, and objects that are neither numbers nor text; names the
        first.
    """
    listed = list(values)
    present = [value for value in listed if not is_gap(value)]
    if present and all(_is_number(value) for value in present):
        return _numbers(listed)
    return [_text(value, f"{what}, row {row}") for row, value in enumerate(listed)]


def is_gap(value: object) -> bool:
    """Whether an object stands for a missing value."""
    if value is None:
        return True
    if isinstance(value, str | bytes | bool | list | tuple | dict | set | np.ndarray):
        return False
    try:
        return bool(value != value)  # NaN, and NaT
    except (TypeError, ValueError):
        # pandas.NA has no truth.
        return type(value).__name__ == "NAType"


def no_number(what: str, kind: str, example: object = None) -> DataError:
    """The error for a column that a network cannot learn from."""
    shown = "" if example is None else f", such as {str(example)[:60]!r}"
    return DataError(
        f"{what} holds {kind}{shown}: a network learns from numbers, texts and booleans",
        hint="turn it into numbers first, such as seconds or a year for a time and one column an "
        "element for a list, or leave the column out (data.drop)",
    )


def _is_number(value: object) -> bool:
    real = isinstance(value, numbers.Real | Decimal)
    return real and not isinstance(value, bool | np.bool_)


def _numbers(values: Sequence[object]) -> Array:
    whole = all(isinstance(value, numbers.Integral) for value in values)
    if whole and all(abs(int(value)) < 2**63 for value in values):  # type: ignore[call-overload]
        return np.array(values, np.int64)
    floats = [np.nan if is_gap(value) else float(value) for value in values]  # type: ignore[arg-type]
    return np.array(floats, np.float64)


def _text(value: object, what: str) -> str:
    if is_gap(value):
        return ""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bytes):
        try:
            return value.decode().strip()
        except UnicodeDecodeError:
            raise no_number(what, "bytes that are no UTF-8 text") from None
    if isinstance(value, _TIMES):
        raise no_number(what, "a date or time", value)
    if isinstance(value, complex):
        raise no_number(what, "a complex number", value)
    if _is_number(value):
        return str(value)
    raise no_number(what, f"a {type(value).__name__}", value)
