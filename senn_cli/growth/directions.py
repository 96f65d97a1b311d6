"""Where new units of a layer gain most, by one singular value decomposition; on the host.

With what a unit reads, x, and g, the gradient of the loss with respect to what its readers yield, a
unit that reads by psi and is read by omega has at psi = 0 the gradient slope E[x g^T] omega with
respect to psi, and at small weights it changes the loss by slope psi^T E[x g^T] omega.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SMALLEST_SHARE = 1e-9
"""Singular values below this share of the largest are rounding."""


def steepest(moment: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The output weights under which new units' gradients are largest (GradMax, Evci et al., 2022).

    Of `count` orthogonal units of length 1 each, the sum of the squares of E[x g^T] omega_k is
    largest for the right singular vectors of the largest singular values, which are the lengths.

    Args:
      moment: E[x g^T], `(n, m)`.

    Returns:
      omega, `(k, m)`, and the singular values `(k,)`; k is at most the rank.
    """
    _, values, right = np.linalg.svd(moment, full_matrices=False)
    k = min(count, _rank(values))
    return right[:k], values[:k]


class Bottleneck(NamedTuple):
    """The k best units for what a layer cannot express; see `bottleneck`.

    Attributes:
      incoming: psi, `(n, k)`; outgoing: omega, `(k, m)`.
      values: lambda, falling, `(k,)`.
    """

    incoming: np.ndarray
    outgoing: np.ndarray
    values: np.ndarray

    def first_order(self, moment: np.ndarray) -> float:
        """D loss / d size at 0 of psi and omega that are sqrt(size) times these, at slope 1.

        Where nothing of `moment`, E[x g^T], is accounted for by the units that are there, which
        then gain nothing from other output weights, it is minus the sum of lambda^2.
        """
        return float(np.sum(self.incoming * (moment @ self.outgoing.T)))


def bottleneck(a: np.ndarray, residual: np.ndarray, count: int, share: float) -> Bottleneck:
    """The units that reduce the expressivity bottleneck (TINY, Verbockhaven et al., 2024).

    With A^{-1/2} N = sum of lambda_k u_k v_k^T: psi_k = sqrt(lambda_k) A^{-1/2} u_k and omega_k =
    -sqrt(lambda_k) v_k, as g ascends. The sum of psi_k omega_k^T is the best linear map from x to
    -g_r of rank k.

    Args:
      a: A, positive definite, `(n, n)`.
      residual: N = E[x g_r^T], `(n, m)`.
      count: at most so many.
      share: those whose lambda is below this share of the largest are left out.
    """
    powers, axes = np.linalg.eigh(a)
    root = (axes / np.sqrt(powers)) @ axes.T
    left, values, right = np.linalg.svd(root @ residual, full_matrices=False)
    k = min(count, _rank(values), int(np.sum(values >= share * values[0])))
    sizes = np.sqrt(values[:k])
    return Bottleneck(root @ left[:, :k] * sizes, -sizes[:, None] * right[:k], values[:k])


def _rank(values: np.ndarray) -> int:
    return int(np.sum(values > SMALLEST_SHARE * max(float(values[0]), np.finfo(float).tiny)))
