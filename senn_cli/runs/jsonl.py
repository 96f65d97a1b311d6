"""Strict JSON, and files of JSON lines that survive a kill in the middle of a line.

Strict means: what RFC 8259 allows and nothing else. Python's `NaN` and `Infinity` are none of it
and become `null`. NumPy's (and JAX's) scalars and arrays are written as numbers and lists.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from senn_cli.errors import RunError
from senn_cli.runs.files import write_atomic

TAIL = 1 << 16
"""Bytes that are read first of the end of a file: a line of a history is seldom longer."""


def to_json(value: Any) -> Any:
    """Turns `value` into what JSON has: dict, list, str, int, float, bool or None.

    Accepts mappings with text keys, lists and tuples, paths, and everything with a `tolist` method
    (NumPy and JAX scalars and arrays, of any number of axes). Numbers that are not finite become
    None.

    Raises:
      TypeError: a value of another type, or a key that is no text.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)  # members of enumerations become their plain value, here ...
    if isinstance(value, int):
        return int(value)  # ... and here
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"a key of a JSON object must be text, not {key!r}")
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return to_json(value.tolist())
    raise TypeError(f"JSON has no place for a {type(value).__name__}: {value!r}")


def dumps(value: Any, *, indent: int | None = None) -> str:
    """Writes `value` as strict JSON in one line, or indented; letters of all scripts stay."""
    text = json.dumps(to_json(value), indent=indent, ensure_ascii=False, allow_nan=False)
    # A lone surrogate (half of a character, from a badly decoded file name) has no UTF-8 form.
    return text.encode("utf-8", errors="replace").decode("utf-8")


def append_row(path: Path, row: Mapping[str, Any]) -> None:
    """Appends `row` as one line and hands it to the operating system before it returns.

    A torn last line, left by a kill, is removed first; complete lines are never touched. One
    process at a time may append to a file.

    Raises:
      TypeError: the row holds something that JSON has no place for; nothing is written.
      OSError: the file cannot be written.
    """
    line = (dumps(row) + "\n").encode("utf-8")
    with path.open("ab+", buffering=0) as file:
        end = file.seek(0, os.SEEK_END)
        complete = _end_of_complete_lines(file, end)
        if complete != end:
            file.truncate(complete)
        written = file.write(line)
        if written != len(line):  # the disk is full: leave no torn line behind
            file.truncate(complete)
            raise OSError(f"only {written} of {len(line)} bytes were written")


def _end_of_complete_lines(file: Any, end: int, block: int = 4096) -> int:
    """The position after the last newline before `end`, or 0 where there is none."""
    while end > 0:
        start = max(0, end - block)
        file.seek(start)
        newline = file.read(end - start).rfind(b"\n")
        if newline >= 0:
            return int(start + newline + 1)
        end = start
    return 0


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Reads all rows in order; a torn last line is left out, a file that is missing has none.

    Raises:
      RunError: a complete line is not a JSON object; the message names file and line.
    """
    return parsed_rows(path, _content(path))


def parsed_rows(path: Path, content: bytes, first: int = 1) -> list[dict[str, Any]]:
    """The rows in a part of a file; a torn last line is left out.

    Args:
      path: of the file, for errors.
      content: from the beginning of a line on.
      first: the number of that line.

    Raises:
      RunError: a complete line is not a JSON object; the message names file and line.
    """
    *lines, _torn = content.split(b"\n")
    return [_row(path, number, line) for number, line in enumerate(lines, start=first)]


def cut_at(path: Path, size: int, aside: Path) -> int:
    """Moves what lies behind the first `size` bytes to the end of another file.

    What stays keeps its every byte. The rest reaches `aside` before it leaves `path`, so a kill
    loses nothing; it may leave it in both, and the next call then appends it to `aside` again.
    Where nothing is to be cut nothing is written.

    Returns:
      How many bytes were cut.

    Raises:
      RunError: `path` is shorter than `size`.
      OSError: a file cannot be written; `path` is then as it was.
    """
    content = _content(path)
    if len(content) < size:
        raise RunError(f"{path} has {len(content)} bytes, but {size} belong to the checkpoint")
    if len(content) > size:
        _append_bytes(aside, content[size:])
        write_atomic(path, content[:size].decode("utf-8"))
    return len(content) - size


def _content(path: Path) -> bytes:
    """All bytes of a file, none where it is missing."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}") from error


def _append_bytes(path: Path, content: bytes) -> None:
    """Appends `content` on a line of its own and has it reach the disk."""
    with path.open("ab+", buffering=0) as file:
        end = file.seek(0, os.SEEK_END)
        if end > 0:
            file.seek(end - 1)
            if file.read(1) != b"\n":
                content = b"\n" + content
        try:
            written = file.write(content)
            if written != len(content):
                raise OSError(f"only {written} of {len(content)} bytes were written")
            os.fsync(file.fileno())
        except OSError:
            file.truncate(end)
            raise


def _row(path: Path, number: int, line: bytes) -> dict[str, Any]:
    """Reads a complete line, the `number`th of its file."""
    try:
        row = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path}:{number}: not a line of JSON: {error}") from error
    if not isinstance(row, dict):
        raise RunError(f"{path}:{number}: expected a JSON object, found {line[:40]!r}")
    return row


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
    block = TAIL
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
