"""The leaves of a network's maps: what matrix they are, which are trained, which belong to buds.

On the host by NumPy, in a program by JAX; none of it imports JAX where tables are made without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from senn_cli.nets.features import Architecture, Map


def row_mask(m: Map, units: Mapping[str, Any], *, bias: bool = True) -> Any:
    """A mask over the rows of `joined` from one over the units of every feature by its name.

    Works on arrays of NumPy and of JAX.

    Args:
      bias: the entry of the bias's row.
    """
    parts = []
    for source in m.sources:
        mask = units[source.feature.name]
        parts.append(mask.repeat(source.size) if source.size > 1 else mask)
    if all(isinstance(part, np.ndarray) for part in parts):
        array: Any = np
    else:
        import jax.numpy as array  # tables are made without JAX
    one = array.concatenate(parts)
    if m.window:
        one = array.tile(one, m.taps)
    return array.concatenate([np.full(1, bias), one]) if m.bias else one


def joined(m: Map, leaves: Mapping[str, Any]) -> Any:
    """A map's weights as one matrix `(rows, columns)`; of NumPy or JAX.

    The bias, if there is one, is row 0. Row bias + p n_in + c belongs to position p of the window
    (row by row) and input c in the order of the concatenation.
    """
    kernels = [leaves[source.leaf] for source in m.sources]
    if all(isinstance(k, np.ndarray) for k in kernels):
        array: Any = np
    else:
        import jax.numpy as array
    kernel = kernels[0] if len(kernels) == 1 else array.concatenate(kernels, axis=-2)
    kernel = kernel.reshape(-1, m.columns)
    return array.concatenate([leaves["bias"][None], kernel]) if m.bias else kernel


def split(m: Map, weights: Any) -> dict[str, Any]:
    """The inverse of `joined`."""
    kernel = weights[1:] if m.bias else weights
    leaves = {"bias": weights[0]} if m.bias else {}
    kernel = kernel.reshape(*m.window, m.inputs, m.columns)
    first = 0
    for source in m.sources:
        leaves[source.leaf] = kernel[..., first : first + source.rows, :]
        first += source.rows
    return leaves


def is_kernel(leaf: str) -> bool:
    """Whether a parameter of that name is (a part of) a matrix, not a bias or coefficients."""
    return leaf not in ("bias", "coefficients")


def trained(architecture: Architecture, units: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Which parameters are trained, bool, broadcastable to each of them.

    A weight is where both its ends are in use: dormant units keep their input weights as drawn, and
    the zero weights that read what is not in use stay zero.

    Args:
      units: what is in use of every feature by its name; of NumPy or JAX.
    """
    found: dict[str, dict[str, Any]] = {}
    for m in architecture.maps:
        columns = units[m.target.name]
        found[m.name] = {
            s.leaf: (rows.repeat(s.size) if s.size > 1 else rows)[:, None] & columns[None, :]
            for s in m.sources
            for rows in [units[s.feature.name]]
        }
        if m.bias:
            found[m.name]["bias"] = columns
        if m.target.coefficients is not None:
            found[m.target.coefficients] = {"coefficients": columns}
    return found


def without_buds(architecture: Architecture, params: Mapping[str, Mapping[str, Any]]) -> Any:
    """The parameters that `architecture.without_buds()` has."""
    return {
        part: {leaf: params[part][leaf] for leaf in leaves}
        for part, leaves in leaf_shapes(architecture.without_buds()).items()
    }


def with_buds(tree: Mapping[str, Mapping[str, Any]], params: Mapping[str, Any], zeros: Any) -> Any:
    """A tree of the parameters' structure, zero where `tree` has nothing: at buds.

    Args:
      zeros: makes zeros like an array, of NumPy or JAX.
    """
    return {
        part: {
            leaf: found if (found := tree.get(part, {}).get(leaf)) is not None else zeros(array)
            for leaf, array in leaves.items()
        }
        for part, leaves in params.items()
    }


def leaf_shapes(architecture: Architecture) -> dict[str, dict[str, tuple[int, ...]]]:
    """The shape of every parameter at capacity: those of maps and of rational activations."""
    found: dict[str, dict[str, tuple[int, ...]]] = {}
    for m in architecture.maps:
        found[m.name] = m.shapes()
        if m.target.coefficients is not None:
            found[m.target.coefficients] = {"coefficients": (3, m.target.capacity)}
    return found
