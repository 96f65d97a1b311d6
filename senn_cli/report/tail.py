"""The end of a file of JSON lines, without reading what comes before it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from senn_cli.errors import RunError

BLOCK = 1 << 16
"""Bytes that are read first: a line of a history is seldom longer."""


def last_row(
    path: Path, check: Callable[[str, dict[str, Any]], None] = lambda where, row: None
) -> dict[str, Any] | None:
    """The last complete row of a file of JSON lines, read from its end; None where there is none.

    Args:
      path: of the file.
      check: is given what to call the row in an error, and the row.

    Raises:
      RunError: it is not a JSON object, `check` refuses it, or the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            line = _last_line(file, file.seek(0, os.SEEK_END))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}") from error
    if line is None:
        return None
    try:
        row = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path}: the last line is not a line of JSON: {error}") from error
    if not isinstance(row, dict):
        raise RunError(f"{path}: expected a JSON object in the last line, found {line[:40]!r}")
    check(f"{path}, last line", row)
    return row


def _last_line(file: BinaryIO, end: int) -> bytes | None:
    block = BLOCK
    while True:
        start = max(0, end - block)
        file.seek(start)
        *lines, _torn = file.read(end - start).split(b"\n")
        if start > 0:
            del lines[:1]  # its beginning may be missing
        if lines:
            return lines[-1]
        if start == 0:
            return None
        block *= 8
