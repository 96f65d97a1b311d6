"""Examples that come one after another, joined in memory or, where they are many, in a file."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.errors import DataError
from senn_cli.words import in_bytes

Moved = Callable[[Array], tuple[Array, list[str]]]
"""What brings some examples into another form, and says so."""


class Joined:
    """Examples that are joined as they come.

    Args:
      limit: bytes above which they go into a file.
      batched: whether several come at a time.
    """

    def __init__(self, limit: int, batched: bool) -> None:
        self.limit, self.batched = limit, batched
        self._held: list[Array] = []
        self._count, self._bytes = 0, 0
        self._file: Path | None = None
        self._like: Array | None = None

    def __len__(self) -> int:
        """How many examples came."""
        return self._count

    def add(self, array: Array, moved: Moved | None) -> list[str]:
        """Joins one example or batch, after `moved`, whose words are returned."""
        rows, told = array if self.batched else array[None], list[str]()
        if moved is not None:
            rows, told = moved(rows)
        self._count += len(rows)
        self._bytes += rows.nbytes
        self._like = rows if self._like is None else self._like
        self._held.append(rows)
        if self._bytes > self.limit:
            self._write()
        return told

    def joined(self) -> tuple[Array, str]:
        """All of them, mapped where they are in a file, and where that is, in words."""
        if self._file is None:
            return np.concatenate(self._held), "memory"
        assert self._like is not None
        shape = (self._count, *self._like.shape[1:])
        found: Array = np.memmap(self._file, self._like.dtype, "r", 0, shape)
        weakref.finalize(found, self._file.unlink, missing_ok=True)
        return found, "a file, which is mapped"

    def _write(self) -> None:
        """Appends to the file what is held."""
        assert self._like is not None
        try:
            if self._file is None:
                with tempfile.NamedTemporaryFile(prefix="senn-", suffix=".rows", delete=False) as f:
                    self._file = Path(f.name)
            with self._file.open("ab") as file:
                for rows in self._held:
                    np.ascontiguousarray(rows, self._like.dtype).tofile(file)
        except OSError as error:
            if self._file is not None:
                self._file.unlink(missing_ok=True)
            raise DataError(
                f"{self._file or tempfile.gettempdir()} cannot take {in_bytes(self._bytes)} of "
                f"examples: {error.strerror or error}",
                hint="Set TMPDIR to a directory with room.",
            ) from error
        self._held = []
