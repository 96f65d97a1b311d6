"""What scores are made of where maps read fields over positions, from the examples of a sample.

Every map that reads a unit sees it through what the network's kind puts between (a pooling, a mean)
and at every position of its window: for that map the unit is a group of G rows, 9 of a 3x3 window.
A sum over positions is taken example by example, so that no patch is ever stored for all of them.

As for tracked curvature, A sums over positions and S is a mean over them (Grosse and Martens,
2016). Noise is that between examples: an example's positions are anything but independent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from senn_cli.curvature.kronecker import SMALLEST
from senn_cli.curvature.observe import Observation, Tree, input_rows
from senn_cli.growth.moments import MapStatistics
from senn_cli.growth.objective import Neurons
from senn_cli.growth.reader import Shares
from senn_cli.nets.activation import activate
from senn_cli.nets.features import Architecture, Map, feature_named, standing, writer
from senn_cli.nets.leaves import row_mask
from senn_cli.nets.registry import Used, kind_of

TOGETHER = 1 << 12
"""Positions whose patches are in memory at a time."""

Result = TypeVar("Result")


class Fit(NamedTuple):
    """A map with what its rows in use explain, of one sample.

    Attributes:
      a: A without damping, over all its rows, `(n, n)`; ridge: what damps it.
      a_inverse: the inverse of the damped block in use, zero elsewhere, `(n, n)`.
      used: rows in use, bool `(n,)`.
      s, s_inverse: damped, zero for outputs that are not in use, `(m, m)`.
      whiten: L^-1 with S = L L^T, likewise.
      gradient: dW, likewise, `(n, m)`.
      step: A^-1 dW, `(n, m)`.
      eta: the map's score.
    """

    a: jax.Array
    ridge: jax.Array
    a_inverse: jax.Array
    used: jax.Array
    s: jax.Array
    s_inverse: jax.Array
    whiten: jax.Array
    gradient: jax.Array
    step: jax.Array
    eta: jax.Array

    def residual(self, rows: jax.Array, told: jax.Array) -> jax.Array:
        """Whitened residual gradients L^-1 g_r, `(..., m)`, of rows `(..., n)`."""
        return (told - rows @ self.step) @ self.whiten.T


class Seen(NamedTuple):
    """One sample; by the name of every map that is in use.

    Attributes:
      reads, told: what it reads and is told (`Observation`).
      fits: of those that read units which may come.
      loss: the mean loss.
    """

    reads: Tree
    told: Tree
    fits: dict[str, Fit]
    loss: jax.Array


class ReaderSums(NamedTuple):
    """Means over the examples of a sample, of one map with proposals that it would read.

    Proposals are P' rows behind the map's own n (`proposed_rows`).

    Attributes:
      cross: E[x_p a^T], `(P', n)`; own: E[x_p x_p^T], `(P', P')`.
      gradient: E[x_p g^T], `(P', m)`.
      noise: E[D D^T] with D = sum over positions of x r^T, the residual gradient of one example
        whitened by S; `(n + P', n + P')`.
      mean: E[D], `(n + P', m)`.
      bound: lambda, which no score exceeds.
    """

    cross: Any
    own: Any
    gradient: Any
    noise: Any
    mean: Any
    bound: Any


def reading(shape: Architecture) -> tuple[Map, ...]:
    """The maps in use that read units which may come."""
    return tuple(m for m in standing(shape) if any(s.feature.grows for s in m.sources))


def reached(shape: Architecture, at: str, m: Map, values: jax.Array) -> jax.Array:
    """What map `m` reads of units of `at` with `values` (N, ..., P): `(N, positions, G P)`.

    Row t P + p is unit p at position t of the window.
    """
    carried = kind_of(shape).carried(shape, at, m, values)
    # Without the bias, whose row is no unit's.
    alone = Map(m.name, m.sources, m.target, bias=False, window=m.window, positions=m.positions)
    rows = input_rows(alone, carried)
    return rows.reshape(values.shape[0], -1, rows.shape[-1])


def rows_of(m: Map, read: jax.Array) -> jax.Array:
    """What some examples `read` (N, ...) have the map read: `(N, positions, rows)`."""
    rows = input_rows(m, read)
    return rows.reshape(read.shape[0], -1, rows.shape[-1])


def flat(told: jax.Array) -> jax.Array:
    """What a map is told `(N, ..., m)`, by position: `(N, positions, m)`."""
    return told.reshape(told.shape[0], -1, told.shape[-1])


def in_pieces(of: Callable[..., Result], trees: Any, positions: int) -> Result:
    """The mean over examples of what `of` sums over those of one piece, which alone is in memory.

    Args:
      trees: arrays with a leading axis of N examples, of which `of` gets some.
      positions: the most that an example has.
    """
    n = jax.tree.leaves(trees)[0].shape[0]
    size = next(k for k in range(max(1, min(n, TOGETHER // positions)), 0, -1) if n % k == 0)
    pieces = jax.tree.map(lambda x: x.reshape(n // size, size, *x.shape[1:]), trees)
    first = jax.eval_shape(of, jax.tree.map(lambda x: x[0], pieces))
    none = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), first)

    def add(total: Result, piece: Any) -> tuple[Result, None]:
        return jax.tree.map(jnp.add, total, of(piece)), None

    total, _ = jax.lax.scan(add, none, pieces)
    mean: Result = jax.tree.map(lambda x: x / n, total)
    return mean


def most_positions(shape: Architecture) -> int:
    """The most positions that a map has."""
    return max(m.positions for m in shape.maps)


def fitted(shares: Shares, shape: Architecture, units: Used, seen: Observation) -> dict[str, Fit]:
    """What the maps that read growing features explain, of a whole sample."""
    maps = reading(shape)

    def moments(read: Tree) -> Tree:
        found = {}
        for m in maps:
            rows = input_rows(m, read[m.name])
            found[m.name] = rows.T @ rows
        return found

    a = in_pieces(moments, {m.name: seen.reads[m.name] for m in maps}, most_positions(shape))
    return {m.name: _fit(shares, m, units, seen, a[m.name]) for m in maps}


def _fit(shares: Shares, m: Map, units: Used, seen: Observation, a: jax.Array) -> Fit:
    rows, columns = jnp.asarray(row_mask(m, units)), jnp.asarray(units[m.target.name])
    kept = jnp.where(rows[:, None] & rows, a, 0.0)
    ridge = shares.a * jnp.trace(kept) / jnp.sum(rows) + SMALLEST
    blocked = kept + jnp.diag(jnp.where(rows, ridge, 1.0))
    inverse = jnp.where(rows[:, None] & rows, jnp.linalg.inv(blocked), 0.0)
    there = columns[:, None] & columns
    s = jnp.where(there, seen.s[m.name], 0.0)
    s_ridge = shares.s * jnp.trace(s) / jnp.sum(columns) + SMALLEST
    factor = jnp.linalg.cholesky(s + jnp.diag(jnp.where(columns, s_ridge, 1.0)))
    whiten = solve_triangular(factor, jnp.eye(len(s), dtype=s.dtype), lower=True)
    whiten = jnp.where(there, whiten, 0.0)
    s, s_inverse = jnp.where(there, factor @ factor.T, 0.0), whiten.T @ whiten
    gradient = jnp.where(columns, seen.gradients[m.name], 0.0)
    step = inverse @ gradient
    eta = jnp.sum(step * (gradient @ s_inverse))
    return Fit(a, ridge, inverse, rows, s, s_inverse, whiten, gradient, step, eta)


def reader_sums(
    shape: Architecture, units: Used, seen: Seen, proposals: Mapping[str, Neurons]
) -> dict[str, ReaderSums]:
    """What all maps see of the `proposals`, by the feature that they are proposed for."""

    def values(at: str, read: Tree) -> jax.Array:
        m, neurons, activation = writer(shape, at), proposals[at], feature_named(shape, at)
        assert activation.activation is not None
        rows = jnp.where(jnp.asarray(row_mask(m, units)), input_rows(m, read[m.name]), 0.0)
        pre = rows @ neurons.weights.T
        found = activate(activation.activation, pre, neurons.coefficients.T)
        return found.reshape(*read[m.name].shape[:-1], len(neurons.weights))

    def sums(trees: tuple[Tree, Tree]) -> dict[str, ReaderSums]:
        read, told = trees
        proposed = {at: values(at, read) for at in proposals}
        found = {}
        for m in reading(shape):
            fit, g = seen.fits[m.name], flat(told[m.name])
            rows = rows_of(m, read[m.name])
            new = [
                reached(shape, s.feature.name, m, proposed[s.feature.name])
                for s in m.sources
                if s.feature.name in proposals
            ]
            x = jnp.concatenate(new, axis=-1) if new else rows[..., :0]
            residual = fit.residual(rows, g)
            every = jnp.concatenate([rows, x], axis=-1)
            each = jnp.einsum("ntx,ntm->xnm", every, residual)
            white = g @ fit.whiten.T
            x, rows, g = (y.reshape(g.shape[0] * g.shape[1], y.shape[-1]) for y in (x, rows, g))
            together = each.reshape(each.shape[0], -1)
            found[m.name] = ReaderSums(
                cross=x.T @ rows,
                own=x.T @ x,
                gradient=x.T @ g,
                noise=together @ together.T,
                mean=jnp.sum(each, axis=1),
                bound=jnp.sum(white**2),
            )
        return found

    return in_pieces(sums, (seen.reads, seen.told), most_positions(shape))


def proposed_rows(m: Map, counts: Mapping[str, int]) -> dict[str, np.ndarray]:
    """The rows of proposals in a map's statistics, int `(P, G)` by the feature they are for.

    Args:
      counts: P by the feature.
    """
    found, start = {}, m.rows
    for name in (s.feature.name for s in m.sources if s.feature.name in counts):
        taps, count = max(m.taps, 1), counts[name]
        found[name] = start + np.arange(taps) * count + np.arange(count)[:, None]
        start += taps * count
    return found


def statistics(shares: Shares, fit: Any, sums: Any, count: int) -> MapStatistics:
    """A map with its proposals, on the host in double precision.

    Args:
      fit, sums: `Fit` and `ReaderSums` of a sample of `count` examples.
    """
    fit, sums = (jax.tree.map(lambda x: np.asarray(x, np.float64), tree) for tree in (fit, sums))
    a = np.block([[fit.a, sums.cross.T], [sums.cross, sums.own]])
    room = len(sums.own)
    columns = np.diagonal(fit.s_inverse) > 0
    gradient = np.concatenate([fit.gradient, np.where(columns, sums.gradient, 0.0)])
    return MapStatistics(
        a=a,
        a_inverse=np.pad(fit.a_inverse, (0, room)),
        ridge=np.full(len(a), float(fit.ridge)),
        fresh=shares.a * np.diagonal(a),
        s=fit.s,
        s_inverse=fit.s_inverse,
        gradient=gradient,
        used=np.pad(fit.used.astype(bool), (0, room)),
        scatter=(sums.noise - sums.mean @ sums.mean.T) / max(count - 1, 1),
    )
