"""Numbers with their nouns, in every text that a user reads."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence


def plural(count: float, one: str, many: str = "") -> str:
    """`1 round`, `no rounds`, `1,200 rounds`, `2.5 epochs`.

    Args:
      count: whole numbers with commas, others with four digits.
      one: the noun, or a noun and a verb (`round has`), for one.
      many: for any other number; by default with an `s`.
    """
    if count == 1:
        return f"1 {one}"
    amount = f"{count:,}" if isinstance(count, int) else f"{count:,.4g}"
    return f"{'no' if count == 0 else amount} {many or one + 's'}"


def hidden_units(widths: Sequence[int], unit: str) -> str:
    """`16-24 hidden neurons`, `1 hidden channel`, `no hidden neurons`."""
    if len(widths) <= 1:
        return plural(sum(widths), f"hidden {unit}")
    return f"{'-'.join(map(str, widths))} hidden {unit}s"


def in_bytes(count: int) -> str:
    """Bytes with a unit, in powers of ten: `12.3 MB`."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:,.1f} {unit}"
    return f"{count} B"


def quoted(word: object) -> str:
    """`word` as a shell takes it for one; letters of any language need no quotes."""
    text = str(word)
    return text if re.fullmatch(r"[\w@%+=:,./-]+", text) else shlex.quote(text)
