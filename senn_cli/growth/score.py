"""The natural expansion score, its increases and removal costs: section 3, Theorem 2, pruning.

Everything concerns one linear map (moments.py) that reads n rows a and yields m pre-activations
with gradients g; dW = E[a g^T] is the loss's gradient with respect to its whole kernel. The weights
of unused rows are zero, but they receive gradient. A unit p is a group of G rows: one of a dense
map, nine of a 3x3 convolution. Subscript c means the used rows (without p, where p is used itself).
A and S stand for the damped factors; the identities hold for them as they do for the plain ones.

**The score** of the used rows, twice what the best step gains (section 3.4, equation 3):

  eta = Tr[A_cc^-1 dW_c S^-1 dW_c^T].

**Additions** (Theorem 2, or Theorem A.8, and Corollary A.5). With the residual gradient, what the
used rows leave and so do not account for already (section 3.2; Lemma A.6),

  R_p = dW_p - A_pc A_cc^-1 dW_c

and the Schur complement Ahat_p = A_p - A_pc A_cc^-1 A_cp, taking p into use raises eta by
(equation 7, and equation 10 for the bound)

  Delta eta = Tr[Ahat_p^-1 R_p S^-1 R_p^T]  >=  Delta eta' = Tr[A_p^-1 R_p S^-1 R_p^T].

**Removals** (section 3.5; optimal brain surgeon). The quadratic model of the loss around the
present kernel W is L(W + D) = L(W) + Tr[dW^T D] + Tr[D^T A D S] / 2. Removing p with optimal
compensation is D_p = -W_p, D_c = A_cc^-1 A_cp W_p, so that (A D)_c = 0 and (A D)_p = -Ahat_p W_p.
The model's gradient afterwards is dW + A D S: unchanged for the rows that remain, and

  R'_p = R_p - Ahat_p W_p S

is the residual gradient of the zeroed weights. Re-enabling p in that network would raise its score
by Tr[Ahat_p^-1 R'_p S^-1 R'_p^T]: the removal cost. The loss changes by

  -Tr[R_p^T W_p] + Tr[W_p^T Ahat_p W_p S] / 2.

All units at once: with Sigma the inverse of A over all used rows, Ahat_p^-1 = Sigma_pp and R_p =
Sigma_pp^-1 (Sigma dW)_p. No inverse but Sigma, S^-1 and blocks of a unit's size is needed.

**Noise.** All scores are quadratic in dW, so noise in dW raises them: by G m / N for a unit, where
dW is a mean over N examples with noise of second moment A (x) S. That may well be more than a
threshold. Given two averages of dW over different batches, `gradient` and `other`, each product
pairs one with the other and has no such term in its expectation; a score may then be negative.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from senn_cli.curvature.factorisations import inverses
from senn_cli.curvature.kronecker import SMALLEST
from senn_cli.growth.moments import MapStatistics


class Gains(NamedTuple):
    """The score increases by units that are not in use, `(F,)` each, each unit on its own.

    Attributes:
      exact: Delta eta, by the Schur complement.
      lower: Delta eta', the lower bound of Theorem 2.
      bias: by how much the finite sample is expected to raise `exact`; 0 where nothing is known
        of the noise.
    """

    exact: Any
    lower: Any
    bias: Any


class Removals(NamedTuple):
    """What it costs to remove each of F units, `(F,)` each; 0 for units not in use.

    Attributes:
      cost: the score increase that re-enabling it would bring, by the Schur complement.
      lower: Theorem 2's lower bound on that.
      bias: by how much the finite sample is expected to raise `cost`.
      change: the predicted change of the loss by the removal with compensation.
      eta: the score of the map without the unit.
    """

    cost: Any
    lower: Any
    bias: Any
    change: Any
    eta: Any


def _arrays(m: MapStatistics) -> Any:
    """JAX's NumPy or NumPy itself, whichever the statistics are made of."""
    return np if isinstance(m.a, np.ndarray) else jnp


def blocks(matrix: Any, groups: Any) -> Any:
    """The diagonal blocks of `matrix` (n, n) that belong to the rows `groups` (F, G): (F, G, G)."""
    return matrix[groups[:, :, None], groups[:, None, :]]


def inverse_blocks(matrices: Any) -> tuple[Any, Any]:
    """The inverses `(F, G, G)` of symmetric positive definite `matrices`, and which are such."""
    if not isinstance(matrices, np.ndarray):
        return inverses(matrices)
    definite = np.linalg.eigvalsh(matrices)[:, 0] > 0
    sound = np.where(definite[:, None, None], matrices, np.eye(matrices.shape[1]))
    return np.linalg.inv(sound), definite


