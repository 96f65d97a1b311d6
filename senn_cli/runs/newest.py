"""The newest checkpoint of a run that can be restored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from senn_cli.errors import RunError
from senn_cli.runs.checkpoints import CheckpointStore

T = TypeVar("T")


@dataclass(frozen=True)
class Newest(Generic[T]):
    """The newest checkpoint that could be restored.

    Attributes:
      step: its step, None where none could be restored.
      value: what restoring it gave, else None.
      failed: the newer ones, newest first, each with the reason why it could not be.
    """

    step: int | None
    value: T | None
    failed: tuple[tuple[int, str], ...]


def newest_good(store: CheckpointStore, try_restore: Callable[[int], T]) -> Newest[T]:
    """Goes back from the newest complete checkpoint to the first that can be restored.

    Args:
      store: where they are.
      try_restore: restores a step; a RunError says that it can't be.
    """
    failed: list[tuple[int, str]] = []
    for step in reversed(store.steps()):
        try:
            return Newest(step, try_restore(step), tuple(failed))
        except RunError as error:
            failed.append((step, error.message))
    return Newest(None, None, tuple(failed))
