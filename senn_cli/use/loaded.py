"""What an export is once it has been loaded back."""

from __future__ import annotations

from collections.abc import Callable

from senn_cli.data.dataset import Array

Loaded = Callable[[Array], tuple[Array, Array]]
"""Takes flattened examples as stored, `(N, inputs)`, float64 for tables and else float32; gives the
network's raw outputs and its answers (probabilities, or predictions in the targets' units)."""