def eta(m: MapStatistics, other: Any = None) -> Any:
    """The score of the used rows, Tr[A_cc^-1 dW_c S^-1 dW_c^T] (section 3.4).

    `other` (n, m): dW of other batches, against the bias by noise.
    """
    step = m.a_inverse @ m.gradient @ m.s_inverse
    return _arrays(m).sum(step * (m.gradient if other is None else other))


def with_rows(m: MapStatistics, rows: np.ndarray) -> MapStatistics:
    """The map once `rows` (G,) of a unit have come into use, at weights of zero; on the host.

    By block elimination: with U = [-A_pc A_cc^-1, 1] the inverse gains U^T Ahat_p^-1 U, and eta
    just what `gains` says.
    """
    projection = m.a[rows] @ m.a_inverse
    schur = m.a[np.ix_(rows, rows)] + np.diag(m.fresh[rows]) - projection @ m.a[:, rows]
    combinations = np.eye(len(m.a))[rows] - projection
    gained = combinations.T @ np.linalg.solve(0.5 * (schur + schur.T), combinations)
    used, ridge = m.used.copy(), m.ridge.copy()
    used[rows], ridge[rows] = True, m.fresh[rows]
    return m._replace(a_inverse=m.a_inverse + gained, used=used, ridge=ridge)


def eta_bias(m: MapStatistics) -> Any:
    """By how much the finite sample is expected to raise `eta`."""
    return _arrays(m).sum(m.a_inverse * m.scatter)


def eta_error(m: MapStatistics, other: Any) -> Any:
    """The standard error of `eta` by the noise of both gradients, as `gain_error` has it of a gain.

    Noise with the second moment (A (x) S) c / N has, whitened by the damped factors, the variances
    of A_cc^-1 A_cc (without damping) in each of the m outputs: as much as it would have alike in
    d = Tr[P]^2 / Tr[P^2] directions an output, P = A_cc^-1 A_cc.

    Args:
      m: the map.
      other: dW of other batches, `(n, m)`.
    """
    array = _arrays(m)
    half = m._replace(gradient=0.5 * (m.gradient - other))
    p = m.a_inverse @ array.where(m.used, m.a, 0.0)
    outputs = array.sum(m.s_inverse * m.s)
    directions = array.trace(p) ** 2 / array.sum(p * p.T) * outputs
    return 2.0 * eta(half) / array.sqrt(array.maximum(directions, 1.0))


def residual_gradient(m: MapStatistics, gradient: Any = None) -> Any:
    """What no used row accounts for, dW - A_:c A_cc^-1 dW_c, zero on used rows; `(n, m)`."""
    gradient = m.gradient if gradient is None else gradient
    explained = m.a @ (m.a_inverse @ gradient)
    return _arrays(m).where(m.used[:, None], 0.0, gradient - explained)


def increase(inverse: Any, one: Any, two: Any) -> Any:
    """Tr[B^-1 X S^-1 Y^T] for every unit, `(F,)`: what Theorem 2 and its corollary are made of.

    Args:
      inverse: B^-1, `(F, G, G)`: of A_p for the lower bound, of Ahat_p for Delta eta itself.
      one, two: X and Y S^-1, `(F, G, m)`.
    """
    array: Any = np if isinstance(inverse, np.ndarray) else jnp
    return array.sum(inverse * array.einsum("fgs,fhs->fgh", one, two), axis=(1, 2))


def _fresh(m: MapStatistics, groups: Any) -> Any:
    """The damping of units that come, `(F, G, G)`."""
    array = _arrays(m)
    return m.fresh[groups][:, :, None] * array.eye(groups.shape[1], dtype=m.a.dtype)


def _dormant(m: MapStatistics, groups: Any) -> Any:
    """Unused units that have been active on some example, bool `(F,)`."""
    array = _arrays(m)
    seen = array.sum(array.diagonal(m.a)[groups], axis=1) > SMALLEST
    return ~m.used[groups[:, 0]] & seen


def _spread(m: MapStatistics, inverse: Any, combinations: Any) -> Any:
    """Tr[B^-1 U C U^T] with the noise's moment C: how much of a score is noise; `(F,)`.

    Args:
      inverse: B^-1, `(F, G, G)`.
      combinations: U, the combinations of rows whose gradient is scored, `(F, G, n)`.
    """
    array = _arrays(m)
    if m.scatter is None:
        return array.zeros(len(inverse), m.a.dtype)
    return increase(inverse, combinations, combinations @ m.scatter)


