"""Reading the arrays of a network that others wrote: `.safetensors` and `.npz`.

Arrays are read one at a time and taken strictly: each once, and of the shape that it must have.
Nothing is cut, padded or guessed, and whatever is done to an array is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from senn_cli.data.numpy_files import Archive, opened
from senn_cli.errors import DataError, RunError, UsageError
from senn_cli.given import require_file
from senn_cli.nets.features import ArrayTree
from senn_cli.spec.suggest import closest
from senn_cli.use.extras import require
from senn_cli.words import plural

_PURPOSE = "reading .safetensors"
_FLOATS = ("BF16", "F16", "F32", "F64")
"""Types of a safetensors file that are taken: each number is one of float32, or rounded to one."""


@dataclass(frozen=True)
class WeightsFile:
    """The arrays in a file.

    Attributes:
      path: of the file.
      names: of all arrays, in order.
      metadata: what a safetensors file says of itself.
      load: reads one array; RunError where it cannot.
    """

    path: Path
    names: tuple[str, ...]
    metadata: dict[str, str]
    load: Callable[[str], np.ndarray]


def open_weights(path: Path) -> WeightsFile:
    """The file of arrays in `path`.

    Raises:
      UsageError: there is no such file, it has another ending, or safetensors is not installed.
      RunError: it cannot be read or is damaged.
    """
    require_file(path, UsageError)
    if not path.exists():
        raise UsageError(f"{path} does not exist; name a file of weights, .safetensors or .npz")
    if path.suffix == ".safetensors":
        return _safetensors(path)
    if path.suffix == ".npz":
        return _npz(path)
    raise UsageError(
        f"{path}: a file of weights ends with .safetensors or .npz",
        hint="In PyTorch: safetensors.torch.save_file(model.state_dict(), 'model.safetensors')",
    )


def _safetensors(path: Path) -> WeightsFile:
    safetensors = require("safetensors", _PURPOSE)

    def reading(action: Callable[[Any], Any]) -> Any:
        try:
            with safetensors.safe_open(path, framework="np") as file:
                return action(file)
        except (OSError, ValueError, TypeError, safetensors.SafetensorError) as error:
            text = getattr(error, "strerror", None) or str(error)
            raise RunError(f"{path} is no safetensors file, or damaged: {text}") from error

    def load(name: str) -> np.ndarray:
        kind = reading(lambda file: file.get_slice(name).get_dtype())
        if kind not in _FLOATS:
            raise _wrong_type(path, name, kind)
        if kind == "BF16":
            require("ml_dtypes", _PURPOSE)  # comes with JAX; NumPy knows bfloat16 from then on
        return np.asarray(reading(lambda file: file.get_tensor(name)))

    names, metadata = reading(lambda file: (tuple(file.keys()), file.metadata() or {}))
    return WeightsFile(path, names, dict(metadata), load)


def _npz(path: Path) -> WeightsFile:
    @contextmanager
    def archive() -> Iterator[Archive]:
        try:
            with opened(path) as found:
                if not isinstance(found, Archive):
                    raise DataError(
                        f"{path} holds a single array, not an archive of named ones",
                        hint="Write it by numpy.savez(path, **arrays).",
                    )
                yield found
        except DataError as error:  # weights are no data
            raise RunError(error.message, hint=error.hint) from error

    def load(name: str) -> np.ndarray:
        with archive() as file:
            found = file.take(name)
        if found.dtype.kind != "f" or found.dtype.itemsize > 8:
            raise _wrong_type(path, name, str(found.dtype))
        return found

    with archive() as file:
        return WeightsFile(path, file.names, {}, load)


def _wrong_type(path: Path, name: str, kind: str) -> RunError:
    return RunError(
        f"{path}: the array {name} is {kind}; float32, float16, float64 and, in safetensors, "
        "bfloat16 can be imported",
        hint="Convert it where the file is written: tensor.float() in PyTorch, "
        "x.astype(numpy.float32) in JAX and NumPy. What the network does not need is named in "
        "`ignore:`.",
    )


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


def check_finite(params: ArrayTree, path: str) -> None:
    """Raises `RunError` naming the first array with numbers that are not finite."""
    for part, leaves in params.items():
        for leaf, array in leaves.items():
            if not np.isfinite(array).all():
                raise RunError(f"{path}: the array {part}.{leaf} has numbers that are not finite")
