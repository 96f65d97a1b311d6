"""Keras' `.keras` and `.h5` files: the arrays, and the mapping that their configuration amounts to.

A `.keras` file is a zip archive of `config.json` and `model.weights.h5`, which numbers the layers
of every class in their order (`layers/dense_1/vars/0`). An `.h5` file holds the configuration as an
attribute, and arrays under the layers' own names. Nothing of either is run, so Keras need not be
installed; h5py reads HDF5.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from senn_cli.errors import MISFORMED, RunError, UsageError
from senn_cli.extras import require
from senn_cli.given import looks_like
from senn_cli.use.keras_config import told
from senn_cli.use.weights_files import Told, WeightsFile, floats

_PURPOSE = "reading files of Keras"
_WEIGHTS = "model.weights.h5"
_LARGEST = 1 << 34
"""Bytes that the packed weights, or an array, may have."""

Finder = Callable[[Mapping[str, Any], str], str | None]
"""From the configuration of a layer and a weight's name (`kernel`) to the name of its array."""


def read(path: Path) -> WeightsFile:
    """The arrays of a model that Keras saved, and what its configuration tells.

    Raises:
      UsageError: h5py is not installed.
      RunError: it cannot be read or is damaged.
    """
    h5py = require("h5py", _PURPOSE, "keras")
    packed = path.suffix.lower() == ".keras"

    @contextmanager
    def opened() -> Iterator[Any]:
        try:
            with h5py.File(io.BytesIO(_unpacked(path, _WEIGHTS)) if packed else path, "r") as file:
                yield file
        except (RunError, UsageError, MemoryError):
            raise
        except Exception as error:  # a damaged file can raise almost anything in HDF5
            raise _damaged(path, error) from error

    def load(name: str) -> np.ndarray:
        with opened() as file:
            return floats(path, name, np.asarray(file[name]))

    def shape(name: str) -> tuple[int, ...]:
        with opened() as file:
            return tuple(file[name].shape)

    names: list[str] = []
    with opened() as file:
        # A link to another file is none of this one's arrays: `visititems` passes over it.
        file.visititems(lambda name, one: names.append(_own(path, name, one, h5py)))
        names = [name for name in names if name]
        attribute = file.attrs.get("model_config")
        compiled = file.attrs.get("training_config")
    text = _unpacked(path, "config.json") if packed else attribute
    if text is None:
        return WeightsFile(path, tuple(names), load, shape)
    try:
        config = json.loads(text)
        loss = config.get("compile_config") if packed else json.loads(compiled or "{}")
        find = _numbered(config["config"]["layers"], names) if packed else _named(names)
    except MISFORMED as error:
        raise _damaged(path, error) from error

    def described() -> Told:
        return told(path, config, loss or {}, find, names, load)

    return WeightsFile(path, tuple(names), load, shape, told=described)


def _own(path: Path, name: str, one: Any, h5py: Any) -> str:
    """The name, where it is that of an array; empty for a group.

    Raises:
      RunError: the array lies in other files, or is larger than any network.
    """
    if not isinstance(one, h5py.Dataset):
        return ""
    if one.external or one.is_virtual or one.nbytes > _LARGEST:
        what = f"has {one.nbytes} bytes" if one.nbytes > _LARGEST else "lies in other files"
        raise RunError(f"{path}: the array {name} {what}, which no model of Keras does")
    return name


def _unpacked(path: Path, member: str) -> bytes:
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(member).file_size > _LARGEST:
                raise ValueError(f"{member} has more than {_LARGEST} bytes")
            return archive.read(member)
    except MemoryError:
        raise
    except Exception as error:  # a damaged archive can raise almost anything
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> RunError:
    if isinstance(error, OSError) and error.strerror:
        return RunError(f"{path} cannot be read: {error.strerror}")
    like = looks_like(path)
    seems = "" if like in (None, "a zip archive", "an HDF5 file") else f"; it looks like {like}"
    return RunError(
        f"{path} is no model that Keras saved, or damaged: {error}{seems}",
        hint="Copy it again, or write it again by model.save('model.keras').",
    )


def _numbered(layers: list[Mapping[str, Any]], names: list[str]) -> Finder:
    """Of a `.keras` file: the layers of every class are numbered in the order of the model."""
    counts: dict[str, int] = {}
    places: dict[str, str] = {}
    order = {"kernel": 0, "bias": 1, "mean": 0, "variance": 1}
    for layer in layers:
        kind = layer["class_name"].lower()  # those that have arrays are of a single word
        number = counts.get(kind, 0)
        counts[kind] = number + 1
        places[layer["config"]["name"]] = f"layers/{kind}_{number}" if number else f"layers/{kind}"

    def find(layer: Mapping[str, Any], weight: str) -> str | None:
        name = f"{places[layer['config']['name']]}/vars/{order[weight]}"
        return name if name in names else None

    return find


def _named(names: list[str]) -> Finder:
    """Of an `.h5` file: the last two parts of a name are the layer's and the weight's."""

    def find(layer: Mapping[str, Any], weight: str) -> str | None:
        own = layer["config"]["name"]
        for name in names:
            *_, holder, leaf = ("", *name.split("/"))
            of_layer = name.startswith("model_weights/") and holder == own
            if of_layer and leaf.partition(":")[0] == weight:
                return name
        return None

    return find
