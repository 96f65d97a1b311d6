"""Tables, wherever they come from: named columns of texts or of numbers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from senn_cli.data.dataset import Array
from senn_cli.errors import DataError

_SHOWN_FAULTS = 5

Cells = list[str] | Array
"""A column: texts, some of them perhaps numbers, an empty one where a value is missing; or numbers
`(N,)`, int64, uint64 or float64, with NaN where a value is missing."""


@dataclass(frozen=True)
class Table:
    """Named columns of one length.

    Attributes:
      name: how to call it in a sentence: its file, or the argument that it was given as.
      header: the names of its columns; `x1`, `x2`, ... where it has none.
      columns: their values.
      lines: the line of every row in the file; None where rows are counted, from 0.
      named: whether the names are the table's own.
      delimiter: what separates cells of text.
      declared: columns that are categories by their type, whatever is in them.
      vectors: the columns that a column of vectors became, by its name.
      targets: the columns that are predicted, where its source knows of some.
      classes: names of classes in a first line as scikit-learn writes it.
      notes: what was found, as sentences.
    """

    name: str
    header: tuple[str, ...]
    columns: tuple[Cells, ...]
    lines: Sequence[int] | None = None
    named: bool = True
    delimiter: str = ","
    declared: tuple[str, ...] = ()
    vectors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.columns[0]) if self.columns else 0

    @property
    def short(self) -> str:
        """Its name without the folders that it is in."""
        return os.path.basename(self.name)

    def values(self, name: str) -> Cells:
        """A column as it is."""
        return self.columns[self.header.index(name)]

    def column(self, name: str) -> list[str]:
        """A column as texts, empty where a value is missing."""
        return texts(self.values(name))

    def where(self, row: int) -> str:
        """How to call a row in an error: file and line."""
        return f"{self.name}, row {row}" if self.lines is None else f"{self.name}:{self.lines[row]}"

    def renamed(self, names: Sequence[str]) -> Table:
        """The same table with other names, one a column."""
        return replace(self, header=tuple(names))


def texts(values: Cells) -> list[str]:
    """A column as texts: whole numbers without a point, nothing for NaN."""
    if isinstance(values, list):
        return values
    return [_text(value) for value in values.tolist()]


def _text(value: float) -> str:
    if value != value:
        return ""
    return str(int(value)) if abs(value) < 2**53 and value == int(value) else repr(value)


def raise_faults(faults: Sequence[str], hint: str | None = None) -> None:
    """Raises DataError with the first few faults, and the number of the others."""
    if not faults:
        return
    lines = list(faults[:_SHOWN_FAULTS])
    if len(faults) > _SHOWN_FAULTS:
        lines.append(f"and {len(faults) - _SHOWN_FAULTS} more")
    raise DataError("\n".join(lines), hint=hint)
