"""Input weights of dormant units, drawn from the initial distribution (appendix B). No JAX.

Every unit, used or not, has a random generator of its own, derived from the seed, the name of its
map and its number: draws don't depend on capacities.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from senn_cli.nets.architecture import initial_gain
from senn_cli.nets.features import Map
from senn_cli.randomness import numpy_generator


class Drawn(NamedTuple):
    """k units of a map.

    Attributes:
      weights: their columns of the joined matrix, float32 `(rows, k)`.
      coefficients: `(3, k)` of rational units, else None.
    """

    weights: np.ndarray
    coefficients: np.ndarray | None


def draw_units(
    m: Map,
    used: Mapping[str, np.ndarray],
    units: Iterable[int],
    seed: int,
    purpose: str,
    step: int,
) -> Drawn:
    """Input weights of k `units` of what `m` yields, drawn anew from the initial distribution.

    LeCun normal: variance 1 / n for n rows in use, twice that before rectifiers. Of rational units
    biases and coefficients are unit normal, of others the bias is zero.

    Args:
      used: what is in use of every feature; weights on other units are zero.
      seed, purpose, step: what the draws are a function of, besides map and unit.
    """
    read = np.concatenate([used[s.feature.name].repeat(s.size) for s in m.sources])
    count, rational = int(read.sum()), m.target.coefficients is not None
    gain = initial_gain(m.target.activation or "identity")
    columns, coefficients = [], []
    for unit in units:
        rng = numpy_generator(seed, f"{purpose} {m.name} {unit}", step)
        full = np.zeros((m.inputs, m.taps), np.float32)
        full[read] = gain * rng.standard_normal((count, m.taps)) / np.sqrt(m.taps * count)
        bias = rng.standard_normal(1) if rational else np.zeros(1)
        columns.append(
            np.concatenate([bias, full.T.reshape(-1)] if m.bias else [full.T.reshape(-1)])
        )
        coefficients.append(rng.standard_normal(3) if rational else np.zeros(3))
    weights = np.stack(columns, axis=1) if columns else np.zeros((m.rows, 0))
    drawn = np.stack(coefficients, axis=1) if columns else np.zeros((3, 0))
    return Drawn(weights.astype(np.float32), drawn.astype(np.float32) if rational else None)
