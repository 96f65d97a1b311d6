"""`--format safetensors`: the parameters as named arrays, all else in the file's metadata.

Arrays are called `map_0.kernel` (n_in, n_out), `map_0.bias` (n_out,), `activation_0.coefficients`
(3, n) and so on; the metadata's key `senn` is the description of `senn_cli.use.about`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.errors import RunError
from senn_cli.extras import require
from senn_cli.model import Model
from senn_cli.nets.registry import initial_parameters
from senn_cli.use.about import read_description
from senn_cli.use.export_inputs import quoted
from senn_cli.use.loaded import Loaded

_PURPOSE = "the format safetensors"


def write(model: Model, about: Mapping[str, Any], stem: str) -> dict[str, bytes]:
    """The files of the export by name."""
    numpy = require("safetensors.numpy", _PURPOSE)
    arrays = {
        f"{name}.{leaf}": np.ascontiguousarray(array, np.float32)
        for name, leaves in model.params.items()
        for leaf, array in leaves.items()
    }
    metadata = {"format": "senn", "senn": json.dumps(about, ensure_ascii=False)}
    return {f"{stem}.safetensors": bytes(numpy.save(arrays, metadata=metadata))}


def usage(model: Model, file: Path) -> tuple[str, ...]:
    """Lines of Python that load the export."""
    return (
        "from safetensors.numpy import load_file",
        f"weights = load_file({quoted(file)})",
        "print({name: array.shape for name, array in weights.items()})",
    )


def load(path: Path) -> Loaded:
    """The network in a file that `write` made."""
    model = read(path)

    def run(x: Array) -> tuple[Array, Array]:
        outputs = model.outputs(x)
        return outputs, model.preprocessing.answers(outputs)

    return run


def read(path: Path) -> Model:
    """The model in a file that `write` made.

    Raises:
      UsageError: safetensors is not installed.
      RunError: it cannot be read, is damaged, or is another file of this format.
    """
    safetensors = require("safetensors", _PURPOSE)
    try:
        with safetensors.safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            arrays = {name: np.asarray(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118
    except (OSError, ValueError, TypeError, safetensors.SafetensorError) as error:
        text = getattr(error, "strerror", None) or str(error)
        raise RunError(f"{path} is no safetensors file, or damaged: {text}") from error
    if "senn" not in metadata:
        raise RunError(
            f"{path} has no key `senn` in its metadata: it is no network that senn exported"
        )
    try:
        architecture, preprocessing = read_description(metadata["senn"])
    except ValueError as error:
        raise RunError(f"{path}: metadata `senn`: {error}") from error
    wanted = {
        f"{name}.{leaf}": array.shape
        for name, leaves in initial_parameters(architecture, 0).items()
        for leaf, array in leaves.items()
    }
    for name in [*wanted, *(name for name in arrays if name not in wanted)]:
        found = arrays[name].shape if name in arrays else "missing"
        expected = wanted.get(name, "no such array")
        if found != expected or arrays[name].dtype != np.float32:
            kind = f" {arrays[name].dtype}" if name in arrays else ""
            raise RunError(f"{path}: {name} is {found}{kind}, expected {expected} float32")
    params: dict[str, dict[str, Array]] = {}
    for name in wanted:
        part, leaf = name.split(".")
        params.setdefault(part, {})[leaf] = arrays[name]
    return Model(architecture, params, preprocessing)
