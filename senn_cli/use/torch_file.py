"""PyTorch's `.pt` and `.pth` files: the tensors of a `state_dict`, without PyTorch, without code.

Such a file is a zip archive with a pickle of the structure (`NAME/data.pkl`), in which storages are
named, and one file of plain numbers a storage (`NAME/data/KEY`). A pickle can call any function.
The one here may call three constructors, which are replaced by functions of this module; whatever
else it names is refused by its name, before anything of it is run.
"""

from __future__ import annotations

import io
import math
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from senn_cli.errors import RunError
from senn_cli.extras import require
from senn_cli.given import looks_like
from senn_cli.use.weights_files import WeightsFile, floats

_TYPES = {
    "HalfStorage": "float16",
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "BFloat16Storage": "bfloat16",
    "ByteStorage": "uint8",
    "CharStorage": "int8",
    "ShortStorage": "int16",
    "IntStorage": "int32",
    "LongStorage": "int64",
    "BoolStorage": "bool",
}
"""What the storages of `torch` hold."""

_DEPTH = 8
_TENSORS = 100_000
"""Dictionaries in dictionaries, and tensors, that a file may have: they may name each other."""

_SAVE = "Save the weights alone: torch.save(model.state_dict(), path)."


class _Storage(NamedTuple):
    key: str
    dtype: str
    numel: int


class _Tensor(NamedTuple):
    """A view of a storage: element `i` lies at `offset + i . stride`.

    A tuple, as a pickle can change the attributes of other objects once they were checked.
    """

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


def _tensor(
    storage: Any, offset: Any, shape: Any, stride: Any, *others: Any
) -> _Tensor:  # torch._utils._rebuild_tensor_v2
    whole = [offset, *shape, *stride]
    sound = isinstance(storage, _Storage) and all(type(n) is int and n >= 0 for n in whole)
    if not sound or len(shape) != len(stride):
        raise ValueError("a tensor that is none")
    last = offset + sum((n - 1) * step for n, step in zip(shape, stride, strict=True))
    if 0 not in shape and (last >= storage.numel or math.prod(shape) > storage.numel):
        raise ValueError(f"a tensor of the shape {tuple(shape)} reaches beyond its storage")
    return _Tensor(storage, offset, tuple(shape), tuple(stride))


def _parameter(data: Any, *others: Any) -> Any:  # torch._utils._rebuild_parameter
    return data


_KNOWN: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch._utils", "_rebuild_parameter"): _parameter,
    **{("torch", name): dtype for name, dtype in _TYPES.items()},
}


class _Refused(Exception):
    """The pickle names something that is not among `_KNOWN`."""


class _Unpickler(pickle.Unpickler):
    """Reads a structure of dictionaries, numbers, texts and tensors."""

    def find_class(self, module: str, name: str) -> Any:
        """What stands for a global that the pickle names; nothing is ever imported."""
        if (module, name) not in _KNOWN:
            raise _Refused(f"{module}.{name}")
        return _KNOWN[module, name]

    def persistent_load(self, pid: Any) -> _Storage:
        """A storage that the pickle names."""
        kind, dtype, key, _, numel = pid
        if kind != "storage" or dtype not in _TYPES.values() or type(numel) is not int:
            raise ValueError(f"a storage {pid!r}")
        return _Storage(str(key), dtype, numel)


