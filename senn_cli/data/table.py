"""The cells of a text table with their lines, as they stand in the file."""

from __future__ import annotations

import csv
from pathlib import Path

from senn_cli.errors import DataError
from senn_cli.given import require_file

Row = tuple[int, list[str]]
"""A row's last line in the file, from 1, and its cells without surrounding blanks."""


def read_cells(path: Path, delimiter: str) -> list[Row]:
    """All rows of a table in order, those without any content left out.

    Raises:
      DataError: the file is empty, cannot be read, is not UTF-8, or has a quote that never ends;
        the message names file and line.
    """
    require_file(path)
    rows: list[Row] = []
    try:
        # utf-8-sig drops the mark that spreadsheets put in front of the first column's name.
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            try:
                for cells in reader:
                    if any(cell.strip() for cell in cells):
                        rows.append((reader.line_num, [cell.strip() for cell in cells]))
            except csv.Error as error:
                raise DataError(f"{path}:{reader.line_num}: {error}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text: {error.reason}") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    if not rows:
        raise DataError(f"{path} is empty")
    return rows
