"""What separates the cells of a table: found by trying, as a wrong guess gives ragged rows."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence

BLANKS = " "
"""The delimiter that stands for runs of spaces and tabs."""

_LINES = 200
# In this order where several split all rows alike: `1,5;2,5` has two cells and decimal commas.
_CANDIDATES = ("\t", ";", "|", ",")
_ENOUGH = 0.9  # of the rows; a first line that is no header may have another number of cells


def sniff(lines: Sequence[str]) -> str:
    """The delimiter by which most of the first rows have the same number of cells, above one.

    Blanks are taken only where nothing else fits and every row has the same number of cells: a
    single column of text has blanks, too. A comma where nothing splits the rows.
    """
    best, most = ",", 0.0
    for candidate in _CANDIDATES:
        share = _alike(lines[:_LINES], candidate)
        if share > most:
            best, most = candidate, share
    if most < _ENOUGH and _alike(lines[:_LINES], BLANKS) == 1.0:
        return BLANKS
    return best


def plain(line: str) -> str:
    """A line whose cells are separated by runs of blanks, without tabs and blanks at its end."""
    return line.replace("\t", " ").rstrip() + "\n"


def _alike(lines: Sequence[str], delimiter: str) -> float:
    """The share of rows with the most frequent number of cells; 0 where that is one."""
    blanks = delimiter == BLANKS
    text = [plain(line) for line in lines] if blanks else list(lines)
    try:
        rows = [
            row for row in csv.reader(text, delimiter=delimiter, skipinitialspace=blanks) if row
        ]
    except csv.Error:
        return 0.0
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if not rows:
        return 0.0
    cells, count = Counter(map(len, rows)).most_common(1)[0]
    return count / len(rows) if cells > 1 else 0.0
