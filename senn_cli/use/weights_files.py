"""Files of weights that others wrote: named arrays, read one at a time, and what the file tells.

`.safetensors`, `.npz`, PyTorch's `.pt` and `.pth`, Keras' `.keras` and `.h5`. No code of a file is
run, and nothing is cast, cut or guessed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from senn_cli.data.numpy_files import Archive, opened
from senn_cli.errors import DataError, RunError, UsageError
from senn_cli.extras import require
from senn_cli.given import require_file

_PURPOSE = "reading .safetensors"
_FLOATS = ("BF16", "F16", "F32", "F64")
"""Types of a safetensors file that are taken: each number is one of float32, or rounded to one."""


class Told(NamedTuple):
    """The mapping that a file's own description, or its names, amount to.

    Attributes:
      values: what a mapping file would hold, as plain values.
      notes: what was assumed for some of its keys, as sentences.
    """

    values: dict[str, Any]
    notes: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class WeightsFile:
    """The arrays in a file.

    Attributes:
      path: of the file, or the name of an object of Python that holds them.
      names: of all arrays, in order.
      metadata: what a safetensors file says of itself.
      load: reads one array; RunError where it cannot.
      shape: that of one array.
      told: the mapping that the file describes; None where only names can tell.
    """

    path: Path
    names: tuple[str, ...]
    load: Callable[[str], np.ndarray]
    shape: Callable[[str], tuple[int, ...]]
    metadata: Mapping[str, str] = field(default_factory=dict)
    told: Callable[[], Told] | None = None


def open_weights(path: Path) -> WeightsFile:
    """The file of arrays in `path`.

    Raises:
      UsageError: there is no such file, it has another ending, or a package is not installed.
      RunError: it cannot be read, is damaged, or holds what would have to be run.
    """
    require_file(path, UsageError)
    known = ", ".join(_READERS)
    if not path.exists():
        raise UsageError(f"{path} does not exist; name a file of weights: {known}")
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise UsageError(
            f"{path}: a file of weights ends with one of {known}",
            hint="In PyTorch: torch.save(model.state_dict(), 'model.pt'); in Keras: "
            "model.save('model.keras').",
        )
    return reader(path)


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
            raise wrong_type(path, name, kind)
        if kind == "BF16":
            require("ml_dtypes", _PURPOSE)  # comes with JAX; NumPy knows bfloat16 from then on
        return np.asarray(reading(lambda file: file.get_tensor(name)))

    def shape(name: str) -> tuple[int, ...]:
        return tuple(reading(lambda file: file.get_slice(name).get_shape()))

    names, metadata = reading(lambda file: (tuple(file.keys()), file.metadata() or {}))
    return WeightsFile(path, names, load, shape, dict(metadata))


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
            return floats(path, name, file.take(name))

    def shape(name: str) -> tuple[int, ...]:
        with archive() as file:
            return file.take(name).shape

    with archive() as file:
        return WeightsFile(path, file.names, load, shape)


def _torch(path: Path) -> WeightsFile:
    from senn_cli.use.torch_file import read

    return read(path)


def _keras(path: Path) -> WeightsFile:
    from senn_cli.use.keras_file import read

    return read(path)


_READERS: dict[str, Callable[[Path], WeightsFile]] = {
    ".safetensors": _safetensors,
    ".npz": _npz,
    ".pt": _torch,
    ".pth": _torch,
    ".keras": _keras,
    ".h5": _keras,
}


def floats(path: Path, name: str, array: np.ndarray) -> np.ndarray:
    """The array; RunError where it does not hold floating-point numbers of 8 bytes at most."""
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise wrong_type(path, name, str(array.dtype))
    return array


def wrong_type(path: Path, name: str, kind: str) -> RunError:
    """What to say of an array of another type than weights have."""
    return RunError(
        f"{path}: the array {name} is {kind}; float32, float16, float64 and, in safetensors and "
        "files of PyTorch, bfloat16 can be imported",
        hint="Convert it where the file is written: tensor.float() in PyTorch, "
        "x.astype(numpy.float32) in JAX and NumPy. What the network does not need is named in "
        "`ignore:`.",
    )
