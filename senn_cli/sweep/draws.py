"""Points in the unit cube, random or of a Sobol sequence, and what options they stand for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from senn_cli.spec.sweep import DrawSpec, RangeSpec

if TYPE_CHECKING:
    import numpy as np


def points(draw: DrawSpec) -> np.ndarray:
    """As many points as `draw` asks for, an axis an option.

    A Sobol sequence is shifted by one random vector modulo 1 (Cranley and Patterson, 1976), so that
    another seed gives other points that fill the cube as evenly.

    Returns:
      (count, options) numbers in [0, 1).
    """
    import numpy as np

    random = np.random.default_rng(draw.seed)
    if draw.kind == "random":
        return random.random((draw.count, len(draw.options)))
    from scipy.stats import qmc

    # The sequence is balanced over powers of two alone; of one that is longer the first are taken.
    exponent = max(0, math.ceil(math.log2(draw.count)))
    sobol = qmc.Sobol(len(draw.options), scramble=False).random_base2(exponent)
    shifted: np.ndarray = (sobol[: draw.count] + random.random(len(draw.options))) % 1.0
    return shifted


def value_at(span: RangeSpec, place: float) -> Any:
    """The value at a place of a range.

    Args:
      span: the range.
      place: in [0, 1).
    """
    if span.choices is not None:
        return span.choices[int(place * len(span.choices))]
    assert span.low is not None and span.high is not None
    # Of whole numbers each stands for as much room as its neighbours.
    low, high = (span.low, span.high + 1) if span.whole else (span.low, span.high)
    if span.scale == "log":
        found = low * math.exp(place * math.log(high / low))
    else:
        found = low + place * (high - low)
    return min(int(found), int(span.high)) if span.whole else float(f"{found:.6g}")
