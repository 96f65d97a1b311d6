"""`--format torch`: a module file that does not import this package, with weights and JSON beside.

`network.py` is a copy of `senn_cli/use/standalone_torch.py`, where its use is described. The arrays
of `network.safetensors` are called and laid out as PyTorch has them, and the file's metadata hold
the mapping by which `senn import` takes them back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.errors import RunError
from senn_cli.extras import require
from senn_cli.model import Model
from senn_cli.nets.densenet_architecture import DenseArchitecture
from senn_cli.nets.features import Architecture
from senn_cli.use.export_flax import whole_kernels
from senn_cli.use.export_inputs import module_usage
from senn_cli.use.loaded import Loaded, imported

_PURPOSE = "the format torch"
_KINDS = ("mlp", "densenet")
"""The kinds that `network.py` knows."""


def serves(kind: str) -> bool:
    """Whether `network.py` knows networks of that kind."""
    return kind in _KINDS


def write(model: Model, about: Mapping[str, Any], stem: str) -> dict[str, bytes]:
    """The files of the export by name; the names are fixed, as the files refer to each other."""
    require("torch", _PURPOSE, "torch")
    numpy = require("safetensors.numpy", _PURPOSE, "torch")
    source = files("senn_cli.use").joinpath("standalone_torch.py").read_bytes()
    mapping = mapping_of(model.architecture)
    metadata = {
        "format": "pt",
        "senn": json.dumps(about, ensure_ascii=False),
        "mapping": json.dumps(mapping, ensure_ascii=False),
    }
    weights = bytes(numpy.save(_arrays(model, mapping), metadata=metadata))
    text = json.dumps(about, indent=2, ensure_ascii=False) + "\n"
    return {"network.py": source, "network.safetensors": weights, "network.json": text.encode()}


def usage(model: Model, file: Path) -> tuple[str, ...]:
    """Lines of Python that load the export and run it."""
    return module_usage(model.preprocessing, file, "model.predict(x)", "dim")


def mapping_of(architecture: Architecture) -> dict[str, Any]:
    """Which array of the file is which part of a network: the values of a mapping file."""
    if isinstance(architecture, DenseArchitecture):
        return {
            "kind": "densenet",
            "activation": architecture.blocks[0][0].activation,
            "image": list(architecture.image),
            "pool": architecture.pool,
            "layout": "OIHW",
            "blocks": [
                [f"blocks.{number}.{place}.weight" for place in range(len(layers))]
                for number, layers in enumerate(architecture.blocks)
            ],
            "head": {"kernel": "head.weight", "bias": "head.bias", "transpose": True},
        }
    maps = []
    for index, m in enumerate(architecture.maps):
        # Activations stand between the maps in the module's list of layers.
        name = f"layers.{2 * index}"
        entry: dict[str, Any] = {"kernel": f"{name}.weight", "bias": f"{name}.bias"}
        if m.target.coefficients is not None:
            entry["coefficients"] = f"layers.{2 * index + 1}.coefficients"
        maps.append(entry | {"transpose": True})
    activations = [layer.activation for layer in architecture.blocks[0]]
    return {"kind": "mlp", "activation": activations, "maps": maps}


def _arrays(model: Model, mapping: Mapping[str, Any]) -> dict[str, Array]:
    """The arrays under the names that `mapping` gives them, as PyTorch lays them out."""
    params = whole_kernels(model)
    entries = mapping.get("maps") or [
        *({"kernel": kernel} for block in mapping["blocks"] for kernel in block),
        mapping["head"],
    ]
    found: dict[str, Array] = {}
    for m, entry in zip(model.architecture.maps, entries, strict=True):
        kernel = params[m.name]["kernel"]
        order = (1, 0) if kernel.ndim == 2 else (3, 2, 0, 1)
        found[entry["kernel"]] = kernel.transpose(order)
        if m.bias:
            found[entry["bias"]] = params[m.name]["bias"]
        if m.target.coefficients is not None:
            found[entry["coefficients"]] = params[m.target.coefficients]["coefficients"]
    return {name: np.ascontiguousarray(array, np.float32) for name, array in found.items()}


def load(path: Path) -> Loaded:
    """The network of the module file `path`, which must be one that `write` made: it is executed.

    Raises:
      UsageError: PyTorch or safetensors is not installed.
      RunError: its weights or its description are missing or damaged.
    """
    torch = require("torch", _PURPOSE, "torch")
    require("safetensors.torch", _PURPOSE, "torch")
    try:
        model = imported(path).load(path.parent)
    except Exception as error:  # a damaged file can raise almost anything
        raise RunError(f"the network in {path.parent} cannot be read: {error}") from error

    def run(x: Array) -> tuple[Array, Array]:
        with torch.no_grad():
            return model(x).numpy(), model.predict(x).numpy()

    return run
