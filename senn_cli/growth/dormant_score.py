"""Scores of the unused and of the used features of one linear map, from its tracked curvature.

A map reads n_a rows a and yields n_s pre-activations; dW (n_a, n_s) is the loss's gradient with
respect to its whole kernel. The weights of unused rows are zero, but they receive gradient, and A
(n_a, n_a) covers used and unused rows alike. A feature p is a group of G rows: one of a dense map,
nine of a 3x3 convolution. Subscript c means the used rows (without p, where p is used itself). A
and S stand for the damped factors.

**Unused features** (Theorem 2 and its corollary). With the residual gradient

  R_p = dW_p - A_pc A_cc^-1 dW_c

and the Schur complement Ahat_p = A_p - A_pc A_cc^-1 A_cp, activating p raises the score eta =
Tr[A_cc^-1 dW_c S^-1 dW_c^T] by Tr[Ahat_p^-1 R_p S^-1 R_p^T], at least by Tr[A_p^-1 R_p S^-1 R_p^T].

**Used features** (section 3.5; optimal brain surgeon). The quadratic model of the loss around the
present kernel W is L(W + D) = L(W) + Tr[dW^T D] + Tr[D^T A D S] / 2. Removing p with optimal
compensation is D_p = -W_p, D_c = A_cc^-1 A_cp W_p, so that (A D)_c = 0 and (A D)_p = -Ahat_p W_p.
The model's gradient afterwards is dW + A D S: unchanged for the rows that remain, and

  dW_p - Ahat_p W_p S                     for the zeroed weights, so its residual is
  R'_p = R_p - Ahat_p W_p S.

Re-enabling p in that network would raise its score by Tr[Ahat_p^-1 R'_p S^-1 R'_p^T]: the removal
cost. The change of the loss by the compensated removal is

  -Tr[R_p^T W_p] + Tr[W_p^T Ahat_p W_p S] / 2.

All features at once: with Sigma the inverse of A over all used rows, Ahat_p^-1 = Sigma_pp and R_p =
Sigma_pp^-1 (Sigma dW)_p. With U = Sigma dW - W S on the used rows, R'_p = Sigma_pp^-1 U_p and

  cost = Tr[Sigma_pp^-1 U_p S^-1 U_p^T].

With N = Sigma dW S^-1, the step of the natural gradient, U S^-1 = N - W: the cost is the squared
length of where the model wants the weights of p to be, W_p - N_p, and so zero for a feature that
the optimum does without. No inverse but Sigma, S^-1 and blocks of a feature's size is needed.

**Noise.** All scores are quadratic in dW, so noise in dW raises them: by G n_s / N for a feature,
where dW is a mean over N examples with noise of second moment A (x) S. That may well be more than
a threshold. Given two averages of dW over different batches, `gradient` and `other`, each product
pairs one with the other and has no such term in its expectation; a score may then be negative.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from senn_cli.curvature import tracked
from senn_cli.curvature.factorisations import inverses
from senn_cli.curvature.kronecker import SMALLEST


class Consumer(NamedTuple):
    """One map with its tracked statistics.

    Rows and columns of `a_inverse` that belong to unused rows are zero; so are those of `s` and
    `s_inverse` that belong to unused outputs.

    Attributes:
      a: A without damping, over used and unused rows, `(n_a, n_a)`.
      ridge: what damps the diagonal of A, `(n_a,)`.
      a_inverse: the inverse of the used block of A + diag(ridge), `(n_a, n_a)`.
      s, s_inverse: the damped S and its inverse, `(n_s, n_s)`.
      gradient: dW, `(n_a, n_s)`.
      used: rows in use, bool `(n_a,)`.
    """

    a: jax.Array
    ridge: jax.Array
    a_inverse: jax.Array
    s: jax.Array
    s_inverse: jax.Array
    gradient: jax.Array
    used: jax.Array


def consumer(settings: tracked.TrackSettings, pair: tracked.Pair, gradient: jax.Array) -> Consumer:
    """A map from its tracked factors and `gradient`, dW over all rows `(n_a, n_s)`.

    The damping is that of the tracking, for used and unused rows alike. Average dW with
    `averages.average` and the ages of the factors' rows: scores divide one by the other.
    """
    return Consumer(
        a=pair.a.moment,
        ridge=jnp.full(pair.a.ages.shape, pair.a.ridge),
        a_inverse=tracked.inverse(settings, pair.a),
        s=tracked.damped_moment(settings, pair.s),
        s_inverse=tracked.inverse(settings, pair.s),
        gradient=gradient,
        used=pair.a.used,
    )


class Removal(NamedTuple):
    """What it costs to remove each of F features, `(F,)` each; 0 for features not in use.

    Attributes:
      cost: the score increase that re-enabling it would bring, exactly under the model.
      lower: Theorem 2's lower bound on that increase, which decides about activation.
      loss_change: the predicted change of the loss by the removal with compensation.
    """

    cost: jax.Array
    lower: jax.Array
    loss_change: jax.Array


def blocks(matrix: jax.Array, groups: jax.Array) -> jax.Array:
    """The diagonal blocks of `matrix` (n, n) that belong to the rows `groups` (F, G): (F, G, G)."""
    return matrix[groups[:, :, None], groups[:, None, :]]


def features_used(consumer: Consumer, groups: jax.Array) -> jax.Array:
    """Which of the features with rows `groups` (F, G) are in use, bool `(F,)`."""
    return consumer.used[groups[:, 0]]


def natural_step(consumer: Consumer) -> jax.Array:
    """N = A_cc^-1 dW_c S^-1, `(n_a, n_s)`, zero on unused rows: the natural gradient."""
    return consumer.a_inverse @ consumer.gradient @ consumer.s_inverse


def eta(consumer: Consumer, other: jax.Array | None = None) -> jax.Array:
    """The score of the used rows, Tr[A_cc^-1 dW_c S^-1 dW_c^T]: twice what the best step gains.

    `other` (n_a, n_s): dW of other batches, against the bias by noise.
    """
    return jnp.sum(natural_step(consumer) * (consumer.gradient if other is None else other))


def residual_gradient(consumer: Consumer) -> jax.Array:
    """What no used row accounts for, dW - A_:c A_cc^-1 dW_c, zero on used rows; `(n_a, n_s)`."""
    explained = consumer.a @ (consumer.a_inverse @ consumer.gradient)
    return jnp.where(consumer.used[:, None], 0.0, consumer.gradient - explained)


def _gain(
    consumer: Consumer,
    groups: jax.Array,
    power: jax.Array,
    live: jax.Array,
    other: jax.Array | None,
) -> jax.Array:
    """Tr[power^-1 R S^-1 R'^T] of the features where `live`, else 0; `(F,)`."""
    residual = residual_gradient(consumer)
    paired = residual
    if other is not None:
        paired = residual_gradient(consumer._replace(gradient=other))
    inner = jnp.einsum("fgs,fhs->fgh", residual[groups], (paired @ consumer.s_inverse)[groups])
    unit = jnp.eye(groups.shape[1], dtype=power.dtype)
    inverse, _ = inverses(jnp.where(live[:, None, None], power, unit))
    return jnp.where(live, jnp.sum(inverse * inner, axis=(1, 2)), 0.0)


def _power(consumer: Consumer, groups: jax.Array) -> jax.Array:
    """The damped blocks A_p, `(F, G, G)`."""
    damping = consumer.ridge[groups][:, :, None] * jnp.eye(groups.shape[1], dtype=consumer.a.dtype)
    return blocks(consumer.a, groups) + damping


def _dormant(consumer: Consumer, groups: jax.Array) -> jax.Array:
    """Unused features that have been active on some example, bool `(F,)`."""
    seen = jnp.sum(jnp.diagonal(consumer.a)[groups], axis=1) > SMALLEST
    return ~features_used(consumer, groups) & seen


def dormant_gain(
    consumer: Consumer, groups: jax.Array, other: jax.Array | None = None
) -> jax.Array:
    """Theorem 2's lower bound on the score increase of every unused feature, `(F,)`.

    0 for features in use, and for those that never were active (as right after padding). Costs
    O(n_a^2 n_s) and the inversion of a G x G matrix a feature.

    Args:
      consumer: the map.
      groups: the rows of every feature, int `(F, G)`; rows of no feature (a bias) are left alone.
      other: dW of other batches `(n_a, n_s)`, against the bias by noise.
    """
    live = _dormant(consumer, groups)
    return _gain(consumer, groups, _power(consumer, groups), live, other)


def gain_error(
    consumer: Consumer, groups: jax.Array, other: jax.Array, outputs: jax.Array
) -> jax.Array:
    """The standard error of `dormant_gain` by the noise of both gradients, `(F,)`.

    Of a feature without any gain: the product of two independent noises. Where each has the
    variance c / N in each of d = G n_s whitened directions, its standard deviation is
    c sqrt(d) / N. Half the difference of both has the squared length c d / (2 N) on average, which
    is measured. Where the used rows explain much of a feature its residual is not white, and the
    error is somewhat larger than this.

    Args:
      consumer, groups, other: as for `dormant_gain`.
      outputs: n_s, the outputs in use.
    """
    live = _dormant(consumer, groups)
    half = consumer._replace(gradient=0.5 * (consumer.gradient - other))
    power = _gain(half, groups, _power(consumer, groups), live, None)
    return 2.0 * power / jnp.sqrt(groups.shape[1] * outputs)


def dormant_gain_exact(
    consumer: Consumer, groups: jax.Array, other: jax.Array | None = None
) -> jax.Array:
    """The score increase of every unused feature by the Schur complement, `(F,)`; O(n_a^3).

    At least `dormant_gain` where `a_inverse` belongs to `a`. Where it lags behind, or rows have
    been averaged over different times, a Schur complement may cease to be positive; the lower bound
    is returned for such a feature.
    """
    power, live = _power(consumer, groups), _dormant(consumer, groups)
    projection = (consumer.a @ consumer.a_inverse)[groups]
    explained = jnp.einsum("fgk,fhk->fgh", projection, consumer.a[groups])
    # Symmetric in exact arithmetic.
    schur = power - 0.5 * (explained + jnp.swapaxes(explained, 1, 2))
    unit = jnp.eye(groups.shape[1], dtype=power.dtype)
    _, sound = inverses(jnp.where(live[:, None, None], schur, unit))
    return _gain(consumer, groups, jnp.where(sound[:, None, None], schur, power), live, other)


def removal(
    consumer: Consumer, kernel: jax.Array, groups: jax.Array, other: jax.Array | None = None
) -> Removal:
    """What it costs to remove every used feature, each on its own; derivation above.

    Args:
      consumer: the map.
      kernel: W, `(n_a, n_s)`; entries of unused rows and outputs are ignored.
      groups: the rows of every feature, int `(F, G)`.
      other: dW of other batches `(n_a, n_s)`, against the bias by noise.
    """
    live = features_used(consumer, groups)
    where = live[:, None, None]
    unit = jnp.eye(groups.shape[1], dtype=kernel.dtype)
    w = jnp.where(consumer.used[:, None], kernel, 0.0)
    bend = w @ consumer.s
    schur, _ = inverses(jnp.where(where, blocks(consumer.a_inverse, groups), unit))

    def schur_times(rows: jax.Array) -> jax.Array:
        """Ahat_p X_p for every feature, from X `(n_a, n_s)`: `(F, G, n_s)`."""
        return jnp.einsum("fgh,fhs->fgs", schur, rows[groups])

    first = consumer.a_inverse @ consumer.gradient
    second = first if other is None else consumer.a_inverse @ other
    one, two = first - bend, second - bend
    residual, solved = schur_times(one), two @ consumer.s_inverse
    cost = jnp.sum(residual * solved[groups], axis=(1, 2))
    inner = jnp.einsum("fgs,fhs->fgh", residual, schur_times(solved))
    power, _ = inverses(jnp.where(where, _power(consumer, groups), unit))
    lower = jnp.sum(power * inner, axis=(1, 2))
    # -Tr[R^T W] + Tr[W^T Ahat W S] / 2, linear in dW: the mean of both is as good as either.
    change = jnp.sum(w[groups] * schur_times(0.5 * (bend - first - second)), axis=(1, 2))
    return Removal(*(jnp.where(live, x, 0.0) for x in (cost, lower, change)))


def compensation(
    a: np.ndarray, used: np.ndarray, rows: np.ndarray, *, share: float = 1e-6
) -> np.ndarray:
    """How the other used rows stand in for `rows`: A_cc^-1 A_cp, `(n_a, G)`, on the host.

    Solved in double precision rather than read off Sigma, and corrected once for its own damping:
    next to a copy the compensation is then exact, where Sigma's entries are large and cancel.

    Args:
      a: A without damping, `(n_a, n_a)`.
      used: rows in use, bool `(n_a,)`.
      rows: those of the feature to be removed, int `(G,)`.
      share: damping, as a share of the mean power of the rows that remain.

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
    ridge = share * np.trace(kept) / len(keep) + SMALLEST
    damped = kept + ridge * np.eye(len(keep))
    first = np.linalg.solve(damped, cross)
    result[keep] = first + np.linalg.solve(damped, cross - kept @ first)
    return result


def compensated(kernel: np.ndarray, combination: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The kernel `(n_a, n_s)` after removing `rows` (G,), compensated by `combination` (n_a, G)."""
    result: np.ndarray = kernel + (combination @ kernel[rows]).astype(kernel.dtype)
    result[rows] = 0.0
    return result
