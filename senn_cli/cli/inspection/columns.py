"""Columns that fit a narrow terminal: the least important ones are left out, texts are folded.

rich's tables break every cell into pieces where room is short, and take seconds for ten thousand
rows.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from senn_cli.cli.inspection.screen import Line, Screen, Style

MATTERS = 4
"""Columns of this rank or a lower one stand closer together before they are left out."""

LEAST_TEXT = 24
"""Columns of a terminal below which a text is not folded; another column is left out instead."""


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes:
      heading: its name.
      cells: one text a row.
      right: whether they stand on the right, as numbers do.
      rank: 0 for one that is always shown; the highest ranks are left out first.
      folds: whether long cells go on in the lines below; for the last column.
    """

    heading: str
    cells: Sequence[str]
    right: bool = False
    rank: int = 0
    folds: bool = False

    @property
    def width(self) -> int:
        """Letters of the longest cell or the heading."""
        return max(map(len, (self.heading, *self.cells)))


def lay_out(
    columns: Sequence[Column],
    screen: Screen,
    styles: Sequence[Style] | None = None,
    notes: Mapping[int, str] | None = None,
) -> list[Line]:
    """The heading and the rows as lines.

    Args:
      columns: with equally many cells; those without any text are left out.
      screen: gives the width.
      styles: of every row.
      notes: lines that stand before the rows of these indices.
    """
    shown = [column for column in columns if any(column.cells) or column.rank == 0]
    widths = {id(column): column.width for column in shown}
    gap = 2
    while (total := _least(shown, widths, gap)) > screen.width:
        worst = max(shown, key=lambda column: column.rank)
        # Before something that matters goes, columns move together.
        if worst.rank <= MATTERS and gap == 2:
            gap = 1
        elif worst.rank == 0:
            break
        else:
            shown.remove(worst)
    for column in shown:
        if column.folds:
            others = total - min(widths[id(column)], LEAST_TEXT)
            widths[id(column)] = max(LEAST_TEXT // 2, screen.width - others)
    heading = _row([column.heading for column in shown], shown, widths, gap)
    lines: list[Line] = [(line, "bold") for line in heading]
    for index, cells in enumerate(zip(*(column.cells for column in shown), strict=True)):
        style: Style = styles[index] if styles else ""
        if notes and index in notes:
            lines.append((notes[index], "dim"))
        lines += [(line, style) for line in _row(cells, shown, widths, gap)]
    return lines


def _least(shown: Sequence[Column], widths: dict[int, int], gap: int) -> int:
    """The columns that are needed, with a folded text as narrow as it may be."""
    needed = [min(widths[id(c)], LEAST_TEXT) if c.folds else widths[id(c)] for c in shown]
    return sum(needed) + gap * (len(shown) - 1)


def _row(
    cells: Sequence[str], shown: Sequence[Column], widths: dict[int, int], gap: int
) -> list[str]:
    first, rest, start = [], [], 0
    for cell, column in zip(cells, shown, strict=True):
        width = widths[id(column)]
        if column.folds and len(cell) > width:
            cell, *more = textwrap.wrap(cell, width) or [""]
            rest = [" " * start + line for line in more]
        first.append(cell.rjust(width) if column.right else cell.ljust(width))
        start += width + gap
    return [(" " * gap).join(first).rstrip(), *rest]
