"""The lock that keeps a second process off the directory of a live run.

The lock is a file `lock.json` in the run directory that says who holds it. It counts for as long
as that process lives: one left behind by a kill is recognised and taken over. Two things tell:

- the operating system's lock on the file (`flock`), which ends with its process. It also decides
  between processes that find a dead lock at the same moment;
- the process's identity in the file, for file systems where `flock` does nothing: a process id
  alone may have been given to another process since, so its start is recorded as well.

Where neither can tell, as for a process on another host, the lock is respected. For POSIX systems.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import socket
import stat
import time
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Self

from senn_cli.errors import RunError, UsageError
from senn_cli.runs.holder import Holder
from senn_cli.runs.jsonl import dumps

LOCK = "lock.json"
"""Name of the file in a run directory."""

_PATIENCE = 1.0
"""Seconds to wait for a process that holds the file's lock but has not written its name yet."""

_MOST_BYTES = 1 << 16

_logger = logging.getLogger(__name__)


class RunLock:
    """Holds the lock of a run directory while its context is open.

    The file goes when the context is left, by an exception too, even if the directory was moved
    in the meantime. What a killed process leaves behind is taken over by the next.

    Where the file system has no `flock`, the identity in the file alone decides, and processes
    that take over a dead lock within the same milliseconds are not told apart.

    Args:
      path: the run directory, which must exist.

    Attributes:
      path: the lock file.
      taken_from: the dead process that had left its lock, or None.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute() / LOCK
        self.taken_from: Holder | None = None
        self._owner = 0
        self._folder = self._file = -1  # descriptors

    def __enter__(self) -> Self:
        """Takes the lock.

        Raises:
          UsageError: another process holds it, or may hold it; names its pid and host.
          RunError: the directory is missing or cannot be written.
        """
        deadline = time.monotonic() + _PATIENCE
        try:
            # The directory's own descriptor: it stays right when the directory is moved.
            self._folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
            while not self._take(last=time.monotonic() > deadline):
                time.sleep(0.02)
        except OSError as error:
            self._close()
            raise RunError(f"{self.path} cannot be locked: {error.strerror or error}") from error
        except BaseException:
            self._close()
            raise
        self._owner = os.getpid()
        if self.taken_from is not None:
            _logger.info("%s: taken over from %s, which has ended", self.path, self.taken_from)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Gives the lock up; in a forked child, which only has a copy of it, nothing happens."""
        if os.getpid() == self._owner:
            self._remove()
            self._close()

    def _take(self, *, last: bool) -> bool:
        """Takes the lock, or returns False where another process is just taking or leaving it."""
        # Not through a link: a run directory may come from anyone, and this file is overwritten.
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        self._file = os.open(LOCK, flags, 0o666, dir_fd=self._folder)
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            raise OSError("it is not a regular file")
        locked = lock_file(self._file)
        content = os.pread(self._file, _MOST_BYTES, 0)
        holder = Holder.from_json(content)
        if locked is False:
            named = holder is not None and holder.alive() is not False
            if named or last:
                raise self._refusal(holder if named else None)
            return self._again()
        if not self._is_in_place():  # its last holder removed it after we had opened it
            return self._again()
        if content and _respected(holder, locked=locked is True):
            raise self._refusal(holder)
        self._write()
        self.taken_from = holder
        return True

    def _again(self) -> bool:
        os.close(self._file)
        self._file = -1
        return False

    def _write(self) -> None:
        content = (dumps(asdict(Holder.current()), indent=2) + "\n").encode("utf-8")
        try:
            os.ftruncate(self._file, 0)
            if os.pwrite(self._file, content, 0) != len(content):
                raise OSError("the disk is full")
            os.fsync(self._file)
        except BaseException:
            self._remove()
            raise

    def _is_in_place(self) -> bool:
        """Whether the open file is still the one that the directory lists."""
        try:
            listed = os.stat(LOCK, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(listed, os.fstat(self._file))

    def _remove(self) -> None:
        # Whoever deleted the file by hand may have let another process make a new one.
        with contextlib.suppress(OSError):
            if self._is_in_place():
                os.unlink(LOCK, dir_fd=self._folder)

    def _close(self) -> None:
        for descriptor in (self._file, self._folder):
            if descriptor >= 0:
                os.close(descriptor)
        self._folder = self._file = -1

    def _refusal(self, holder: Holder | None) -> UsageError:
        run, here = self.path.parent, socket.gethostname()
        if holder is None:
            return UsageError(
                f"{run} is in use by another process.",
                hint=f"Wait until it has ended. If no process uses the run, delete {self.path}.",
            )
        if holder.host != here:
            hint = f"Whether that process still runs cannot be told from here (host {here}). If it "
            hint += f"does not, delete {self.path}."
        else:
            hint = "Wait until that process has ended, or stop it. "
            hint += f"If it is none of senn's, delete {self.path}."
        return UsageError(f"{run} is in use by {holder}.", hint=hint)


def lock_file(descriptor: int) -> bool | None:
    """Locks a file without waiting; False if another has it locked, None if nothing can."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # no such thing on this file system
        return None
    return True


def _respected(holder: Holder | None, *, locked: bool) -> bool:
    """Whether a lock file with something in it has to be left alone.

    Args:
      holder: who is named in it, None where that can't be read.
      locked: whether we hold the operating system's lock on it.
    """
    if holder is None:  # torn by a kill; without `flock`, perhaps in the middle of being written
        return not locked
    if locked and holder.pid == os.getpid() and holder.host == socket.gethostname():
        return False  # whoever it was, it is not another process
    return holder.alive() is not False
