"""How messages show what was found in a spec: short, on one line and with nothing unprintable."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from senn_cli.errors import escaped

_LONGEST = 40


def describe(value: Any) -> str:
    """What a value is, in words: `true`, `.nan`, `the text "fast"`, `a list of 3`.

    Containers are named and not printed: aliases can make a small file an enormous value.
    """
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else "-.inf" if value < 0 else ".inf"
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, str):
        return f"the text {quote(value)}"
    if isinstance(value, Mapping):
        keys = [printable(str(key)) for key in list(value)[:4]]
        if not keys:
            return "an empty mapping"
        more = ", ..." if len(value) > len(keys) else ""
        return f"a mapping with {', '.join(keys)}{more}"
    if isinstance(value, Sequence):
        return f"a list of {len(value)}" if len(value) else "an empty list"
    return f"a {type(value).__name__}"


def _number(value: int | float) -> str:
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    # Python refuses to print integers of more than 4300 digits.
    return str(value) if abs(value) < 10**20 else "an integer of more than 20 digits"


def quote(text: str) -> str:
    """A text in double quotes, cut when it is long."""
    shown = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
    return f'"{printable(shown)}"'


def printable(text: str) -> str:
    """The text with control characters and line ends escaped, so that it can't steer a terminal."""
    return escaped(text).replace("\n", "\\n")


def dotted(path: Iterable[str | int]) -> str:
    """A path in the form that `--set` takes, such as `network.hidden.0`."""
    return ".".join(printable(str(part)) for part in path)


def alternatives(names: Iterable[str], *, last: str = "or") -> str:
    """Names as a list in English: `a, b or c`."""
    listed = list(names)
    if len(listed) < 2:
        return "".join(listed)
    return f"{', '.join(listed[:-1])} {last} {listed[-1]}"
