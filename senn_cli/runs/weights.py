"""Weights on disk: Orbax for the arrays, JSON beside them for the architecture."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from senn_cli.errors import MISFORMED, RunError
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import architecture_from_json, initial_parameters
from senn_cli.runs.arrays import (
    ArraysError,
    digest,
    read_arrays,
    reason,
    write_tree,
)
from senn_cli.runs.files import write_atomic

ARCHITECTURE = "architecture.json"
ARRAYS = "arrays"
FORMAT = 1

AGAIN = (
    "A copy of the directory may be sound. A run's weights are in its newest checkpoint, too, as "
    "long as it is kept: `senn transfer --from RUN/checkpoints/<step>` starts from there."
)
"""What to do about damaged weights."""


def save_weights(path: Path, architecture: Architecture, params: Any) -> None:
    """Writes `params` (NumPy arrays) to `path/arrays`, then the architecture beside them.

    The architecture is written last, with a checksum of every array, so that its presence says that
    the arrays are whole.
    """
    path = path.absolute()
    arrays = path / ARRAYS
    table = {name: {"crc32": digest(array)} for name, array in _flat(params).items()}
    document = {"format": FORMAT, "architecture": architecture.to_json(), "arrays": table}
    try:
        path.mkdir(parents=True, exist_ok=True)
        (path / ARCHITECTURE).unlink(missing_ok=True)
        if arrays.exists():
            shutil.rmtree(arrays)
        write_tree(arrays, params)
        write_atomic(path / ARCHITECTURE, json.dumps(document, indent=2) + "\n")
    except (OSError, ArraysError) as error:
        raise RunError(f"{path} cannot be written: {reason(error)}") from error


def load_weights(path: Path) -> tuple[Architecture, Any]:
    """The architecture and parameters that `save_weights` wrote.

    Of weights that an older senn wrote, without checksums, names, shapes and types are checked.

    Raises:
      RunError: they are missing, damaged, of another format, or of another shape than the
        architecture says.
    """
    path = path.absolute()
    beside, arrays = path / ARCHITECTURE, path / ARRAYS
    try:
        document = json.loads(beside.read_bytes())
        if document["format"] != FORMAT:
            told = f"{beside} is of format {document['format']!r}; this senn reads {FORMAT}"
            raise RunError(told, hint="Read it with the senn that wrote it.")
        architecture = architecture_from_json(document["architecture"])
        checksums = {name: one["crc32"] for name, one in document.get("arrays", {}).items()}
    except FileNotFoundError as error:
        raise RunError(f"{beside} does not exist: no complete weights") from error
    except (OSError, *MISFORMED) as error:
        raise RunError(f"{beside} is damaged: {reason(error)}", hint=AGAIN) from error
    try:
        wanted = _flat(initial_parameters(architecture, 0))
    except (MemoryError, *MISFORMED) as error:
        told = f"{beside} is damaged: no network has such sizes ({reason(error)})"
        raise RunError(told, hint=AGAIN) from error
    try:
        expected = {name: (array.shape, array.dtype) for name, array in wanted.items()}
        found = read_arrays(arrays, expected, stored=str)
    except ArraysError as error:
        raise RunError(f"{arrays} is damaged: {error}", hint=AGAIN) from error
    for name, array in found.items():
        if checksums and digest(array) != checksums.get(name):
            raise RunError(f"{arrays} is damaged: {name} has changed", hint=AGAIN)
    params: dict[str, dict[str, np.ndarray]] = {}
    for name, array in found.items():
        part, leaf = name.rsplit(".", 1)
        params.setdefault(part, {})[leaf] = array
    return architecture, params


def _flat(params: Any) -> dict[str, np.ndarray]:
    """The arrays by the names that Orbax gives them, such as `map_0.kernel`."""
    return {
        f"{part}.{leaf}": np.asarray(array)
        for part, leaves in params.items()
        for leaf, array in leaves.items()
    }
