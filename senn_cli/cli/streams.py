"""Standard output and error as a command needs them: nothing that happens to them is a traceback.

* What an encoding lacks is written as its backslash escape.
* Standard error is chatter: where it can't be written (its reader has gone, its disk is full, it is
  closed), it is given up and the command goes on in silence. A training must not end for it.
* Standard output is the result: where it can't be written, that is an `OutputError`.
"""

from __future__ import annotations

import errno
import io
import logging
import os
import sys
from typing import Any, TextIO

from senn_cli.errors import OutputError
from senn_cli.report.words import printable_lines


class _Descriptor(io.FileIO):
    """A file descriptor that is turned to nowhere at the first error, which is then told once."""

    def __init__(self, number: int, *, lenient: bool) -> None:
        super().__init__(number, "w", closefd=False)
        self._lenient = lenient

    def write(self, content: Any, /) -> Any:
        """Writes bytes; returns how many, or None where a reader is to be waited for."""
        try:
            written = super().write(content)
            return len(content) if written is None and self._lenient else written
        except OSError as error:
            number = self.fileno()
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, number)
            os.close(nowhere)
            if self._lenient:
                return len(content)
            why = "it is closed" if error.errno == errno.EBADF else error.strerror or str(error)
            gone = error.errno == errno.EPIPE
            raise OutputError(f"standard output cannot be written: {why}", gone=gone) from error


class _Printable(logging.Formatter):
    """Messages quote files and paths."""

    def format(self, record: logging.LogRecord) -> str:
        """The message, without anything that could steer a terminal."""
        return printable_lines(super().format(record))


def secure() -> None:
    """Replaces `sys.stdout` and `sys.stderr` by streams that keep the rules above.

    What is logged where nobody has set up logging goes to standard error as `printable` text.
    """
    for number in (0, 1, 2):
        _require_open(number)
    sys.stdout = _stream(1, sys.stdout, lenient=False)
    sys.stderr = _stream(2, sys.stderr, lenient=True)
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Printable())


def _require_open(number: int) -> None:
    """Opens a descriptor that the caller has closed, so that no file of ours gets its number."""
    try:
        os.fstat(number)
    except OSError:
        # Not to be written to: what would be lost is an error.
        os.open(os.devnull, os.O_RDONLY)  # the lowest number that is free


def _stream(number: int, old: TextIO | None, *, lenient: bool) -> TextIO:
    descriptor = _Descriptor(number, lenient=lenient)
    return io.TextIOWrapper(
        io.BufferedWriter(descriptor),
        encoding="utf-8" if old is None else old.encoding,
        errors="backslashreplace",
        line_buffering=lenient or descriptor.isatty(),
    )
