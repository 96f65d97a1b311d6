"""Taking named arrays out of a file, strictly: each once, and of the shape that it must have.

Nothing is cut, padded or guessed, and whatever is done to an array is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from senn_cli.errors import RunError, UsageError
from senn_cli.spec.suggest import closest
from senn_cli.use.import_files import WeightsFile, as_float32

Tree = dict[str, dict[str, np.ndarray]]


@dataclass(frozen=True)
class Origin:
    """Where one array of the network comes from.

    Attributes:
      array: its name here, such as `params/map_0/kernel`.
      shape: here.
      words: the array of the file and what was done to it.
      zero: whether the file has none, and it is zero.
    """

    array: str
    shape: tuple[int, ...]
    words: str
    zero: bool = False


@dataclass
class Reader:
    """Takes arrays from a file, and remembers which were taken for what."""

    file: WeightsFile
    mapping: str
    origins: list[Origin] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def take(
        self, name: str, place: str, shape: tuple[int | None, ...], order: tuple[int, ...] = ()
    ) -> tuple[np.ndarray, list[str]]:
        """The array `name` as float32, its axes in `order`, and what was done to it.

        Args:
          place: what it is, for messages.
          shape: what it must have in the file; None for any size.

        Raises:
          UsageError: there is none of that name, or it is named twice.
          RunError: another shape or type, or numbers that are not finite.
        """
        if name not in self.file.names:
            near = closest(name, self.file.names)
            raise UsageError(
                f"{self.file.path} has no array {name}, which {self.mapping} names as {place}",
                hint=f"Did you mean {near}?" if near else f"It has: {', '.join(self.file.names)}",
            )
        if name in self.taken:
            raise UsageError(f"{self.mapping} names the array {name} twice, at last as {place}")
        self.taken.add(name)
        array = self.file.load(name)
        if not _fits(array.shape, shape):
            turned = len(shape) == 2 and _fits(array.shape[::-1], shape)
            raise RunError(
                f"{self.file.path}: the array {name} has the shape {_shown(array.shape)}, expected "
                f"{_shown(shape)} as {place}",
                hint="Its axes look exchanged: see `transpose:` in the mapping."
                if turned
                else None,
            )
        found, changed = as_float32(array, name, self.file.path)
        words = [f"from {name}"]
        if order:
            found = np.ascontiguousarray(found.transpose(order))
            words.append("transposed")
        return found, [*words, changed] if changed else words

    def told(self, array: str, value: np.ndarray, words: Sequence[str]) -> np.ndarray:
        """`value`, noted down as the array of that name."""
        self.origins.append(Origin(f"params/{array}", value.shape, ", ".join(words)))
        return value

    def bias(self, name: str | None, array: str, outputs: int) -> np.ndarray:
        """A map's bias; zero where the mapping names none."""
        if name is None:
            told = "zero: the mapping names no bias for this map"
            self.origins.append(Origin(f"params/{array}", (outputs,), told, zero=True))
            return np.zeros(outputs, np.float32)
        value, words = self.take(name, f"the bias of {array.partition('/')[0]}", (outputs,))
        return self.told(array, value, words)


def _fits(found: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(found) == len(wanted) and all(
        n == m or m is None for n, m in zip(found, wanted, strict=True)
    )


def _shown(shape: tuple[int | None, ...]) -> str:
    return f"({', '.join('any' if n is None else str(n) for n in shape)})"


def check_finite(params: Tree, path: str) -> None:
    """Raises `RunError` naming the first array with numbers that are not finite."""
    for part, leaves in params.items():
        for leaf, array in leaves.items():
            if not np.isfinite(array).all():
                raise RunError(f"{path}: the array {part}.{leaf} has numbers that are not finite")
