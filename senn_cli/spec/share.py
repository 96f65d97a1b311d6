"""Shares: a part of the data as a fraction (`0.1`, `10%`) or as a number of examples (`500`)."""

import math
import re
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from senn_cli.spec.base import LARGEST, fault
from senn_cli.spec.describe import describe

_PERCENT = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*%\s*")


def _share(value: Any, *, least: str, whole: bool) -> int | float:
    # A float is always a fraction and an int always a count, whichever way they were written.
    expected = (
        f"should be a fraction of {least} and {'at most' if whole else 'below'} 1 (or `10%`),"
        f" or a number of examples from 1 to {LARGEST}"
    )
    wrong: PydanticCustomError = fault(f"{expected}, found {describe(value)}")
    if isinstance(value, str):
        match = _PERCENT.fullmatch(value)
        if match is None:
            raise wrong
        fraction = float(Decimal(match[1]) / 100)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong
    elif isinstance(value, int) and 1 <= value <= LARGEST:
        return value
    elif isinstance(value, float) and 1 < value <= LARGEST and value.is_integer():
        return int(value)  # 1e4 is how YAML users write 10000
    elif abs(value) > 1:  # too large a count, or a fraction of more than everything
        raise wrong
    else:
        fraction = float(value)
    if not math.isfinite(fraction) or fraction < 0 or fraction > 1:
        raise wrong
    if (fraction == 1 and not whole) or (fraction == 0 and least != "at least 0"):
        raise wrong
    return fraction


def _schema(*, zero: bool, whole: bool) -> WithJsonSchema:
    lower = {"minimum": 0} if zero else {"exclusiveMinimum": 0}
    upper = {"maximum": 1} if whole else {"exclusiveMaximum": 1}
    return WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", **lower, **upper},
                {"type": "integer", "minimum": 1, "maximum": LARGEST},
                {"type": "string", "pattern": r"^\s*([0-9]+(\.[0-9]*)?|\.[0-9]+)\s*%\s*$"},
            ]
        }
    )


def _part(value: Any) -> int | float:
    return _share(value, least="at least 0", whole=False)


def _some(value: Any) -> int | float:
    return _share(value, least="more than 0", whole=False)


def _up_to_all(value: Any) -> int | float:
    return _share(value, least="more than 0", whole=True)


Part = Annotated[int | float, BeforeValidator(_part), _schema(zero=True, whole=False)]
"""A share that can be nothing: a float in [0, 1) is a fraction, an int (at least 1) a count."""

Some = Annotated[int | float, BeforeValidator(_some), _schema(zero=False, whole=False)]
"""A share that is neither nothing nor everything: a float in (0, 1), or an int of at least 1."""

UpToAll = Annotated[int | float, BeforeValidator(_up_to_all), _schema(zero=False, whole=True)]
"""A share that can be everything: a float in (0, 1], or an int of at least 1."""


def count_of(amount: float | int, total: int) -> int:
    """The number of examples that a share or a count stands for.

    Args:
      amount: an int is a count; a float is a share of `total`, rounded to the nearest whole number
        and to 1 where that would be 0 (a share of 0.0 stays 0).
      total: the number of examples that a share is of.
    """
    if isinstance(amount, int):
        return amount
    return max(1, round(amount * total)) if amount > 0 else 0
