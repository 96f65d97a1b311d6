"""Tables as text: what separates their cells, and which line names the columns."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from senn_cli.data.delimiter import BLANKS, plain, sniff
from senn_cli.data.header import Head, recognise
from senn_cli.data.table import Table, raise_faults
from senn_cli.errors import DataError
from senn_cli.given import require_file
from senn_cli.words import plural

_HEADER_WITHIN = 100  # rows that are searched for names that are known
_NAMES = {"\t": "a tab", " ": "blanks", ",": "a comma", ";": "a semicolon", "|": "a bar"}

Row = tuple[int, list[str]]
"""A row's first line in the file, from 1, and its cells without surrounding blanks."""


def read_table(
    path: Path,
    delimiter: str = "auto",
    header: str | int = "auto",
    names: Sequence[str] | None = None,
) -> Table:
    """Reads a table, compressed by gzip or not.

    Files are UTF-8. Blank lines are skipped, blanks around a cell are dropped. A column without a
    name that is empty or counts the rows, as programs write it in front, is left out.

    Args:
      path: the file.
      delimiter: what separates cells: a character (a space stands for runs of blanks), or `auto`.
      header: `auto`, `none`, or the number of the line that names the columns, from 1; the lines
        before it are skipped.
      names: columns that the header must name, where they are known: the first row that has all
        of them is the header, whatever `header` says.

    Raises:
      DataError: a file that cannot be read, or is no table; the message names file and line.
    """
    text = _text(path)
    first = header if isinstance(header, int) and names is None else 1
    lines = list(io.StringIO(text, newline=""))[first - 1 :]
    found = sniff(lines) if delimiter == "auto" else delimiter
    rows = list(_rows(path, lines, found, first))
    if not rows:
        raise DataError(f"{path} is empty" + (f" from line {first} on" if first > 1 else ""))
    head = _head(rows, header, names)
    body = rows[head.skip :]
    if not body:
        raise DataError(f"{path} has a header but no rows")
    notes = list(head.notes)
    if delimiter == "auto" and found != ",":
        notes.append(f"cells are separated by {_NAMES[found]}")
    if head.names is None:
        count = len(body[0][1])
        own = tuple(f"x{number}" for number in range(1, count + 1))
    else:
        body, own, more = _named(path, head.names, rows[head.skip - 1][0], body, found)
        notes += more
    raise_faults(
        [
            f"{path}:{line}: {plural(len(cells), 'cell')}, but "
            + (f"the header has {len(own)}" if head.names else f"the first row has {len(own)}")
            for line, cells in body
            if len(cells) != len(own)
        ]
    )
    return Table(
        name=str(path),
        header=own,
        columns=tuple([cells[place] for _, cells in body] for place in range(len(own))),
        lines=[line for line, _ in body],
        named=head.names is not None,
        delimiter=found,
        classes=head.classes,
        notes=tuple(f"{path.name}: {note}" for note in notes),
    )


def _text(path: Path) -> str:
    require_file(path)
    try:
        content = path.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        # utf-8-sig drops the mark that spreadsheets put in front of the first column's name.
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is not UTF-8 text: {error.reason}", hint="save it in the encoding UTF-8"
        ) from error
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"{path} cannot be read: {reason}") from error


def _rows(path: Path, lines: Sequence[str], delimiter: str, first: int) -> Iterator[Row]:
    """All rows that have any content; `first` is the number of the first line."""
    blanks = delimiter == BLANKS
    text = map(plain, lines) if blanks else lines
    reader = csv.reader(text, delimiter=delimiter, skipinitialspace=blanks, strict=True)
    line = first
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield line, [cell.strip() for cell in cells]
            line = first + reader.line_num
    except csv.Error as error:
        # The row's first line: a quote that never ends is noticed at the end of the file alone.
        raise DataError(
            f"{path}:{line}: {error}, in the row that begins here",
            hint="a quote in it may lack its other end",
        ) from error


def _head(rows: Sequence[Row], header: str | int, names: Sequence[str] | None) -> Head:
    if names is not None:
        for number, (_, cells) in enumerate(rows[:_HEADER_WITHIN]):
            if set(names) <= set(cells):
                return Head(tuple(cells), number + 1)
    if isinstance(header, int):
        return Head(tuple(rows[0][1]), 1)
    if header == "none":
        return Head(None, 0)
    return recognise([cells for _, cells in rows])


def _named(
    path: Path, names: Sequence[str], line: int, body: list[Row], delimiter: str
) -> tuple[list[Row], tuple[str, ...], list[str]]:
    """Rows and names without columns that have no name and tell nothing; notes on these."""
    where, notes = f"{path}:{line}", []
    if not names[-1] and all(len(cells) == len(names) - 1 for _, cells in body):
        names = names[:-1]  # a delimiter at the end of the header alone
    out = set()
    for place, name in enumerate(names):
        if name:
            continue
        cells = [cells[place] for _, cells in body if place < len(cells)]
        counts = [str(number) for number in range(len(cells) + 1)]
        if not any(cells):
            notes.append(f"column {place + 1} has no name and is empty; it is left out")
        elif cells in (counts[:-1], counts[1:]):
            notes.append(f"column {place + 1} has no name and counts the rows; it is left out")
        else:
            raise DataError(f"{where}: column {place + 1} has no name")
        out.add(place)
    if out:
        body = [(at, [c for place, c in enumerate(row) if place not in out]) for at, row in body]
        names = [name for place, name in enumerate(names) if place not in out]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise DataError(f"{where}: two columns are called {name!r}")
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|,"):
        raise DataError(
            f"{where}: only one column, {names[0]!r}, is found with the delimiter {delimiter!r}",
            hint="set data.delimiter, or leave it out",
        )
    return body, tuple(names), notes
