"""Files in the layout that `torch.save` documents, written without PyTorch."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

_STORAGES = {
    "float16": "HalfStorage",
    "float32": "FloatStorage",
    "float64": "DoubleStorage",
    "bfloat16": "BFloat16Storage",
    "int64": "LongStorage",
}


class Global:
    """What a pickle names as `module.name`, without importing it."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


class Call:
    """What a pickle makes by calling `function` with `arguments`."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments


class Stored:
    """A storage; its `data` lie in a file of the archive."""

    def __init__(self, key: str, data: np.ndarray, numel: int | None = None) -> None:
        self.key, self.data = key, data
        self.numel = data.size if numel is None else numel


class _Pickler(pickle._Pickler):  # type: ignore[name-defined]  # the one in Python can be extended
    dispatch: ClassVar[Any] = dict(pickle._Pickler.dispatch)  # type: ignore[attr-defined]

    def persistent_id(self, value: Any) -> Any:
        if isinstance(value, Stored):
            kind = Global("torch", _STORAGES[str(value.data.dtype)])
            return ("storage", kind, value.key, "cpu", value.numel)
        return None

    def save_named(self, value: Global) -> None:
        self.write(pickle.GLOBAL + f"{value.module}\n{value.name}\n".encode())

    def save_call(self, value: Call) -> None:
        self.save(value.function)
        self.save(value.arguments)
        self.write(pickle.REDUCE)

    dispatch[Global] = save_named
    dispatch[Call] = save_call


def pickled(value: Any) -> bytes:
    """The pickle of dictionaries, numbers, and the classes above."""
    file = io.BytesIO()
    _Pickler(file, 2).dump(value)
    return file.getvalue()


def tensor(
    key: str,
    array: np.ndarray,
    *,
    shape: Any = None,
    stride: Any = None,
    offset: int = 0,
    numel: int | None = None,
) -> Call:
    """A tensor, contiguous if nothing else is said."""
    shape = array.shape if shape is None else shape
    steps = tuple(int(np.prod(shape[n + 1 :])) for n in range(len(shape)))
    rebuild = Global("torch._utils", "_rebuild_tensor_v2")
    stride = steps if stride is None else stride
    hooks = Call(Global("collections", "OrderedDict"))
    return Call(rebuild, Stored(key, array, numel), offset, tuple(shape), stride, False, hooks)


def archive(
    path: Path, content: bytes, storages: dict[str, bytes], *, order: str = "little", how: int = 0
) -> Path:
    """An archive with that pickle and these storages."""
    with zipfile.ZipFile(path, "w", how) as file:
        file.writestr("net/data.pkl", content)
        file.writestr("net/byteorder", order)
        for key, data in storages.items():
            file.writestr(f"net/data/{key}", data)
        file.writestr("net/version", "3\n")
    return path


def state_dict(path: Path, arrays: dict[str, np.ndarray], **how: Any) -> Path:
    """What `torch.save(state_dict)` writes for these tensors."""
    tensors = {name: tensor(str(i), a) for i, (name, a) in enumerate(arrays.items())}
    storages = {str(i): a.tobytes() for i, a in enumerate(arrays.values())}
    return archive(path, pickled(dict(tensors)), storages, **how)
