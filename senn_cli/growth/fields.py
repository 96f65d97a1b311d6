"""Searching for units whose values are fields over positions, or that several maps read.

The closed form needs what a map reads, not its kind. A unit proposed for a convolution reads
patches. Every map that reads it sees it through what the network's kind puts between (pooling, a
mean) and at every position of its window: for that map it is a group of G rows, 9 of a 3x3 window.
What it could explain is the residual of each reader, moved back to where the unit's values come
from: for one position and each of the G taps m columns. The search sees a sample of the positions;
what it finds is scored over all of them, by Theorem 2 with groups of G rows, summed over readers.

As for tracked curvature, A sums over positions and S is a mean over them (Grosse and Martens,
2016); noise is taken to be independent between positions.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular

from senn_cli.curvature.kronecker import SMALLEST, second_moment
from senn_cli.curvature.observe import Observation, input_rows, observe
from senn_cli.engine.arrays import Arrays, inputs, targets
from senn_cli.engine.metric import Metric
from senn_cli.engine.objective import Objective
from senn_cli.engine.programs import Ledger, Program
from senn_cli.growth import score
from senn_cli.growth.moments import MapStatistics
from senn_cli.growth.objective import Neurons
from senn_cli.growth.reader import Shares
from senn_cli.growth.score import Gains
from senn_cli.growth.search import search_neurons
from senn_cli.growth.settings import WidthSearch
from senn_cli.nets.activation import activate
from senn_cli.nets.features import Architecture, Map, feature_named, readers, standing, writer
from senn_cli.nets.leaves import row_mask
from senn_cli.nets.registry import Parameters, Used, kind_of, used
from senn_cli.randomness import wrap

POSITIONS = 1 << 17
"""Positions of a feature, over all examples, that a round looks at: bounds memory."""

SEARCHED = 1 << 13
"""Positions that proposals are searched on."""


class Scored(NamedTuple):
    """How P proposals at one site do on a sample.

    Attributes:
      gains: the score increases, sums over the maps that read the site.
      eta: the present score of those maps.
      bound: the sum of their lambda, which eta cannot exceed.
    """

    gains: Gains
    eta: jax.Array
    bound: jax.Array


class Fields:
    """The programs for one objective, metric and damping of the scores.

    `observe(shape, params, widths, data, rows) -> Observation`;
    `search(shape, at, settings, key, params, widths, seen) -> Neurons`;
    `score(shape, at, params, widths, seen, neurons) -> Scored`.

    Weights of proposals are columns of the joined matrix of the map that yields the feature `at`.
    """

    def __init__(
        self, ledger: Ledger, objective: Objective, metric: Metric, shares: Shares
    ) -> None:
        def look(
            shape: Architecture, params: Parameters, widths: jax.Array, data: Arrays, rows: Any
        ) -> Observation:
            x, y = inputs(data, rows), targets(data, rows)
            return observe(shape, params, used(shape, widths), x, y, objective, metric)

        self.observe = Program("observe", look, ledger, static=(0,))
        self.search = Program("search_width", partial(_search, shares), ledger, static=(0, 1, 2))
        self.score = Program("score_width", partial(_score, shares), ledger, static=(0, 1))


def examples_of(architecture: Architecture, at: tuple[str, ...], wanted: int) -> int:
    """How many examples are looked at, at most `wanted`: all their positions are."""
    most = max(writer(architecture, name).positions for name in at)
    return max(1, min(wanted, POSITIONS // most))


def _reading(shape: Architecture, at: str) -> list[Map]:
    return [m for m, _ in readers(shape, at) if m.target.role != "bud"]


def reached(shape: Architecture, at: str, m: Map, values: jax.Array) -> jax.Array:
    """What map `m` reads of units with `values` (N, ..., P): `(N, positions, G P)`.

    Row t P + p is unit p at position t of the window.
    """
    carried = kind_of(shape).carried(shape, at, m, values)
    rows = input_rows(_alone(m), carried)
    return rows.reshape(values.shape[0], -1, rows.shape[-1])


def _read(shape: Architecture, m: Map, seen: Observation) -> jax.Array:
    """What `m` reads; of a map that yields a bud it is found where another one reads that, too."""
    if m.name in seen.reads:
        return seen.reads[m.name]
    wanted = [source.feature.name for source in m.sources]
    alike = (o for o in standing(shape) if (o.window, o.positions) == (m.window, m.positions))
    other = next(o for o in alike if all(o.reads(name) for name in wanted))
    ends = list(accumulate(source.rows for source in other.sources))
    parts = [
        seen.reads[other.name][..., end - source.rows : end]
        for source, end in zip(other.sources, ends, strict=True)
        if source.feature.name in wanted
    ]
    return jnp.concatenate(parts, axis=-1)


def _alone(m: Map) -> Map:
    """The map without a bias, whose row is no unit's."""
    return Map(m.name, m.sources, m.target, bias=False, window=m.window, positions=m.positions)