def gains(m: MapStatistics, groups: Any, other: Any = None) -> Gains:
    """The score increases of every unused unit (Theorem 2 and its corollary).

    0 for units in use, and for those that never were active (as right after padding). The lower
    bound costs O(n^2 m) and the inversion of a G x G matrix a unit; under `jit` nothing of the
    exact value, O(n^3), is computed where it is not used. Where `a_inverse` lags behind, or rows
    have been averaged over different times, a Schur complement may cease to be positive; the lower
    bound is the exact value of such a unit.

    Args:
      m: the map.
      groups: the rows of every unit, int `(F, G)`; rows of no unit (a bias) are left alone.
      other: dW of other batches `(n, m)`, against the bias by noise.
    """
    array, live = _arrays(m), _dormant(m, groups)
    where, unit = live[:, None, None], array.eye(groups.shape[1], dtype=m.a.dtype)
    residual = residual_gradient(m)
    paired = residual if other is None else residual_gradient(m, other)
    one, two = residual[groups], (paired @ m.s_inverse)[groups]
    power = blocks(m.a, groups) + _fresh(m, groups)
    lower = inverse_blocks(array.where(where, power, unit))[0]
    projection = m.a[groups] @ m.a_inverse
    explained = array.einsum("fgk,fhk->fgh", projection, m.a[groups])
    # Symmetric in exact arithmetic.
    schur = power - 0.5 * (explained + array.swapaxes(explained, 1, 2))
    exact, sound = inverse_blocks(array.where(where, schur, unit))
    exact = array.where(sound[:, None, None], exact, lower)
    own = array.eye(len(m.a), dtype=m.a.dtype)[groups]
    found = Gains(
        exact=increase(exact, one, two),
        lower=increase(lower, one, two),
        bias=_spread(m, exact, own - projection),
    )
    return Gains(*(array.where(live, x, 0.0) for x in found))


def gain_error(m: MapStatistics, groups: Any, other: Any, outputs: Any) -> Any:
    """The standard error of the lower bound of `gains` by the noise of both gradients, `(F,)`.

    Of a unit without any gain: the product of two independent noises. Where each has the variance
    c / N in each of d = G m whitened directions, its standard deviation is c sqrt(d) / N. Half the
    difference of both has the squared length c d / (2 N) on average, which is measured. Where the
    used rows explain much of a unit its residual is not white, and the error is somewhat larger
    than this.

    Args:
      m, groups, other: as for `gains`.
      outputs: the outputs in use.
    """
    half = m._replace(gradient=0.5 * (m.gradient - other), scatter=None)
    return 2.0 * gains(half, groups).lower / _arrays(m).sqrt(groups.shape[1] * outputs)


def removals(
    m: MapStatistics, kernel: Any, groups: Any, other: Any = None, left: Any = None
) -> Removals:
    """What it costs to remove every used unit, each on its own (section 3.5; derivation above).

    Args:
      m: the map.
      kernel: W, `(n, m)`; entries of unused rows and outputs are ignored.
      groups: the rows of every unit, int `(F, G)`.
      other: dW of other batches `(n, m)`, against the bias by noise.
      left: what a better damped compensation leaves of every unit's power, `(F, G, G)`; by default
        Ahat_p with the damping of the map.
    """
    array, live = _arrays(m), m.used[groups[:, 0]]
    where, unit = live[:, None, None], array.eye(groups.shape[1], dtype=m.a.dtype)
    w = array.where(m.used[:, None], kernel, 0.0)
    bend = w @ m.s
    damped, _ = inverse_blocks(array.where(where, blocks(m.a_inverse, groups), unit))
    left = damped if left is None else left

    def times(matrices: Any, rows: Any) -> Any:
        """B_p X_p of every unit, from X `(n, m)`: `(F, G, m)`."""
        return array.einsum("fgh,fhs->fgs", matrices, rows[groups])

    first = m.a_inverse @ m.gradient
    second = first if other is None else m.a_inverse @ other
    bent = times(left, bend)
    one, two = times(damped, first) - bent, times(damped, second) - bent
    # One that comes is damped by `fresh`, not by `ridge`.
    difference = (m.fresh - m.ridge)[groups][:, :, None] * unit
    schur, sound = inverse_blocks(array.where(where, damped + difference, unit))
    power, _ = inverse_blocks(array.where(where, blocks(m.a, groups) + _fresh(m, groups), unit))
    schur = array.where(sound[:, None, None], schur, power)
    fall = array.einsum("fgs,fgs->f", times(damped, first), (second @ m.s_inverse)[groups])
    combinations = array.einsum("fgh,fhk->fgk", damped, m.a_inverse[groups])
    found = Removals(
        cost=increase(schur, one, two @ m.s_inverse),
        lower=increase(power, one, two @ m.s_inverse),
        bias=_spread(m, schur, combinations),
        # -Tr[R^T W] + Tr[W^T Ahat W S] / 2, linear in dW: the mean of both is as good as either.
        change=array.sum(w[groups] * (0.5 * (bent - times(damped, first + second))), axis=(1, 2)),
        eta=eta(m, other) - fall,
    )
    return Removals(*(array.where(live, x, 0.0) for x in found))
