"""Files of named arrays that others wrote: `.safetensors` and `.npz`, read one array at a time."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from senn_cli.errors import RunError, UsageError
from senn_cli.use.extras import require

_PURPOSE = "reading .safetensors"
_FLOATS = {"F16": "float16", "F32": "float32", "F64": "float64"}
"""Types of a safetensors file that are taken; NumPy lacks some of the others, such as BF16."""


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
    if not path.is_file():
        what = "is a directory" if path.is_dir() else "does not exist"
        raise UsageError(f"{path} {what}; name a file of weights, .safetensors or .npz")
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
        return np.asarray(reading(lambda file: file.get_tensor(name)))

    names, metadata = reading(lambda file: (tuple(file.keys()), file.metadata() or {}))
    return WeightsFile(path, names, dict(metadata), load)


def _npz(path: Path) -> WeightsFile:
    def reading(action: Callable[[Any], Any]) -> Any:
        try:
            with path.open("rb") as content:  # NumPy leaves a file open that is no archive
                file = np.load(content, allow_pickle=False)
                if not isinstance(file, np.lib.npyio.NpzFile):
                    raise ValueError("a single array, not an archive of named ones")
                with file:
                    return action(file)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            text = getattr(error, "strerror", None) or str(error)
            raise RunError(f"{path} is no .npz file, or damaged: {text}") from error

    def load(name: str) -> np.ndarray:
        found: np.ndarray = reading(lambda file: np.asarray(file[name]))
        if found.dtype.kind != "f" or found.dtype.itemsize > 8:
            raise _wrong_type(path, name, str(found.dtype))
        return found

    return WeightsFile(path, reading(lambda file: tuple(file.files)), {}, load)


def _wrong_type(path: Path, name: str, kind: str) -> RunError:
    return RunError(
        f"{path}: the array {name} is {kind}; float32, float16 and float64 can be imported",
        hint="Convert it in the program that wrote the file, or name it in `ignore:`.",
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
            f"{path}: the array {name} has {len(bad)} numbers that are not finite, the first "
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
