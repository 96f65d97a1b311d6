"""Searching for units whose values are fields over positions, or that several maps read.

What is searched for is what counts: Delta eta' (Theorem 2) of a unit's G rows in every map that
will read it, summed over them, as those maps would see it. So what a unit's maxima over a pooling
are, and what is left of it in a mean over all positions, is its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from senn_cli.curvature.factorisations import inverses
from senn_cli.curvature.kronecker import SMALLEST, second_moment
from senn_cli.curvature.observe import input_rows
from senn_cli.growth import ascent
from senn_cli.growth.field_moments import Fit, Seen, flat, reached, reading, rows_of
from senn_cli.growth.objective import Neurons, best_coefficients
from senn_cli.growth.search import (
    Draws,
    best_of,
    climbed,
    grouping,
    initial_neurons,
    whitening,
)
from senn_cli.growth.settings import WidthSearch
from senn_cli.nets.activation import activate, rational_basis
from senn_cli.nets.architecture import initial_gain
from senn_cli.nets.features import Architecture, Map, feature_named, writer
from senn_cli.nets.leaves import row_mask
from senn_cli.nets.registry import Used
from senn_cli.randomness import wrap

SEARCHED = 1 << 15
"""Positions of a unit, over all examples, that it is searched on."""

LEAST = 64
"""Examples that it is searched on however many positions they have."""

GROUP = 32
"""Units scored at a time."""


KNOWN = 32
"""Directions of what a map reads already that units are told apart from while they are searched."""


def captured(each: jax.Array, power: jax.Array) -> jax.Array:
    """Tr[A_p^-1 R_p R_p^T] of P groups, less what of that is expected to be noise; `(P,)`.

    The derivative is right although it passes the inverse by: at the best output weights
    V = A_p^-1 R_p, 2 Tr[V^T R_p] - Tr[V^T A_p V] does not depend on them to first order.

    Args:
      each: what every example has of R_p, whitened, `(N, P, G, m)`.
      power: damped A_p, `(P, G, G)`.
    """
    n, fixed = len(each), jax.lax.stop_gradient
    cross, moment = jnp.mean(each, axis=0), jnp.einsum("npgm,nphm->pgh", each, each) / len(each)
    inverse, definite = inverses(fixed(power))
    inverse = jnp.where(definite[:, None, None], inverse, 0.0)  # such a group scores nothing
    best = fixed(jnp.einsum("pgh,phm->pgm", inverse, cross))
    found = 2.0 * jnp.sum(best * cross, axis=(1, 2))
    found -= jnp.einsum("pgm,pgh,phm->p", best, power, best)
    # The terms of an example with itself, as `target.sample_bias` has them.
    bent = inverse @ fixed(moment) @ inverse
    alone = jnp.sum(inverse * moment + bent * (fixed(power) - power), axis=(1, 2))
    return (n * found - alone) / max(n - 1, 1)


def leading(fit: Fit) -> jax.Array:
    """A map `(n, KNOWN)` from the rows in use onto directions of unit power, nearly the largest.

    By a few steps of orthogonal iteration; a score that reckons with any of what is read lies
    between Delta eta' and Delta eta.
    """
    kept = jnp.where(fit.used[:, None] & fit.used, fit.a, 0.0) + fit.ridge * jnp.eye(len(fit.a))
    count = min(KNOWN, len(fit.a))
    start = jax.random.normal(wrap(np.zeros(2, np.uint32)), (len(fit.a), count), fit.a.dtype)
    basis = jax.lax.fori_loop(0, 4, lambda _, q: jnp.linalg.qr(kept @ q)[0], start)
    basis = jnp.where(fit.used[:, None], basis, 0.0)
    power = basis.T @ kept @ basis
    # Where fewer rows are in use than there are directions, some of these are others' sums.
    power += (1e-4 * jnp.trace(power) / count + SMALLEST) * jnp.eye(count)
    return solve_triangular(jnp.linalg.cholesky(power), basis.T, lower=True).T


class Target(NamedTuple):
    """A map that will read the units.

    Attributes:
      m: the map.
      residual: its whitened residual gradients, `(N, positions, m)`.
      known: the leading directions of what it reads, `(N, positions, KNOWN)`.
    """

    m: Map
    residual: jax.Array
    known: jax.Array


def bounds(
    shape: Architecture, at: str, targets: Sequence[Target], values: jax.Array, share: float
) -> jax.Array:
    """At least Delta eta' of units of `at` with `values` (N, ..., P), over their readers; `(P,)`.

    Args:
      share: damps what is added, as a share of its own power.
    """
    n, count = values.shape[0], values.shape[-1]
    total = jnp.zeros(count, values.dtype)
    for target in targets:
        rows = reached(shape, at, target.m, values)
        rows = rows.reshape(*rows.shape[:2], -1, count)
        each = jnp.einsum("ntgp,ntm->npgm", rows, target.residual)
        power = jnp.einsum("ntgp,nthp->pgh", rows, rows) / n
        eye = jnp.eye(power.shape[-1], dtype=power.dtype)
        shared = jnp.einsum("ntgp,ntk->pgk", rows, target.known) / n
        power = power * (1.0 + share * eye) - jnp.einsum("pgk,phk->pgh", shared, shared)
        total += captured(each, power + SMALLEST * eye)
    return total


def propose(
    shape: Architecture,
    at: str,
    settings: WidthSearch,
    share: float,
    key: jax.Array,
    start: Draws,
    units: Used,
    seen: Seen,
) -> Neurons:
    """Units for the feature `at` with high Delta eta', `polished` of them (one for `mala`).

    Their weights are columns of the joined matrix of the map that yields it.

    Args:
      share: damps what is added, as a share of its own power.
      start: draws in whitened coordinates of what the units read.
    """
    m, activation = writer(shape, at), feature_named(shape, at).activation
    assert activation is not None
    some = min(len(seen.reads[m.name]), max(LEAST, SEARCHED // m.positions))
    targets = []
    for reader in reading(shape):
        if reader.reads(at):
            told = flat(seen.told[reader.name][:some])
            rows = rows_of(reader, seen.reads[reader.name][:some])
            fit = seen.fits[reader.name]
            targets.append(Target(reader, fit.residual(rows, told), rows @ leading(fit)))
    read, mask = seen.reads[m.name][:some], jnp.asarray(row_mask(m, units))
    u = jnp.where(mask, input_rows(m, read), 0.0)
    if not m.bias:  # nothing where the constant would be
        u, mask = jnp.pad(u, ((0, 0), (1, 0))), jnp.pad(mask, (1, 0))

    def score(neurons: Neurons, source: jax.Array) -> jax.Array:
        found = activate(activation, source @ neurons.weights.T, neurons.coefficients.T)
        return bounds(shape, at, targets, found.reshape(*read.shape[:-1], -1), share)

    def bent(weights: jax.Array, source: jax.Array) -> Neurons:
        if activation != "rational":
            return Neurons(weights, jnp.zeros((len(weights), 3), source.dtype))
        phi = rational_basis(jax.lax.stop_gradient(source @ weights.T))
        phi = phi.reshape(*read.shape[:-1], -1)
        return Neurons(weights, _coefficients(shape, at, targets, phi))

    if settings.method == "closed_form":
        values, vectors = jnp.linalg.eigh(second_moment(u))
        basis, usable = whitening(values, vectors, min(settings.rank, u.shape[1]))
        v = jnp.concatenate([u[:, :1], u @ basis], axis=1)
        starts = _placed(
            start, usable, values[-len(usable) :] * initial_gain(activation) ** 2 / jnp.sum(mask)
        )
        _, groups, filled = grouping(len(starts), GROUP)
        scores = jax.lax.map(
            lambda weights: score(bent(weights, v), v),
            starts[filled].reshape(groups, -1, v.shape[1]),
        )
        scores, count = scores.reshape(-1)[: len(starts)], settings.polished
        best = best_of(scores, Neurons(starts, starts), count).weights
        # Half of them stay as drawn: where noise is large, what climbs highest need not be best.
        climbing = -(-count // 2)
        climbed_to, _ = ascent.adam(
            lambda weights: score(bent(weights, v), v),
            best[:climbing],
            steps=settings.steps,
            learning_rate=settings.learning_rate,
        )
        found = bent(jnp.concatenate([climbed_to, best[: count - climbing]]), v)
        raw = found.weights[:, 1:] @ basis.T
        found = Neurons(raw.at[:, 0].add(found.weights[:, 0]), found.coefficients)
    else:
        first = initial_neurons(
            key, settings.proposals, u.shape[1], jnp.sum(mask), activation, u.dtype
        )
        found = climbed(key, lambda neurons: score(neurons, u), first, mask, settings, GROUP)
    # One that is no number would make none of all that are scored with it.
    finite = jnp.all(jnp.isfinite(found.weights), axis=1, keepdims=True)
    weights = jnp.where(mask & finite, found.weights, 0.0)
    return Neurons(weights if m.bias else weights[:, 1:], found.coefficients)


def _placed(start: Draws, usable: jax.Array, variances: jax.Array) -> jax.Array:
    """Starts `(P, 1 + rank)`: half with directions and lengths alike, half as units are drawn.

    Args:
      variances: of the coordinates of the initial distribution, `(rank,)`.
    """
    half, spread = len(start.biases) // 2, jnp.sqrt(jnp.maximum(variances, 0.0))
    initial = jnp.where(usable, start.directions[:, : len(usable)] * spread, 0.0)
    drawn = jnp.concatenate([(start.along(usable) * start.lengths)[:half], initial[half:]])
    return jnp.concatenate([start.biases, drawn], axis=1)


def _coefficients(
    shape: Architecture, at: str, targets: Sequence[Target], phi: jax.Array
) -> jax.Array:
    """Coefficients of rational units, the best where one row in one map reads each; `(P, 3)`.

    Else they are the best for all rows as if these did not know of each other.

    Args:
      phi: the values of the three functions of every unit, `(N, ..., 3 P)`.
    """
    crosses, moment = [], jnp.zeros(())
    for m, residual, _ in targets:
        rows = reached(shape, at, m, phi)
        rows = rows.reshape(-1, rows.shape[-1] // phi.shape[-1], phi.shape[-1] // 3, 3)
        cross = jnp.einsum("xgpk,xm->pkgm", rows, residual.reshape(rows.shape[0], -1))
        crosses.append(cross.reshape(*cross.shape[:2], -1) / len(phi))
        moment += jnp.einsum("xgpk,xgpl->pkl", rows, rows) / len(phi)
    found = best_coefficients(jnp.concatenate(crosses, axis=-1), moment)
    return jax.lax.stop_gradient(found)
