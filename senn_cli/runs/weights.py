"""Weights on disk: Orbax for the arrays, JSON beside them for the architecture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from senn_cli.errors import RunError
from senn_cli.nets.kinds import AnyArchitecture, architecture_from_json, initial_parameters
from senn_cli.runs.files import write_atomic

ARCHITECTURE = "architecture.json"
FORMAT = 1


def save_weights(path: Path, architecture: AnyArchitecture, params: Any) -> None:
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


def load_weights(path: Path) -> tuple[AnyArchitecture, Any]:
    """The architecture and parameters that `save_weights` wrote.

    Raises:
      RunError: they are missing, damaged or of another shape than the architecture says.
    """
    import jax
    import numpy as np
    import orbax.checkpoint as ocp

    path = path.absolute()
    try:
        stored = json.loads((path / ARCHITECTURE).read_bytes())
        architecture = architecture_from_json(stored["architecture"])
    except FileNotFoundError as error:
        raise RunError(f"{path / ARCHITECTURE} does not exist: no complete weights") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path / ARCHITECTURE} is damaged: {error}") from error
    wanted, arrays = initial_parameters(architecture, 0), path / "arrays"
    try:
        with ocp.StandardCheckpointer() as checkpointer:
            found = checkpointer.metadata(arrays).item_metadata
            if found is None:
                raise RunError(f"{arrays} is missing or damaged")
            _check_shapes(arrays, found.tree, wanted)
            params = checkpointer.restore(arrays, jax.tree.map(np.asarray, wanted))
    except (OSError, ValueError, KeyError) as error:
        raise RunError(f"{arrays} cannot be read: {error}") from error
    return architecture, params


def _check_shapes(arrays: Path, found: Any, wanted: Any) -> None:
    """RunError naming the first array that is missing, superfluous or of another shape or dtype."""
    import jax

    def described(tree: Any) -> dict[str, str]:
        leaves = jax.tree.leaves_with_path(tree)
        return {
            jax.tree_util.keystr(keys): f"{leaf.dtype}{tuple(leaf.shape)}" for keys, leaf in leaves
        }

    have, want = described(found), described(wanted)
    for name in [*want, *(name for name in have if name not in want)]:
        if have.get(name) != want.get(name):
            raise RunError(
                f"{arrays}: {name} is {have.get(name, 'missing')}, "
                f"expected {want.get(name, 'no such array')}"
            )
