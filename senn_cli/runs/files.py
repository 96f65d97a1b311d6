"""Files that are replaced as a whole: a reader sees the old content or the new, never a part."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


def write_atomic(path: Path, content: str | bytes) -> None:
    """Writes `content` to `path`, replacing what is there at once; a text as UTF-8, as it is.

    It goes to a file beside `path` first, reaches the disk and is then renamed, so a kill or
    a full disk at any instant leaves the previous content whole.

    Raises:
      OSError: the directory cannot be written or the disk is full; `path` is as it was.
    """
    # Not `tempfile`: its files are readable by their owner alone, whatever the umask says.
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(3)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def nearest_existing(path: Path) -> Path:
    """The first of `path` and its parents that exists."""
    path = path.absolute()
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def why_not_writable(directory: Path) -> str | None:
    """Why no file can be made in `directory`, or None where one can.

    Where the directory does not exist, its nearest existing parent is tried. A file is really
    made and removed again, since permissions alone do not tell of a read-only file system.
    """
    place = nearest_existing(directory)
    if not place.is_dir():
        return f"{place} is not a directory"
    probe = place / f".senn-probe-{os.getpid()}-{secrets.token_hex(3)}"
    try:
        probe.open("xb").close()
        probe.unlink()
    except OSError as error:
        return f"{place}: {error.strerror or error}"
    return None
