"""Kronecker factors tracked during training, over the used and the unused rows of every map.

KFAC (section 3.4; Martens and Grosse, 2015) for networks of any kind, by the batches of the steps
or by looks beside them. Where unused units are proposals, A and S are averaged over all rows, while
inverses concern the used block alone. They are zero around it, so that spare capacity changes
nothing, and their damping is split by the number of used rows.

The three coefficients of a rational neuron have a 3 x 3 Fisher block of their own,
E[(dL/dh)^2 phi phi^T] with phi the activation's basis. Where the network's inputs are fixed data, a
map that reads them has their exact second moment over the training set for A, eigendecomposed once.

Every row has an age of its own (averages.py), so that rows which are new do not look weak. What is
inverted is made `consistent`: A may become indefinite when a young row comes into use.

Three methods keep the inverses. `ema`: by Cholesky every k updates. `rank_one`: inverse roots
follow every update through rank-one updates (rank_one.py) and are checked every k updates, with
Cholesky where the check fails. `ekfac`: a diagonal in the factors' eigenbasis (eigenbasis.py),
which is checked every k updates. A change of what is in use makes each do so at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from senn_cli.curvature import averages, eigenbasis, kronecker, rank_one
from senn_cli.curvature.factorisations import inverses
from senn_cli.curvature.kronecker import Spectrum
from senn_cli.curvature.sides import Block, Pair, Side, TrackState


@dataclass(frozen=True)
class TrackSettings:
    """Options of the tracking.

    Attributes:
      damping: lambda of F + lambda I, split between the factors of a map (`damping_split`).
      moving_average: the largest weight of old values, below 1.
      invert_every: updates between inversions, or between checks of the roots.
      method: how inverses are kept.
      tolerance: what passes the check: of `rank_one` the largest |L^T A L - I|, of `ekfac` the
        share of a factor that is off the diagonal in its basis.
    """

    damping: float
    moving_average: float
    invert_every: int
    method: Literal["ema", "rank_one", "ekfac"] = "ema"
    tolerance: float = 0.5


NOTHING = 64.0
"""Eigenvalues below this many roundings of the trace are not told from 0."""

WIDE = 1536
"""Rows from which the inverse of an A that never changes is kept while its damping is `NEAR`."""

NEAR = 0.05
"""What the damping of such an A may have changed by, as a share: n^3 operations for less would be
most of a step."""

Two = tuple[jax.Array, jax.Array]


def consistent(settings: TrackSettings, side: Side) -> jax.Array:
    """The moment, scaled to be positive semi-definite whatever the rows' ages are; `(n, n)`."""
    return averages.consistent(side.moment, side.ages, settings.moving_average)


def _observed(side: Side, moment: jax.Array, heard: jax.Array | None, decay: float) -> Side:
    ages = side.ages + 1 if heard is None else jnp.where(heard, side.ages + 1, 0)
    return side._replace(moment=averages.average(side.moment, moment, ages, ages, decay), ages=ages)


def _damped(
    maps: dict[str, Pair], used: Mapping[str, Two], damping: float | jax.Array
) -> dict[str, Pair]:
    """The maps with the masks `used` and the ridges that belong to their present moments."""
    result = {}
    for name, (a, s) in maps.items():
        used_a, used_s = used[name]
        blocks = rank_one.masked(a.moment, used_a), rank_one.masked(s.moment, used_s)
        split = kronecker.damping_split(
            *blocks,
            jnp.maximum(jnp.sum(used_a), 1),
            jnp.maximum(jnp.sum(used_s), 1),
            damping,
        )
        # A factor without full rank (dead inputs, copies) is inverted in what it has: where only
        # rounding is, a gradient is rounding, too, and must not be divided by less.
        least = NOTHING * np.finfo(a.moment.dtype).eps
        ridge_a, ridge_s = (
            jnp.maximum(r, least * jnp.trace(b)) for r, b in zip(split, blocks, strict=True)
        )
        result[name] = Pair(
            a._replace(used=used_a, ridge=ridge_a), s._replace(used=used_s, ridge=ridge_s)
        )
    return result


def damped_moment(settings: TrackSettings, side: Side) -> jax.Array:
    """The used block with its damping, zero around it: what `solver` inverts; `(n, n)`."""
    eye = jnp.eye(len(side.ages), dtype=side.moment.dtype)
    return rank_one.masked(consistent(settings, side) + side.ridge * eye, side.used)


def _with_blocks(
    settings: TrackSettings, old: Mapping[str, Block], new: Mapping[str, jax.Array]
) -> dict[str, Block]:
    """The blocks with one more batch."""
    found = {}
    for name, block in old.items():
        ages = block.ages + 1
        keep = averages.kept(ages, settings.moving_average).astype(block.moment.dtype)
        keep = keep[:, None, None]
        moment = keep * block.moment + (1.0 - keep) * new[name]
        found[name] = block._replace(moment=moment.astype(block.moment.dtype), ages=ages)
    return found