def _rows(m: Map, read: jax.Array) -> jax.Array:
    """What one example, `read` (...), has the map read: `(positions, rows)`."""
    return input_rows(m, read[None])


class _Fit(NamedTuple):
    """A map with what its used rows explain.

    Attributes:
      a: A, `(n, n)`; ridge: what damps it; a_inverse: of the damped used block, `(n, n)`.
      used: rows in use.
      s, s_inverse: damped, `(m, m)`; s_factor: the lower Cholesky factor of `s`.
      step: A^-1 dW, `(n, m)`.
    """

    a: jax.Array
    ridge: jax.Array
    a_inverse: jax.Array
    used: jax.Array
    s: jax.Array
    s_inverse: jax.Array
    s_factor: jax.Array
    step: jax.Array


def _fit(shares: Shares, m: Map, units: Used, seen: Observation) -> _Fit:
    rows, columns = jnp.asarray(row_mask(m, units)), jnp.asarray(units[m.target.name])
    a = _mean(lambda read: second_moments(_rows(m, read)), (seen.reads[m.name],))
    kept = jnp.where(rows[:, None] & rows, a, 0.0)
    ridge = shares.a * jnp.trace(kept) / jnp.sum(rows) + SMALLEST
    blocked = kept + jnp.diag(jnp.where(rows, ridge, 1.0))
    inverse = jnp.where(rows[:, None] & rows, jnp.linalg.inv(blocked), 0.0)
    s = jnp.where(columns[:, None] & columns, seen.s[m.name], 0.0)
    s_ridge = shares.s * jnp.trace(s) / jnp.sum(columns) + SMALLEST
    s = s + jnp.diag(jnp.where(columns, s_ridge, 1.0))
    step = inverse @ jnp.where(columns, seen.gradients[m.name], 0.0)
    return _Fit(a, ridge, inverse, rows, s, jnp.linalg.inv(s), jnp.linalg.cholesky(s), step)


def second_moments(rows: jax.Array, weights: jax.Array | None = None) -> jax.Array:
    """Sums of `rows` (positions, n) over the positions of an example, weighted or not."""
    return rows.T @ (rows if weights is None else weights[:, None] * rows)


def _mean(of: Any, trees: tuple[jax.Array, ...]) -> Any:
    """The mean over examples of what `of` makes of one, which alone is in memory."""
    first = jax.eval_shape(of, *(jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in trees))
    none = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), first)

    def add(total: Any, one: tuple[jax.Array, ...]) -> tuple[Any, None]:
        return jax.tree.map(jnp.add, total, of(*one)), None

    total, _ = jax.lax.scan(add, none, trees)
    return jax.tree.map(lambda x: x / trees[0].shape[0], total)


def _residual(fit: _Fit, rows: jax.Array, told: jax.Array) -> jax.Array:
    """Whitened residual gradients L^-1 g_r of one example, `(positions, m)`."""
    left = told.reshape(-1, told.shape[-1]) - rows @ fit.step
    return solve_triangular(fit.s_factor, left.T, lower=True).T


