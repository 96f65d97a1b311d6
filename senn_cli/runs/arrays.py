"""Arrays on disk by Orbax, under names such as `params/map_0/kernel`; the same bits come back.

Orbax stores a tree, so that a checkpoint's arrays can be read without this package; names are the
tree's paths. What Orbax cannot hold (arrays without elements) its caller's table describes fully.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from senn_cli.runs.files import wild

if TYPE_CHECKING:
    from jax import Array

# Orbax joins the parts of a path by dots, so a dot in a name could make two paths one.
_NAME = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*")
_KINDS = "biuf"  # bool, integers, unsigned integers, real numbers
_LONGEST = 300  # characters of a reason
T = TypeVar("T")


class ArraysError(Exception):
    """Arrays that could not be written or read; the message is a reason in one line."""


def host_copies(arrays: Mapping[str, Array | NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Copies of all arrays in the host's memory, which nothing else refers to.

    Transfers from devices run side by side; an array that lies on several devices of this process
    is gathered.

    Raises:
      ValueError: a name that is no path, or an array of another kind than numbers and booleans.
    """
    import jax

    check_names(arrays)
    copies = {}
    for name, found in jax.device_get(dict(arrays)).items():
        # A copy in any case: on the CPU, `device_get` gives a view of a buffer that the next
        # training step may overwrite.
        copy = np.array(found, dtype=np.asarray(found).dtype.newbyteorder("="), order="C")
        if copy.dtype.kind not in _KINDS:
            raise ValueError(f"{name}: arrays of type {copy.dtype} cannot be stored")
        copies[name] = copy
    return copies


def check_names(names: Iterable[str]) -> None:
    """Raises ValueError for a name that is no path, or that is another one's beginning."""
    taken = set(names)
    for name in taken:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"an array's name should be letters, digits, `_` and `-`, its parts separated by "
                f"`/`, found {name!r}"
            )
        parts = name.split("/")
        for length in range(1, len(parts)):
            above = "/".join(parts[:length])
            if above in taken:
                raise ValueError(f"the name of array {above!r} is the beginning of {name!r}")


def digest(array: NDArray[Any]) -> int:
    """A checksum (CRC-32) of the array's bytes in C order."""
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Writes `arrays` to the new directory `path`; on return they are all there.

    Args:
      path: absolute; must not exist.
      arrays: as `host_copies` gives them, at least one of them with elements.

    Raises:
      ArraysError: the disk is full, or the place cannot be written.
    """
    import orbax.checkpoint as ocp

    tree = _nested({name: array for name, array in arrays.items() if array.size})

    def save() -> None:
        with ocp.Checkpointer(ocp.PyTreeCheckpointHandler(use_ocdbt=True)) as checkpointer:
            checkpointer.save(path, args=ocp.args.PyTreeSave(tree))

    if wild(path) is not None:  # a run that was moved here
        raise ArraysError(f"its path contains the sign {wild(path)}, which Orbax cannot write to")
    _quietly(save)


def read_arrays(
    path: Path, expected: Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]]
) -> dict[str, NDArray[Any]]:
    """The arrays that `write_arrays` wrote.

    Args:
      path: where they are; absolute.
      expected: shape and type of every array.

    Raises:
      ArraysError: files are damaged or missing, or an array is not there or of another shape or
        type.
    """
    import orbax.checkpoint as ocp

    stored = {name: shape for name, (shape, _) in expected.items() if 0 not in shape}
    # NumPy's arrays whatever they were saved as: their devices may not exist here.
    how = _nested({name: ocp.RestoreArgs(restore_type=np.ndarray) for name in stored})

    def restore() -> Any:
        with ocp.Checkpointer(ocp.PyTreeCheckpointHandler()) as checkpointer:
            return checkpointer.restore(path, args=ocp.args.PyTreeRestore(restore_args=how))

    found = _quietly(restore)
    arrays = {}
    for name, (shape, dtype) in expected.items():
        array = _inner(found, name) if name in stored else np.zeros(shape, dtype)
        if not isinstance(array, np.ndarray) or (array.shape, array.dtype) != (shape, dtype):
            raise ArraysError(f"{name} is not of type {dtype} and shape {shape}")
        arrays[name] = array
    return arrays


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        *above, last = name.split("/")
        inner = tree
        for part in above:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return tree


def _inner(tree: Any, name: str) -> Any:
    for part in name.split("/"):
        tree = tree.get(part) if isinstance(tree, dict) else None
    return tree


def reason(error: BaseException) -> str:
    """Why reading or writing failed, in a line; what the system said, where it said something."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = str(error)
    found = re.search(r"\[os_error_code='(\d+)'\]", text)  # as TensorStore reports it
    if found:
        return os.strerror(int(found[1]))
    told = text.partition(" [tensorstore_spec=")[0].strip() or type(error).__name__
    line = told.splitlines()[0]
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def _quietly(call: Callable[[], T]) -> T:
    """What `call`, which uses Orbax, returns.

    Raises:
      ArraysError: it has failed.
    """
    _hush()
    try:
        return call()
    except Exception as error:  # Orbax has no type of its own for damaged files
        raise ArraysError(reason(error)) from error


@cache
def _hush() -> None:
    """Keeps off the terminal what Orbax says beside its exceptions, for the rest of the process.

    When one of many arrays has failed, Orbax closes its event loop at once. The others' ends are
    then reported by asyncio and TensorStore, at any later time and with tracebacks.
    """
    logging.getLogger("absl").addFilter(lambda record: not _of_orbax(record.pathname))
    logging.getLogger("asyncio").addFilter(lambda record: not _of_orbax(record.getMessage()))
    previous = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        late = unraisable.object is None and isinstance(unraisable.exc_value, RuntimeError)
        if not (late and str(unraisable.exc_value) == "Event loop is closed"):
            previous(unraisable)

    sys.unraisablehook = hook


def _of_orbax(text: str) -> bool:
    # asyncio names a future of TensorStore's by the coroutine that wraps any foreign future.
    return re.search(r"\b(orbax|tensorstore|zarr|OCDBT|_wrap_awaitable)\b", text) is not None
