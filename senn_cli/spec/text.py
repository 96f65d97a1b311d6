"""Reading a file that a person wrote: a text of modest size, or a word on why it is none."""

from __future__ import annotations

from pathlib import Path

from senn_cli.errors import SennError
from senn_cli.given import require_file
from senn_cli.spec.describe import printable

LARGEST_FILE = 250_000
"""Bytes of the largest file that is read: PyYAML takes seconds for them."""


def read_text(file: Path, what: str, error: type[SennError]) -> str:
    """The text in a file, as UTF-8.

    Args:
      file: its name stands in messages as it is given here.
      what: what it should be, such as `spec`.
      error: the class of what is raised.

    Raises:
      FileNotFoundError: there is none.
      SennError: it is no file, too large, not UTF-8, or cannot be read.
    """
    name = printable(str(file))
    require_file(file, error, streams=True)
    try:
        with file.open("rb") as opened:
            content = opened.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "strerror", None) or str(failure)
        raise error(f"{name}: can't be read: {reason}") from None
    if len(content) > LARGEST_FILE:
        raise error(
            f"{name}: more than {LARGEST_FILE:,} bytes, which no {what} needs; is this the file "
            "that was meant?"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        at = failure.start
        line = content.count(b"\n", 0, at) + 1
        start = content.rfind(b"\n", 0, at) + 1
        column = len(content[start:at].decode("utf-8", errors="replace")) + 1
        raise error(
            f"{name}:{line}: not UTF-8 text: the byte 0x{content[at]:02x} in column {column}"
        ) from None