def _values(
    shape: Architecture, at: str, params: Parameters, units: Used, seen: Observation
) -> jax.Array:
    """The mean unit of a feature, `(N, ..., 1)`: for what its kind does that is not linear."""
    feature, m = feature_named(shape, at), writer(shape, at)
    assert feature.activation is not None
    name = feature.coefficients
    coefficients = None if name is None else params[name]["coefficients"]
    values = activate(feature.activation, seen.yields[m.name], coefficients)
    mask = jnp.asarray(units[at])
    mean = jnp.sum(jnp.where(mask, values, 0.0), axis=-1, keepdims=True) / jnp.sum(mask)
    return mean


def _search(
    shares: Shares,
    shape: Architecture,
    at: str,
    settings: WidthSearch,
    key: jax.Array,
    params: Parameters,
    widths: jax.Array,
    seen: Observation,
) -> Neurons:
    """Proposed units for the feature `at`, with high Delta eta' over its readers together."""
    units, m = used(shape, widths), writer(shape, at)
    activation = feature_named(shape, at).activation
    assert activation is not None
    of_places, of_search, of_draws = jax.random.split(wrap(key), 3)
    read = seen.reads[m.name]
    n, positions = read.shape[0], m.positions
    each = max(1, min(positions, SEARCHED // n))
    mean = _values(shape, at, params, units, seen)
    # The same number of positions of every example, the same one more than once by chance. Where a
    # pooling lets one of several pass, those that pass: their power is what the readers see.
    passing = sum(_mass(shape, at, reader, mean) for reader in _reading(shape, at))
    odds = jnp.where(passing > 0, 0.0, -jnp.inf)
    places = jax.random.categorical(of_places, odds[:, None], axis=-1, shape=(n, each))
    columns = []
    for reader in _reading(shape, at):
        fit = _fit(shares, reader, units, seen)
        residual = jax.lax.map(
            lambda one, fit=fit, reader=reader: _residual(fit, _rows(reader, one[0]), one[1]),
            (seen.reads[reader.name], seen.told[reader.name]),
        )
        columns.append(moved_back(shape, at, reader, mean, residual, places))
    back = jnp.concatenate(columns, axis=-1).reshape(n * each, -1)
    u = jax.lax.map(lambda one: _rows(m, one[0])[one[1]], (read, places)).reshape(n * each, m.rows)
    # The search wants the constant in front (nothing, where there is no bias), then what is used.
    mask = jnp.asarray(row_mask(m, units))
    u = jnp.where(mask, u, 0.0)
    order = jnp.argsort(~mask, stable=True)
    u, active = u[:, order], jnp.sum(mask)
    if not m.bias:
        u, active = jnp.pad(u, ((0, 0), (1, 0))), active + 1
    spectrum = jnp.linalg.eigh(second_moment(u))
    found = search_neurons(of_search, u, spectrum, back, active, activation, settings)
    weights = found.weights if m.bias else found.weights[:, 1:]
    placed = jnp.zeros_like(weights).at[:, order].set(weights)
    # What readers see behind a pooling or a mean is not quite what was searched for: as many draws
    # from the initial distribution stand beside, so that the search is no worse than they are.
    of_weights, of_coefficients = jax.random.split(of_draws)
    draws = jax.random.normal(of_weights, placed.shape) / jnp.sqrt(jnp.sum(mask))
    both = jnp.where(mask, jnp.concatenate([placed, draws]), 0.0)
    others = jax.random.normal(of_coefficients, found.coefficients.shape)
    return Neurons(both, jnp.concatenate([found.coefficients, others]))


def _mass(shape: Architecture, at: str, reader: Map, mean: jax.Array) -> jax.Array:
    """How much a reader sees of every position of the mean unit, `(N, positions)`."""
    rows, pull = jax.vjp(lambda v: reached(shape, at, reader, v), mean)
    (found,) = pull(jnp.ones_like(rows))
    return jnp.abs(found).reshape(len(mean), -1)


def moved_back(
    shape: Architecture,
    at: str,
    reader: Map,
    mean: jax.Array,
    residual: jax.Array,
    places: jax.Array,
) -> jax.Array:
    """A reader's residual `(N, positions, m)` where a unit's values come from, `(N, k, G m)`.

    Column (t, c) at a position is what a value there would move, at tap t, of column c's residual:
    so that a unit's product with it is one of its G rows' with the residual.
    """
    rows, pull = jax.vjp(lambda v: reached(shape, at, reader, v), mean)
    taps, count = rows.shape[-1], residual.shape[-1]

    def one(index: jax.Array) -> jax.Array:
        tap, column = index // count, index % count
        wanted = residual[..., column][..., None] * (jnp.arange(taps) == tap)
        (moved,) = pull(wanted.astype(rows.dtype))
        return jnp.take_along_axis(moved.reshape(moved.shape[0], -1), places, axis=1)

    return jnp.moveaxis(jax.lax.map(one, jnp.arange(taps * count)), 0, -1)


def _score(
    shares: Shares,
    shape: Architecture,
    at: str,
    params: Parameters,
    widths: jax.Array,
    seen: Observation,
    neurons: Neurons,
) -> Scored:
    """The score increases of proposed units for the feature `at`, each on its own."""
    units, m = used(shape, widths), writer(shape, at)
    activation = feature_named(shape, at).activation
    assert activation is not None
    read, count = _read(shape, m, seen), len(neurons.weights)

    def values(one: jax.Array) -> jax.Array:
        pre = _rows(m, one) @ neurons.weights.T
        found: jax.Array = activate(activation, pre, neurons.coefficients.T)
        return found.reshape(*one.shape[:-1], count)

    sums, eta, bound = [], jnp.zeros(()), jnp.zeros(())
    for reader in _reading(shape, at):
        fit = _fit(shares, reader, units, seen)
        trees = (read, seen.reads[reader.name], seen.told[reader.name])

        def rows(
            own: jax.Array, theirs: jax.Array, reader: Map = reader
        ) -> tuple[jax.Array, jax.Array]:
            new = reached(shape, at, reader, values(own)[None])[0]
            return _rows(reader, theirs), new

        def moments(
            own: jax.Array, theirs: jax.Array, told: jax.Array, fit: _Fit = fit, rows: Any = rows
        ) -> tuple[jax.Array, ...]:
            old, new = rows(own, theirs)
            every = jnp.concatenate([old, new], axis=1)
            residual = _residual(fit, old, told)
            lengths = jnp.sum(residual**2, axis=1)
            told = told.reshape(-1, told.shape[-1])
            white = solve_triangular(fit.s_factor, told.T, lower=True)
            return (
                second_moments(every),
                every.T @ told,
                second_moments(every, lengths),
                jnp.sum(white**2),
            )

        a, gradient, scatter, lengths = _mean(moments, trees)
        taps = (len(a) - reader.rows) // count
        groups = reader.rows + jnp.arange(taps) * count + jnp.arange(count)[:, None]
        room = count * taps
        statistics = MapStatistics(
            a=a,
            a_inverse=jnp.pad(fit.a_inverse, (0, room)),
            ridge=jnp.full(len(a), fit.ridge),
            fresh=shares.a * jnp.diagonal(a),
            s=fit.s,
            s_inverse=fit.s_inverse,
            gradient=jnp.where(jnp.asarray(units[reader.target.name]), gradient, 0.0),
            used=jnp.pad(fit.used, (0, room)),
            scatter=scatter / max(len(read) - 1, 1),
        )
        sums.append(score.gains(statistics, groups))
        eta, bound = eta + score.eta(statistics), bound + lengths
    gains: Gains = jax.tree.map(lambda *parts: jnp.sum(jnp.stack(parts), axis=0), *sums)
    return Scored(gains, eta, bound)
