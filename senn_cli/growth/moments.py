"""What scores are made of: the statistics of one linear map, of a sample or tracked.

Rows are those of `leaves.joined`: the constant of the bias, then what the map reads, with units
that are not in use among them. Arrays are NumPy's in double precision, of a sample on the host, or
JAX's in single precision; `score` computes the same from either.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from senn_cli.curvature import tracked
from senn_cli.curvature.sides import Pair


class MapStatistics(NamedTuple):
    """One map over n rows and m outputs; F = S (x) A (section 3.4).

    Rows and columns of `a_inverse` that belong to unused rows are zero; so are those of `s` and
    `s_inverse` that belong to unused outputs.

    Attributes:
      a: A = E[a a^T] without damping, over used and unused rows, `(n, n)`.
      a_inverse: the inverse of the damped used block of A, `(n, n)`.
      ridge: what damps the diagonal of A there, `(n,)`.
      fresh: what damps that of rows which are added, or added again, `(n,)`.
      s, s_inverse: the damped S and its inverse, `(m, m)`.
      gradient: dW = E[a g^T], `(n, m)`.
      used: rows in use, bool `(n,)`.
      scatter: the second moment of the noise in dW, whitened by S and summed over outputs,
        E[|r|^2 a a^T] / (N - 1) with residual gradients r, `(n, n)`; None where it is unknown.
    """

    a: Any
    a_inverse: Any
    ridge: Any
    fresh: Any
    s: Any
    s_inverse: Any
    gradient: Any
    used: Any
    scatter: Any = None


def of_tracked(settings: tracked.TrackSettings, pair: Pair, gradient: jax.Array) -> MapStatistics:
    """A map from its tracked factors and `gradient`, dW over all rows `(n, m)`.

    The damping is that of the tracking, for used and unused rows alike. Average dW with
    `averages.average` and the ages of the factors' rows: scores divide one by the other.
    """
    ridge = jnp.full(pair.a.ages.shape, pair.a.ridge)
    return MapStatistics(
        a=pair.a.moment,
        a_inverse=tracked.inverse(settings, pair.a),
        ridge=ridge,
        fresh=ridge,
        s=tracked.damped_moment(settings, pair.s),
        s_inverse=tracked.inverse(settings, pair.s),
        gradient=gradient,
        used=pair.a.used,
    )
