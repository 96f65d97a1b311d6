"""A map that reads a hidden layer, as one sample sees it: in double precision, on the host.

Layers are at most a few hundred neurons wide, so after one pass over the sample all matrices here
are small. They hold the rows and columns in use alone: spare capacity is never seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from senn_cli.curvature.kronecker import SMALLEST
from senn_cli.growth import score
from senn_cli.growth.moments import MapStatistics


@dataclass(frozen=True)
class Shares:
    """Damping of A and S in scores, as shares of their mean eigenvalues."""

    a: float
    s: float


@dataclass(frozen=True, eq=False)
class Reader:
    """One map with its statistics over N examples.

    Rows are features: the constant, the neurons in use, then proposals, if any.

    Attributes:
      a: A = E[a a^T] without damping, `(rows, rows)`.
      weighted: E[|r|^2 a a^T] with the whitened residual gradients r, `(rows, rows)`: the noise of
        a score follows from it.
      s: S without damping, `(m, m)`.
      gradient: dW = E[a g^T], `(rows, m)`.
      kernel: W over the rows in use, `(used, m)`.
      count: N.
      shares: the damping.
    """

    a: np.ndarray
    weighted: np.ndarray
    s: np.ndarray
    gradient: np.ndarray
    kernel: np.ndarray
    count: int
    shares: Shares

    @property
    def used(self) -> int:
        """Rows in use, the constant counted."""
        return len(self.kernel)

    @property
    def mean_power(self) -> float:
        """The mean eigenvalue of A over the rows in use."""
        return float(np.trace(self.a[: self.used, : self.used])) / self.used

    def inverse(self, share: float) -> np.ndarray:
        """The inverse of A over the rows in use, damped by `share` of its mean, `(used, used)`."""
        return _inverse(self.a[: self.used, : self.used], share * self.mean_power)

    @property
    def statistics(self) -> MapStatistics:
        """What scores are made of; a row that comes is damped by a share of its own power."""
        rows, room = len(self.a), len(self.a) - self.used
        return MapStatistics(
            a=self.a,
            a_inverse=np.pad(self.inverse(self.shares.a), (0, room)),
            ridge=np.full(rows, self.shares.a * self.mean_power),
            fresh=self.shares.a * np.diagonal(self.a),
            s=self.s,
            s_inverse=_s_inverse(self.s, self.shares),
            gradient=self.gradient,
            used=np.arange(rows) < self.used,
            scatter=self.weighted / max(self.count - 1, 1),
        )

    @property
    def eta(self) -> float:
        """The map's score; the bias by noise is kept."""
        return float(score.eta(self.statistics))

    @property
    def eta_bias(self) -> float:
        """By how much the finite sample is expected to raise `eta`."""
        return float(score.eta_bias(self.statistics))

    def change(self, neuron: int, combination: np.ndarray) -> float:
        """The change of the loss by removing `neuron`, by the quadratic model.

        Tr[dW^T D] + Tr[D^T A D S] / 2, with `combination` (used,) of the other rows in its place.
        """
        lost = self.kernel[1 + neuron]
        step = np.outer(combination, lost)
        step[1 + neuron] = -lost
        bent = self.a[: self.used, : self.used] @ step @ self.s
        return float(np.sum(step * (self.gradient[: self.used] + 0.5 * bent)))

    def without_input(self, neuron: int, combination: np.ndarray) -> Reader:
        """The map after a neuron that it reads was removed; the last one takes its number.

        The gradients of the other rows stay as they are, by the quadratic model.

        Args:
          combination: of the rows in use, `(used,)`, that stands in for the removed one.
        """
        row = 1 + neuron
        kernel = self.kernel + np.outer(combination, self.kernel[row])
        order = np.concatenate([_closed(row, self.used), np.arange(self.used, len(self.a))])
        return self._rows(order, kernel[_closed(row, self.used)])

    def without_output(self, neuron: int) -> Reader:
        """The map after a neuron that it feeds was removed; the last one takes its number."""
        order = _closed(neuron, len(self.s))
        return replace(
            self,
            s=self.s[np.ix_(order, order)],
            gradient=self.gradient[:, order],
            kernel=self.kernel[:, order],
        )

    def _rows(self, order: np.ndarray, kernel: np.ndarray) -> Reader:
        both = np.ix_(order, order)
        return replace(
            self,
            a=self.a[both],
            weighted=self.weighted[both],
            gradient=self.gradient[order],
            kernel=kernel,
        )


def make_reader(
    a: np.ndarray, g: np.ndarray, s: np.ndarray, kernel: np.ndarray, shares: Shares
) -> Reader:
    """The statistics of one map from a sample.

    Args:
      a: what it reads with the constant in front, and behind it the activations of proposals,
        `(N, rows)`.
      g: gradients of the loss with respect to what it yields, `(N, m)`.
      s: its second Kronecker factor, `(m, m)`.
      kernel: its weights, the bias in row 0, `(used, m)`.
    """
    a, g, s = (np.asarray(x, np.float64) for x in (a, g, s))
    n, used = len(a), len(kernel)
    moment, gradient = a.T @ a / n, a.T @ g / n
    kept = moment[:used, :used]
    solved = _inverse(kept, shares.a * float(np.trace(kept)) / used) @ gradient[:used]
    residual = g - a[:, :used] @ solved
    lengths = np.sum(residual @ _s_inverse(s, shares) * residual, axis=1)
    return Reader(
        a=moment,
        weighted=(a * lengths[:, None]).T @ a / n,
        s=s,
        gradient=gradient,
        kernel=np.asarray(kernel, np.float64),
        count=n,
        shares=shares,
    )


def _inverse(matrix: np.ndarray, ridge: float) -> np.ndarray:
    inverse: np.ndarray = np.linalg.inv(matrix + (ridge + SMALLEST) * np.eye(len(matrix)))
    return inverse


def _s_inverse(s: np.ndarray, shares: Shares) -> np.ndarray:
    return _inverse(s, shares.s * float(np.trace(s)) / len(s))


def _closed(gone: int, size: int) -> np.ndarray:
    """Where the rows come from after row `gone` of `size` has been replaced by the last."""
    order = np.arange(size)
    order[gone] = size - 1
    return order[:-1]