def _block_inverted(damping: float | jax.Array, block: Block) -> Block:
    eye = jnp.eye(3, dtype=block.moment.dtype)
    solver, _ = inverses(block.moment + jnp.asarray(damping, eye.dtype) * eye)
    return block._replace(solver=solver)


def _inverted(settings: TrackSettings, side: Side) -> Side:
    block = rank_one.masked(consistent(settings, side), side.used)
    whole = kronecker.inverse(block, side.ridge)
    return side._replace(solver=rank_one.masked(whole, side.used))


def _of_spectrum(factor: Spectrum, side: Side, before: Side) -> Side:
    """The inverse of an A that never changes; of a `WIDE` one only where its damping has moved."""

    def anew() -> Side:
        return side._replace(solver=kronecker.spectral_inverse(factor, side.ridge))

    if len(side.ages) < WIDE:
        return anew()
    near = jnp.abs(side.ridge - before.ridge) <= NEAR * before.ridge
    kept: Side = jax.lax.cond(
        near, lambda: side._replace(solver=before.solver, ridge=before.ridge), anew
    )
    return kept


def _checked(settings: TrackSettings, side: Side) -> Side:
    damped = damped_moment(settings, side)
    root, _ = rank_one.checked(side.solver, damped, side.used, settings.tolerance)
    return side._replace(solver=root)


def _changed(old: dict[str, Pair], used: Mapping[str, Two]) -> jax.Array:
    """Whether any mask differs from the one that its solver is about."""
    changes = [
        jnp.any(side.used != mask)
        for name, pair in old.items()
        for side, mask in zip(pair, used[name], strict=True)
    ]
    return jnp.any(jnp.stack(changes))


def _sides(maps: dict[str, Pair], function: Any) -> dict[str, Pair]:
    return {name: Pair(function(pair.a), function(pair.s)) for name, pair in maps.items()}


def update(
    settings: TrackSettings,
    state: TrackState,
    batch: Mapping[str, Two],
    used: Mapping[str, Two],
    blocks: Mapping[str, jax.Array] | None = None,
    heard: Mapping[str, Two] | None = None,
    exact: Mapping[str, Spectrum] | None = None,
    damping: jax.Array | None = None,
    samples: Mapping[str, Two] | None = None,
) -> TrackState:
    """The state after one more batch, by the methods `ema` and `ekfac`.

    Args:
      settings: the options.
      state: before.
      batch: the batch's factors A `(n_a, n_a)` and S `(n_s, n_s)` of every map, over all rows.
      used: the rows in use, bool `(n_a,)` and `(n_s,)` of every map.
      blocks: those of rational neurons, by the name of their coefficients.
      heard: the rows that the batch says something of; None for all. The others have age 0.
      exact: by the map's name, an A that never changes, all of whose rows are in use.
      damping: where it is not that of the settings.
      samples: of `ekfac`: what every example read, `(N, n_a)`, and its sampled gradients,
        `(N, n_s)`.
    """
    level = settings.damping if damping is None else damping
    decay, exact = settings.moving_average, exact or {}
    maps = {}
    for name, pair in state.maps.items():
        of_a, of_s = (None, None) if heard is None else heard[name]
        a = _observed(pair.a, batch[name][0], of_a, decay)
        if name in exact:  # averaging batches would only add noise to it
            a = a._replace(moment=exact[name].matrix)
        maps[name] = Pair(a, _observed(pair.s, batch[name][1], of_s, decay))
    averaged = _with_blocks(settings, state.blocks, blocks or {})

    def inverted(found: tuple[dict[str, Pair], dict[str, Block]]) -> Any:
        maps, blocks = found
        result = {}
        for name, pair in _damped(maps, used, level).items():
            if settings.method == "ekfac":  # it has bases in their place, below
                result[name] = pair
                continue
            if name in exact:
                a = _of_spectrum(exact[name], pair.a, maps[name].a)
            else:
                a = _inverted(settings, pair.a)
            result[name] = Pair(a, _inverted(settings, pair.s))
        return result, {name: _block_inverted(level, b) for name, b in blocks.items()}

    due = _changed(state.maps, used) | (state.seen % settings.invert_every == 0)
    maps, averaged = jax.lax.cond(due, inverted, lambda found: found, (maps, averaged))
    diagonals = dict(state.diagonals)
    for name in diagonals:
        assert samples is not None
        begun = ~_changed({name: state.maps[name]}, used)
        pair, diagonal = _turned(settings, maps[name], diagonals[name], due, begun, exact.get(name))
        found = eigenbasis.squares(samples[name][0], pair.a.solver, samples[name][1], pair.s.solver)
        maps[name], diagonals[name] = pair, decay * diagonal + (1.0 - decay) * found
    return TrackState(state.seen + 1, maps, averaged, diagonals)


