"""Tables over the maps of an architecture: what each of them is, and what of each array is in use.

Written once for networks of every kind: nothing here asks what kind it is. No JAX.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from senn_cli.nets.features import Architecture, ArrayTree, Map, present


@dataclass(frozen=True)
class MapRow:
    """A linear map with the units that it feeds; sizes are (in use, allocated).

    Attributes:
      site: `layer 0`, `block 1 bud 0`, ... as in the history; `output` for the last one.
      inputs: what it reads at one position, the bias not counted.
      units: of a bud, which is not in use, all that it has.
      activation: of the units; empty for the output.
      parameters: of kernel and bias, and the coefficients of the units.
    """

    site: str
    inputs: tuple[int, int]
    units: tuple[int, int]
    activation: str
    parameters: tuple[int, int]


def map_rows(architecture: Architecture) -> tuple[MapRow, ...]:
    """A row for every map, from the data to the outputs."""
    return tuple(map(_row, architecture.maps))


def _row(m: Map) -> MapRow:
    target, units = m.target, (present(m.target), m.columns)
    read = sum(source.feature.width * source.size for source in m.sources)
    rows = (m.rows_used + target.own, m.rows + target.own)
    return MapRow(
        site="output" if target.role == "outputs" else target.site,
        inputs=(read, m.inputs),
        units=units,
        activation=target.activation or "",
        parameters=(rows[0] * units[0], rows[1] * units[1]),
    )


Entries = dict[str, dict[str, tuple[Any, ...]]]
"""For arrays of the tree of parameters the index of some of their entries."""


def entries(architecture: Architecture, *, buds: bool = True) -> Entries:
    """The entries of every array that belong to units in use, which are the first ones.

    Args:
      buds: whether what reads a bud counts, though nothing of the bud is in use. What feeds it
        always does.
    """
    found: Entries = {}
    for m in architecture.maps:
        columns = slice(present(m.target))
        leaves: dict[str, tuple[Any, ...]] = {}
        for source in m.sources:
            units = present(source.feature) if buds else source.feature.width
            leaves[source.leaf] = (..., slice(units * source.size), columns)
        found[m.name] = leaves | ({"bias": (columns,)} if m.bias else {})
        if m.target.coefficients is not None:
            found[m.target.coefficients] = {"coefficients": (..., columns)}
    return found


def compact(params: Mapping[str, Mapping[str, Any]], architecture: Architecture) -> ArrayTree:
    """The parameters in use alone, of the shapes of `architecture.compact()`; buds stay.

    Arrays that are no map's and no units' coefficients stay as they are.
    """
    used = entries(architecture)
    # Contiguous: some file formats would write the whole array for a part of it.
    return {
        part: {
            leaf: np.ascontiguousarray(np.asarray(array)[used.get(part, {}).get(leaf, ...)])
            for leaf, array in leaves.items()
        }
        for part, leaves in params.items()
    }
