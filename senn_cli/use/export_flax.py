"""`--format flax`: a module file that does not import this package, with weights and JSON beside.

`network.py` is a copy of `senn_cli/use/standalone.py`, where its use is described.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.errors import RunError
from senn_cli.model import Model
from senn_cli.use.export_inputs import module_usage
from senn_cli.use.loaded import Loaded, imported


def serves(kind: str) -> bool:
    """Whether `network.py` knows networks of that kind."""
    from senn_cli.use.standalone import NETWORKS

    return kind in NETWORKS


def write(model: Model, about: Mapping[str, Any], stem: str) -> dict[str, bytes]:
    """The files of the export by name; the names are fixed, as the files refer to each other."""
    source = files("senn_cli.use").joinpath("standalone.py").read_bytes()
    arrays = {
        f"{name}.{leaf}": np.asarray(array, np.float32)
        for name, leaves in whole_kernels(model).items()
        for leaf, array in leaves.items()
    }
    packed = io.BytesIO()
    np.savez(packed, allow_pickle=False, **arrays)
    text = json.dumps(about, indent=2, ensure_ascii=False) + "\n"
    return {"network.py": source, "weights.npz": packed.getvalue(), "network.json": text.encode()}


def usage(model: Model, file: Path) -> tuple[str, ...]:
    """Lines of Python that load the export and run it."""
    return module_usage(model.preprocessing, file, "model(x)", "axis")


def whole_kernels(model: Model) -> dict[str, dict[str, Array]]:
    """The parameters with one kernel a map, over all that it reads, as modules of Flax have it."""
    result = dict(model.params)
    for m in model.architecture.maps:
        leaves = model.params[m.name]
        kernel = np.concatenate([leaves[source.leaf] for source in m.sources], axis=-2)
        result[m.name] = {"kernel": kernel} | ({"bias": leaves["bias"]} if m.bias else {})
    return result


def load(path: Path) -> Loaded:
    """The network of the module file `path`, which must be one that `write` made: it is executed.

    Raises:
      RunError: its weights or its description are missing or damaged.
    """
    try:
        model = imported(path).load(path.parent)
    except Exception as error:  # a damaged archive can raise almost anything
        raise RunError(f"the network in {path.parent} cannot be read: {error}") from error

    def run(x: Array) -> tuple[Array, Array]:
        return np.asarray(model.outputs(x)), np.asarray(model(x))

    return run
