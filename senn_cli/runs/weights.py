"""Weights on disk: Orbax for the arrays, JSON beside them for the architecture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from senn_cli.errors import RunError
from senn_cli.nets.architecture import Architecture
from senn_cli.runs.files import write_atomic

ARCHITECTURE = "architecture.json"
FORMAT = 1


def save_weights(path: Path, architecture: Architecture, params: Any) -> None:
    """Writes `params` (NumPy arrays) to `path/arrays`, then the architecture beside them.

    The architecture is written last, so that its presence says that the arrays are whole.
    """
    import orbax.checkpoint as ocp

    path = path.absolute()
    try:
        path.mkdir(parents=True, exist_ok=True)
        with ocp.StandardCheckpointer() as checkpointer:
            checkpointer.save(path / "arrays", params, force=True)
        text = json.dumps({"format": FORMAT, "architecture": architecture.to_json()}, indent=2)
        write_atomic(path / ARCHITECTURE, text + "\n")
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from error


def load_weights(path: Path) -> tuple[Architecture, Any]:
    """The architecture and parameters that `save_weights` wrote.

    Raises:
      RunError: they are missing, damaged or of another shape than the architecture says.
    """
    import jax
    import numpy as np
    import orbax.checkpoint as ocp

    from senn_cli.nets.initial import initial_parameters

    path = path.absolute()
    try:
        stored = json.loads((path / ARCHITECTURE).read_bytes())
        architecture = Architecture.from_json(stored["architecture"])
    except FileNotFoundError as error:
        raise RunError(f"{path / ARCHITECTURE} does not exist: no complete weights") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path / ARCHITECTURE} is damaged: {error}") from error
    wanted = initial_parameters(architecture, 0)
    with ocp.StandardCheckpointer() as checkpointer:
        found = checkpointer.metadata(path / "arrays").item_metadata.tree
        for (keys, leaf), (_, want) in zip(
            jax.tree.leaves_with_path(found), jax.tree.leaves_with_path(wanted), strict=True
        ):
            if tuple(leaf.shape) != want.shape or leaf.dtype != want.dtype:
                name = jax.tree_util.keystr(keys)
                raise RunError(
                    f"{path / 'arrays'}: {name} is {leaf.dtype}{tuple(leaf.shape)}, "
                    f"expected {want.dtype}{want.shape}"
                )
        params = checkpointer.restore(path / "arrays", jax.tree.map(np.asarray, wanted))
    return architecture, params