def read(path: Path) -> WeightsFile:
    """The tensors in a file that `torch.save` wrote; those of nested dictionaries as `a.b`.

    Raises:
      RunError: it cannot be read, is damaged, of PyTorch's older format, a program of TorchScript,
        without tensors, or names anything but tensors and plain values.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            root = next((n for n in names if n.count("/") == 1 and n.endswith("/data.pkl")), None)
            if root is None:
                raise RunError(f"{path} is a zip archive, but none that torch.save wrote")
            folder = root.removesuffix("data.pkl")
            if f"{folder}constants.pkl" in names:
                raise RunError(f"{path} is a program of TorchScript, which is not run", hint=_SAVE)
            order = "<"
            if f"{folder}byteorder" in names:
                order = ">" if archive.read(f"{folder}byteorder") == b"big" else "<"
            content = _Unpickler(io.BytesIO(_stored(archive, root))).load()
    except _Refused as error:
        raise RunError(
            f"{path} names {error}: that is code, which may do anything and is never run; only "
            "tensors, numbers, texts and dictionaries of these are read",
            hint=_SAVE,
        ) from None
    except RunError:
        raise
    except MemoryError:
        raise
    except Exception as error:  # a damaged pickle can raise almost anything
        raise _damaged(path, error) from error
    found = list(_below(path, content))
    tensors = dict(found)
    if not tensors or len(tensors) < len(found):
        what = "two tensors of one name" if tensors else "no tensors"
        raise RunError(f"{path} holds {what}", hint=_SAVE)

    def load(name: str) -> np.ndarray:
        array = _loaded(path, folder, order, tensors[name])
        return array if tensors[name].storage.dtype == "bfloat16" else floats(path, name, array)

    return WeightsFile(path, tuple(tensors), load, lambda name: tensors[name].shape)


def _stored(archive: zipfile.ZipFile, name: str) -> bytes:
    """A member as it is: what was packed could be of any size, and PyTorch packs nothing."""
    if archive.getinfo(name).compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{name} is compressed")
    return archive.read(name)


def _damaged(path: Path, error: Exception) -> RunError:
    if isinstance(error, OSError):
        return RunError(f"{path} cannot be read: {error.strerror or error}")
    like = looks_like(path)
    if like == "a Python pickle":
        return RunError(
            f"{path} has the format of PyTorch before 1.6, a bare pickle, which is not read",
            hint="Load it in PyTorch and save it again: torch.save(model.state_dict(), path).",
        )
    told = str(error) or type(error).__name__
    return RunError(
        f"{path} is no file of torch.save, or damaged: {told}"
        + (f"; it looks like {like}" if like not in (None, "a zip archive") else ""),
        hint="Copy it again, or write it again by torch.save(model.state_dict(), path).",
    )


def _below(path: Path, content: Any) -> Iterator[tuple[str, _Tensor]]:
    """The tensors with their names, in order; `content` may hold itself."""
    count = 0

    def walk(value: Any, names: tuple[str, ...]) -> Iterator[tuple[str, _Tensor]]:
        nonlocal count
        count += 1
        if len(names) > _DEPTH or count > _TENSORS:
            raise RunError(
                f"{path} nests more than {_DEPTH} dictionaries or {_TENSORS} values", hint=_SAVE
            )
        if isinstance(value, _Tensor):
            yield ".".join(names) or "tensor", value
        elif isinstance(value, dict):
            for key, one in dict.items(value):  # whatever the pickle put in place of its methods
                if isinstance(key, str | int):
                    yield from walk(one, (*names, str(key)))

    yield from walk(content, ())


def _loaded(path: Path, folder: str, order: str, tensor: _Tensor) -> np.ndarray:
    """The numbers of a tensor, read from its storage.

    Raises:
      RunError: the storage is missing, damaged or of another size.
    """
    storage = tensor.storage
    if storage.dtype == "bfloat16":
        require("ml_dtypes", "reading bfloat16")  # comes with JAX; NumPy knows it from then on
    dtype = np.dtype(storage.dtype)
    name = f"{folder}data/{storage.key}"

    def reading(action: Callable[[zipfile.ZipFile], bytes]) -> bytes:
        try:
            with zipfile.ZipFile(path) as archive:
                return action(archive)
        except MemoryError:
            raise
        except Exception as error:  # as above
            told = f"{name}: {error}" if str(error) else name
            raise RunError(f"{path} is damaged: {told}") from error

    def numbers(archive: zipfile.ZipFile) -> bytes:
        size = archive.getinfo(name).file_size
        if size != storage.numel * dtype.itemsize:
            raise ValueError(f"{size} bytes instead of {storage.numel * dtype.itemsize}")
        return _stored(archive, name)

    flat = np.frombuffer(reading(numbers), np.uint8)
    if order == ">" and dtype.itemsize > 1:
        flat = flat.reshape(-1, dtype.itemsize)[:, ::-1].reshape(-1)
    whole = np.ascontiguousarray(flat).view(dtype)
    steps = tuple(step * dtype.itemsize for step in tensor.stride)
    view = np.lib.stride_tricks.as_strided(whole[tensor.offset :], tensor.shape, steps)
    return np.array(view)
