"""What a user's path names: a regular file, or else an error; and what its content looks like."""

from __future__ import annotations

import re
import stat
from pathlib import Path

from senn_cli.errors import DataError, SennError

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

_STREAM = re.compile(r"/dev/(stdin|fd/\d+)|/proc/self/fd/\d+")

_READ = 4096  # bytes that tell what a file is

_BEGINNINGS = (
    (b"PK\x03\x04", "a zip archive"),
    (b"\x93NUMPY", "a single NumPy array (.npy)"),
    (b"\x1f\x8b", "a gzip file"),
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"BM", "a BMP image"),
    (b"\x89HDF\r\n", "an HDF5 file"),
    (b"PAR1", "a Parquet table"),
    (b"ARROW1", "an Arrow table"),
    (b"MATLAB 5.0", "a MATLAB file"),
    (b"%PDF", "a PDF document"),
    (b"version https://git-lfs", "the pointer that Git LFS leaves in place of a file"),
    *((b"\x80" + bytes([version]), "a Python pickle") for version in range(2, 6)),
)

TABLE = "a table of text"
"""What `looks_like` calls a text whose first line has cells."""


def require_file(path: Path, error: type[SennError] = DataError, *, streams: bool = False) -> None:
    """Raises `error` where `path` is something else than a regular file, such as a pipe.

    Whoever opens a pipe without a writer waits for ever. A path that does not exist passes: the
    reader's own message says so.

    Args:
      path: as the user named it.
      error: of which class.
      streams: whether what the shell hands over is taken, too: `/dev/stdin`, and the `/dev/fd/63`
        that stands for `<(command)`. Its reader must read it once, from its beginning to its end.
    """
    if streams and _STREAM.fullmatch(str(path)):
        return
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return
    if stat.S_ISREG(mode):
        return
    kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "something else")
    hint = None if stat.S_ISDIR(mode) else "Write what it delivers to a file, and name that."
    raise error(f"{path} is {kind}, not a regular file", hint=hint)


def looks_like(path: Path) -> str | None:
    """What a regular file seems to be, such as `a table of text`; None where nothing tells."""
    try:
        with path.open("rb") as file:
            start = file.read(_READ)
    except OSError:
        return None
    if not start:
        return "an empty file"
    for beginning, name in _BEGINNINGS:
        if start.startswith(beginning):
            return name
    if start.startswith(b"RIFF") and start[8:12] == b"WEBP":
        return "a WebP image"
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "a text in UTF-16"
    return _text(start)


def _text(start: bytes) -> str | None:
    try:
        # The last character may be cut.
        text = start.decode("utf-8-sig", errors="strict" if len(start) < _READ else "ignore")
    except UnicodeDecodeError:
        return None
    if any(not (letter.isprintable() or letter in "\t\r\n\f") for letter in text):
        return None
    lines = [line for line in text.splitlines() if line.strip()]
    head = lines[0].lstrip().lower() if lines else ""
    if head.startswith(("<!doctype html", "<html")):
        return "a web page"
    if head.startswith(("{", "[")):
        return "a text of JSON"
    if any(mark in head for mark in ",;\t|"):
        return TABLE
    return "a text"