def _turned(
    settings: TrackSettings,
    pair: Pair,
    diagonal: jax.Array,
    due: jax.Array,
    begun: jax.Array,
    exact: Spectrum | None,
) -> tuple[Pair, jax.Array]:
    """A map's basis and the diagonal in it, made anew where it is `due` and no longer fits.

    Args:
      begun: whether the diagonal is of what is in use; else it begins with KFAC's.
      exact: of an A that never changes.
    """
    blocks = [rank_one.masked(consistent(settings, side), side.used) for side in pair]

    def anew(_: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
        before = (pair.a.solver, pair.s.solver)
        a, s = (
            eigenbasis.basis(b, side.used)
            if of is None
            else eigenbasis.of_range(of.values, of.vectors)
            for b, side, of in zip(blocks, pair, (exact, None), strict=True)
        )
        first = eigenbasis.products(blocks[0], a, blocks[1], s)
        kept = eigenbasis.turned(diagonal, before, (a, s))
        return a, s, jnp.where(begun, kept, first)

    def misfit(_: Any) -> jax.Array:
        sides = zip(pair, blocks, strict=True)
        return jnp.max(jnp.stack([eigenbasis.spilt(side.solver, b) for side, b in sides]))

    off = jax.lax.cond(due & begun, misfit, lambda _: jnp.zeros((), diagonal.dtype), None)
    stale = due & (~begun | (off > settings.tolerance))
    a, s, diagonal = jax.lax.cond(
        stale, anew, lambda _: (pair.a.solver, pair.s.solver, diagonal), None
    )
    return Pair(pair.a._replace(solver=a), pair.s._replace(solver=s)), diagonal


def update_rank_one(
    settings: TrackSettings,
    state: TrackState,
    samples: Mapping[str, Two],
    used: Mapping[str, Two],
    key: jax.Array,
    blocks: Mapping[str, jax.Array] | None = None,
    heard: Mapping[str, Two] | None = None,
) -> TrackState:
    """The state after one more batch, by the method `rank_one`.

    The damping enters the roots as appendix E adds it, by unit normal vectors of its size in
    every sample; the checks are against the damped factor itself.

    Args:
      settings: the options.
      state: before.
      samples: K vectors for each factor, `(K, n_a)` and `(K, n_s)`, whose outer products have the
        factor as their expectation (`rank_one.combinations`).
      used: the rows in use, bool `(n_a,)` and `(n_s,)` of every map.
      key: of the damping's noise.
      blocks, heard: as of `update`.
    """
    decay = settings.moving_average
    maps = {}
    for name, pair in state.maps.items():
        told = (None, None) if heard is None else heard[name]
        sides = zip(pair, samples[name], told, strict=True)
        maps[name] = Pair(
            *(_observed(x, kronecker.second_moment(v), h, decay) for x, v, h in sides)
        )
    maps = _damped(maps, used, settings.damping)

    def followed(side: Side, vectors: jax.Array, number: int) -> Side:
        noise_key = jax.random.fold_in(key, number)
        noise = jax.random.normal(noise_key, vectors.shape, vectors.dtype)
        vectors = jnp.where(side.used, vectors + jnp.sqrt(side.ridge) * noise, 0)
        # As `average`, for the block's youngest row; the first batches are left to the check.
        youngest = jnp.min(jnp.where(side.used, side.ages, np.iinfo(np.int32).max))
        rate = jnp.minimum(1.0 - averages.kept(youngest, decay), 0.5).astype(vectors.dtype)
        return side._replace(solver=rank_one.decayed(side.solver, vectors, rate))

    for number, (name, pair) in enumerate(maps.items()):
        of_a, of_s = samples[name]
        maps[name] = Pair(
            followed(pair.a, of_a, 2 * number), followed(pair.s, of_s, 2 * number + 1)
        )
    due = _changed(state.maps, used) | (state.seen % settings.invert_every == 0)
    averaged = {
        name: _block_inverted(settings.damping, block)
        for name, block in _with_blocks(settings, state.blocks, blocks or {}).items()
    }
    maps = jax.lax.cond(due, lambda m: _sides(m, partial(_checked, settings)), lambda m: m, maps)
    return TrackState(state.seen + 1, maps, averaged)


def inverse(settings: TrackSettings, side: Side) -> jax.Array:
    """The inverse of the damped used block, `(n, n)`, zero around it."""
    if settings.method == "ekfac":
        return _inverted(settings, side).solver
    return side.solver if settings.method == "ema" else side.solver @ side.solver.T


def precondition(settings: TrackSettings, pair: Pair, gradient: jax.Array) -> jax.Array:
    """A^-1 dW S^-1 over the used rows and outputs of a kernel's gradient `(n_a, n_s)`."""
    if settings.method == "ema":
        return pair.a.solver @ gradient @ pair.s.solver
    half = pair.a.solver @ (pair.a.solver.T @ gradient)
    return half @ pair.s.solver @ pair.s.solver.T
