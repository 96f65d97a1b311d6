"""What an export is once it has been loaded back."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from senn_cli.data.dataset import Array
from senn_cli.errors import RunError

Loaded = Callable[[Array], tuple[Array, Array]]
"""Takes flattened examples as stored, `(N, inputs)`, float64 for tables and else float32; gives the
network's raw outputs and its answers (probabilities, or predictions in the targets' units)."""


def imported(path: Path) -> ModuleType:
    """The module in a file that an export wrote, which is executed.

    Raises:
      RunError: the path is none of a module.
    """
    name = "senn_exported_network"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise RunError(f"{path} is no Python module")
    module = importlib.util.module_from_spec(spec)
    # Flax looks the annotations of its modules up here while they are defined.
    sys.modules[name] = module
    try:
        # Without a folder of compiled code beside the file.
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    finally:
        del sys.modules[name]
    return module
