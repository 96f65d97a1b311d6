"""What stands in for a unit that is removed: the optimal brain surgeon's step (section 3.5)."""

from __future__ import annotations

import numpy as np

from senn_cli.curvature.kronecker import SMALLEST

SHARE = 1e-6
"""Damping of A in the compensation, as a share of its mean eigenvalue."""


def compensation(a: np.ndarray, used: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """How the other used rows stand in for `rows`: A_cc^-1 A_cp, `(n_a, G)`, on the host.

    Solved in double precision rather than read off Sigma, and corrected once for its own damping:
    next to a copy the compensation is then exact, where Sigma's entries are large and cancel.

    Args:
      a: A without damping, `(n_a, n_a)`.
      used: rows in use, bool `(n_a,)`.
      rows: those of the feature to be removed, int `(G,)`.

    Returns:
      Zero on unused rows and on `rows`. The new kernel is W + C W_p with W_p set to zero
      (`compensated`).
    """
    a = np.asarray(a, np.float64)
    rows = np.asarray(rows)
    others = np.array(used, bool)
    others[rows] = False
    keep = np.flatnonzero(others)
    result = np.zeros((len(a), len(rows)))
    if len(keep) == 0:
        return result
    kept, cross = a[np.ix_(keep, keep)], a[np.ix_(keep, rows)]
    ridge = SHARE * np.trace(kept) / len(keep) + SMALLEST
    damped = kept + ridge * np.eye(len(keep))
    first = np.linalg.solve(damped, cross)
    result[keep] = first + np.linalg.solve(damped, cross - kept @ first)
    return result


def compensated(kernel: np.ndarray, combination: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The kernel `(n_a, n_s)` after removing `rows` (G,), compensated by `combination` (n_a, G)."""
    result: np.ndarray = kernel + (combination @ kernel[rows]).astype(kernel.dtype)
    result[rows] = 0.0
    return result
