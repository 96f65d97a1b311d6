"""How a directory that `senn import` wrote is told from others."""

from __future__ import annotations

from pathlib import Path

from senn_cli.errors import UsageError
from senn_cli.runs.weights import ARCHITECTURE

DATA = "data.npz"
"""The data that the spec of an imported network names; the user may put them there."""


def require_feeding(path: Path) -> None:
    """UsageError where `path` holds imported weights alone, which nothing can be fed to."""
    if (path / "spec.yaml").exists() or not (path / "transfer.json").is_file():
        return
    if (path / "weights" / ARCHITECTURE).is_file():
        raise UsageError(
            f"{path} is not a run directory: it holds imported weights, and nothing says how "
            "examples become inputs",
            hint="Say it in the mapping, such as `preprocessing: {shift: 0, scale: 1}`, and import "
            "again. As it is, the network is an origin: senn transfer --from DIR SPEC",
        )
