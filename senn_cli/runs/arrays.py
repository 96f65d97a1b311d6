"""Arrays on disk by Orbax, under names such as `params/map_0/kernel`; the same bits come back.

Orbax stores a tree, so that a checkpoint's arrays can be read without this package; names are the
tree's paths. What Orbax cannot hold (arrays without elements) its caller's table describes fully.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from jax import Array

# Orbax joins the parts of a path by dots, so a dot in a name could make two paths one.
_NAME = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*")
_KINDS = "biuf"  # bool, integers, unsigned integers, real numbers
_LONGEST = 300  # characters of a reason


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
    write_tree(path, _nested({name: array for name, array in arrays.items() if array.size}))


def write_tree(path: Path, tree: Mapping[str, Any]) -> None:
    """Writes a tree of arrays to the new directory `path`, as `write_arrays` does.

    When one of many arrays fails, Orbax closes its event loop at once. The others' ends are then
    told by asyncio and TensorStore, at any later time: see `senn_cli.cli.quiet`.
    """
    import jax
    import orbax.checkpoint as ocp

    # Each process writes for itself. Orbax would have them wait for each other, by programs that
    # run in the saving thread, amid those of training.
    index = jax.process_index()
    alone = ocp.options.MultiprocessingOptions(
        primary_host=index, active_processes={index}, barrier_sync_key_prefix=f"senn-{index}"
    )
    try:
        with (
            _plainly_named(path.parent) as directory,
            ocp.Checkpointer(
                ocp.PyTreeCheckpointHandler(use_ocdbt=True, multiprocessing_options=alone),
                multiprocessing_options=alone,
            ) as checkpointer,
        ):
            checkpointer.save(directory / path.name, args=ocp.args.PyTreeSave(tree))
    except Exception as error:  # Orbax has no type of its own for what fails
        raise ArraysError(reason(error)) from error


def read_arrays(
    path: Path,
    expected: Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]],
    stored: Callable[[str], str] = lambda name: name.replace("/", "."),
) -> dict[str, NDArray[Any]]:
    """The arrays that `write_arrays` wrote.

    By TensorStore, on which Orbax builds: it reads from every place, and a damaged file is one
    error and nothing else.

    Args:
      path: where they are; absolute.
      expected: shape and type of every array, by its name.
      stored: what Orbax calls the array of a name: the parts of its path, joined by dots.

    Raises:
      ArraysError: files are damaged or missing, or an array is not there or of another shape or
        type.
    """
    import tensorstore as ts

    base = {"driver": "ocdbt", "base": {"driver": "file", "path": f"{path}/"}}
    context = ts.Context()
    full = {name: 0 not in shape for name, (shape, _) in expected.items()}
    try:
        kept = ts.KvStore.open(base, context=context).result().list().result()
        found = {key.decode().removesuffix("/.zarray") for key in kept if key.endswith(b"/.zarray")}
        if kept:
            _check_names(found, {stored(name): name for name in expected if full[name]})
        opened = {
            name: ts.open(
                {"driver": "zarr", "kvstore": {**base, "path": f"{stored(name)}/"}},
                open=True,
                read=True,
                context=context,
            )
            for name in expected
            if full[name]
        }
        reading = {name: future.result() for name, future in opened.items()}
        for name, array in reading.items():
            shape, dtype = expected[name]
            if (array.shape, array.dtype.numpy_dtype) != (shape, dtype):
                have, want = f"{array.dtype.numpy_dtype}{array.shape}", f"{dtype}{shape}"
                raise ArraysError(f"{name} is {have}, expected {want}")
        pending = {name: array.read() for name, array in reading.items()}
        read = {name: np.asarray(future.result()) for name, future in pending.items()}
    except (OSError, ValueError) as error:  # as TensorStore reports what it cannot read
        raise ArraysError(reason(error)) from error
    return {
        name: read[name] if full[name] else np.zeros(shape, dtype)
        for name, (shape, dtype) in expected.items()
    }


def _check_names(found: set[str], wanted: Mapping[str, str]) -> None:
    for key, name in wanted.items():
        if key not in found:
            raise ArraysError(f"{name} is missing")
    for key in sorted(found - set(wanted)):
        raise ArraysError(f"it holds {key}, which should not be there")


@contextlib.contextmanager
def _plainly_named(directory: Path) -> Iterator[Path]:
    """A path to `directory` without the signs that Orbax takes for patterns, where it has some."""
    if not any(sign in str(directory) for sign in "*?["):
        yield directory
        return
    with tempfile.TemporaryDirectory(prefix="senn-") as place:  # removes the link, not its end
        link = Path(place) / "directory"
        link.symlink_to(directory, target_is_directory=True)
        yield link


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        *above, last = name.split("/")
        inner = tree
        for part in above:
            inner = inner.setdefault(part, {})
        inner[last] = value
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
