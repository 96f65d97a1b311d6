"""Taking arrays from a file of weights strictly: each once, and of the shape that it must have.

Nothing is cut, padded or guessed, and whatever is done to an array is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from senn_cli.errors import RunError, UsageError
from senn_cli.nets.features import ArrayTree
from senn_cli.spec.suggest import closest
from senn_cli.use.weights_files import WeightsFile
from senn_cli.words import plural


def as_float32(array: np.ndarray, name: str, path: Path) -> tuple[np.ndarray, str]:
    """The array as float32, and what was changed for that, in words; empty where it was.

    Raises:
      RunError: numbers that are not finite, or too large for float32.
    """
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        where = tuple(int(i) for i in bad[0])
        raise RunError(
            f"{path}: the array {name} has "
            f"{plural(len(bad), 'number that is', 'numbers that are')} not finite, the first "
            f"({array[where]}) at index {where}"
        )
    with np.errstate(over="ignore"):
        found = np.ascontiguousarray(array, np.dtype(np.float32))
    if not np.isfinite(found).all():
        raise RunError(f"{path}: the array {name} has numbers too large for float32")
    if array.dtype.newbyteorder("=") == np.float32:
        return found, ""
    wide = array.astype(np.float64)
    change = float(np.abs(found - wide).max(initial=0.0))
    lost = f", changed by {change:.1e} at most" if change else ", exactly"
    return found, f"{array.dtype.name} converted to float32{lost}"


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


class Taken(NamedTuple):
    """An array, what was done to it, and whether it is zero as the file has none."""

    value: np.ndarray
    words: list[str]
    zero: bool = False


_NO_BIAS = "zero: the mapping names no bias for this map"


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

    def told(
        self, array: str, value: np.ndarray, words: Sequence[str], *, zero: bool = False
    ) -> np.ndarray:
        """`value`, noted down as the array of that name."""
        self.origins.append(Origin(f"params/{array}", value.shape, ", ".join(words), zero))
        return value

    def bias(self, name: str | None, place: str, outputs: int) -> Taken:
        """A map's bias; zero where the mapping names none."""
        if name is None:
            return Taken(np.zeros(outputs, np.float32), [_NO_BIAS], zero=True)
        return Taken(*self.take(name, place, (outputs,)))


def _fits(found: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(found) == len(wanted) and all(
        n == m or m is None for n, m in zip(found, wanted, strict=True)
    )


def _shown(shape: tuple[int | None, ...]) -> str:
    return f"({', '.join('any' if n is None else str(n) for n in shape)})"


def check_finite(params: ArrayTree, path: str) -> None:
    """Raises `RunError` naming the first array with numbers that are not finite."""
    for part, leaves in params.items():
        for leaf, array in leaves.items():
            if not np.isfinite(array).all():
                raise RunError(f"{path}: the array {part}.{leaf} has numbers that are not finite")
