"""A fault that involves several keys, before its place in a file is known."""

from __future__ import annotations

from dataclasses import dataclass
from operator import eq


@dataclass(frozen=True)
class Found:
    """A fault.

    Attributes:
      path: the key that is blamed.
      message: what is wrong, starting with a verb.
      others: the other keys that the fault depends on, each with dots between its parts.
      unread: whether nothing is wrong but that the key is not read under the spec's choices.
    """

    path: tuple[str | int, ...]
    message: str
    others: tuple[str, ...] = ()
    unread: bool = False

    def involves(self, path: tuple[str | int, ...]) -> bool:
        """Whether the fault depends on a key, or on something above or below it."""
        mine = [self.path, *(tuple(other.split(".")) for other in self.others)]
        return any(all(map(eq, own, path)) for own in mine)  # `map` stops at the shorter path
