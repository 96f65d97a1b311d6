"""The compiled functions of a growth round.

All but `observe` depend on the shapes of the arrays that they are given alone, not on the whole
architecture, so that one layer's new capacity leaves the programs of the others as they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from senn_cli.curvature.factorisations import in_turn
from senn_cli.curvature.kronecker import second_moment, with_constant
from senn_cli.curvature.observe import input_rows, observe
from senn_cli.engine.arrays import Arrays, inputs, targets
from senn_cli.engine.mesh import ONE, placement_of
from senn_cli.engine.metric import Metric
from senn_cli.engine.objective import Objective
from senn_cli.engine.programs import Ledger, Program
from senn_cli.growth import objective
from senn_cli.growth.objective import Neurons
from senn_cli.growth.reader import Shares
from senn_cli.growth.realise import Realised, realise
from senn_cli.growth.score import Gains
from senn_cli.growth.search import search_layers, search_neurons
from senn_cli.growth.settings import DepthSearch, WidthSearch
from senn_cli.growth.target import Target, gain_of_layer, gain_of_neurons, prepare
from senn_cli.nets.activation import activate
from senn_cli.nets.features import Architecture
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.nets.registry import Parameters, used
from senn_cli.nets.slots import blank_parameters, slots_of
from senn_cli.randomness import wrap
from senn_cli.spec.activation import Activation

ROOM = 8
"""Columns beyond the capacity that a round may fill before the arrays are enlarged."""

SQUARE = 64
"""Columns of samples that have the same for all maps."""

NARROW = (16, 32)
"""Columns of what a layer is searched for where no more are in use, as that costs their cube."""

LAYER_ROWS = 4096
"""Examples at most on which layers are climbed; which one comes is decided on all of a sample."""

Spectrum = tuple[Any, Any]
"""Eigenvalues, ascending, and eigenvectors."""


class Sample(NamedTuple):
    """What a round looks at, for N examples and every map.

    Attributes:
      reads: what the map reads with the constant in front, `(N, 1 + n_in)`.
      yields: what it yields with the constant in front, `(N, 1 + n_out)`.
      a: `reads` with `ROOM` zero columns for neurons added in this round, `(N, 1 + n_in + ROOM)`;
        as it is for map 0, whose inputs do not grow.
      g: gradients of the loss with respect to what it yields, `(N, n_out)`.
      s: its second Kronecker factor, `(n_out, n_out)`.
      loss: the mean loss, a scalar.
    """

    reads: tuple[jax.Array, ...]
    yields: tuple[jax.Array, ...]
    a: tuple[jax.Array, ...]
    g: tuple[jax.Array, ...]
    s: tuple[jax.Array, ...]
    loss: jax.Array


class Compiled:
    """The programs for one objective, metric and damping of the scores.

    `observe(shape, params, widths, data, rows) -> Sample`;
    `target(a, g, s, active_in, active_out) -> Target`;
    `search_width(key, u, spectrum | None, residual, active, activation, settings) -> Neurons`;
    `search_depth(key, v, residual, active, settings) -> Neurons`;
    `activate(u, neurons, activation) -> (N, P)`, what neurons make of what they read;
    `score_width(target, activations) -> Gains`;
    `score_depth(target, v, layers, active) -> Gains`;
    `append(a, activations, index, column) -> (a with those of one neuron as a column, E[a a^T])`;
    `realise(shape, at, params, widths, data, rows, target, g, first, count) -> Realised`.

    Attributes:
      shares: the damping.

    Args:
      deepens: whether one program each is to do for all sites of networks of any number of layers:
        samples then have `SQUARE` columns for every map, and `nets/slots.py` has the layers.
    """

    def __init__(
        self,
        ledger: Ledger,
        objective: Objective,
        metric: Metric,
        *,
        damping_a: float,
        damping_s: float,
        deepens: bool = False,
    ) -> None:
        def look(
            shape: MlpArchitecture,
            params: Parameters,
            widths: jax.Array,
            data: Arrays,
            rows: jax.Array,
        ) -> Sample:
            x, y = inputs(data, rows), targets(data, rows)
            seen = observe(shape, params, used(shape, widths), x, y, objective, metric)
            a = tuple(input_rows(m, seen.reads[m.name]) for m in shape.maps)
            yields, g, s = (
                tuple(tree[m.name] for m in shape.maps) for tree in (seen.yields, seen.told, seen.s)
            )
            yields = tuple(map(with_constant, yields))
            if deepens and squares(shape):
                a, yields = (tuple(_to(1 + SQUARE, x) for x in each) for each in (a, yields))
                g = tuple(_to(SQUARE, x) for x in g)
                s = tuple(_to(SQUARE, _to(SQUARE, x).T).T for x in s)
                spare = [_to(1 + SQUARE + ROOM, x) for x in a]
            else:
                spare = [a[0]] + [jnp.pad(x, ((0, 0), (0, ROOM))) for x in a[1:]]
            return Sample(a, yields, tuple(spare), g, s, seen.loss)

        def target(a: Any, g: Any, s: Any, active_in: Any, active_out: Any) -> Target:
            return prepare(
                a,
                g,
                s,
                active_in=active_in,
                active_out=active_out,
                share_a=damping_a,
                share_s=damping_s,
            )

        def realised(*args: Any) -> Realised:
            return realise(objective, *args)

        self.deepens, self.shares = deepens, Shares(damping_a, damping_s)
        self.observe = Program("observe", look, ledger, static=(0,), rows=(0, 1, 2, 3))
        self.target = Program("target", target, ledger)
        self.search_width = Program("search_width", _search_width, ledger, static=(5, 6))
        self.search_depth = Program("search_depth", _search_depth, ledger, static=(4,))
        self.activate = Program("activate", _activate, ledger, static=(2,))
        self.score_width = Program("score_width", gain_of_neurons, ledger)
        self.score_depth = Program("score_depth", _score_depth, ledger)
        self.append = Program("append", _append, ledger, rows=(0,))
        self.realise = Program("realise", realised, ledger, static=(0, 1))

    def look(
        self,
        architecture: Architecture,
        params: Parameters,
        widths: jax.Array,
        data: Arrays,
        rows: np.ndarray,
        *,
        ahead: bool = False,
    ) -> Sample:
        """What `observe` sees of a network of that architecture.

        Args:
          ahead: for shapes alone, in another thread; see `Program.results`.
        """
        observe = self.observe.results if ahead else self.observe
        slots = slots_of(architecture, 1) if self.deepens else None
        if slots is None:
            seen: Sample = observe(architecture.shape(), params, widths, data, rows)
            return seen
        blank = blank_parameters(slots.shape)
        args = (slots.shape, slots.filled(params, blank), slots.widths(widths), data, rows)
        seen = observe(*args)
        count = len(architecture.maps)
        reads, yields, a, g, s = (slots.chosen(each, count) for each in seen[:-1])
        return Sample(reads, yields, a, g, s, seen.loss)

    def narrowed(self, source: jax.Array, residual: jax.Array, active: int) -> tuple[Any, Any]:
        """What a proposed layer reads, and residual gradients, without columns that are not in use.

        They then have as many columns for all maps, so that one search does for them.

        Args:
          active: columns in use of both at most, the constant of `source` not counted.
        """
        columns = next((n for n in NARROW if active <= n < source.shape[1] - 1), None)
        if columns is None:
            return source, residual
        one: Any = np if placement_of(source) is ONE else jnp
        kept = one.asarray(residual)[:, :columns]
        room = ((0, 0), (0, columns - kept.shape[1]))
        return one.asarray(source)[:, : 1 + columns], one.pad(kept, room)

    def spectrum(self, source: jax.Array, known: Spectrum | None) -> Spectrum | None:
        """Of the second moment of what proposals read, where `search_width` is to be given it.

        Args:
          source: `(N, d)`; known: values and vectors of its first columns, ascending; or None.
        """
        size = source.shape[1]
        if not self.deepens or size != 1 + SQUARE:
            return known
        if known is None:
            read = np.asarray(source)
            found = np.linalg.eigh(read.T @ read / len(read))
            return found.eigenvalues, found.eigenvectors
        values, vectors = np.zeros(size, np.float32), np.zeros((size, size), np.float32)
        count = len(known[0])
        values[size - count :], vectors[:count, size - count :] = known
        return values, vectors


def squares(shape: MlpArchitecture) -> bool:
    """Whether all that maps read and yield fits into `SQUARE` columns."""
    return max(max(m.inputs, m.columns) for m in shape.maps) <= SQUARE


def _to(columns: int, x: jax.Array) -> jax.Array:
    """`x` with zeros up to so many columns."""
    return jnp.pad(x, ((0, 0), (0, columns - x.shape[1])))


def _search_width(
    key: jax.Array,
    u: jax.Array,
    spectrum: tuple[jax.Array, jax.Array] | None,
    residual: jax.Array,
    active: jax.Array,
    activation: Activation,
    settings: WidthSearch,
) -> Neurons:
    if spectrum is None:
        spectrum = jnp.linalg.eigh(second_moment(u))
    return search_neurons(wrap(key), u, spectrum, residual, active, activation, settings)


def _search_depth(
    key: jax.Array, v: jax.Array, residual: jax.Array, active: jax.Array, settings: DepthSearch
) -> Neurons:
    rows = slice(LAYER_ROWS)
    return search_layers(wrap(key), v[rows], residual[rows], active, settings)


def _activate(u: jax.Array, neurons: Neurons, activation: Activation) -> jax.Array:
    return activate(activation, u @ neurons.weights.T, neurons.coefficients.T)


def _score_depth(target: Target, v: jax.Array, layers: Neurons, active: jax.Array) -> Gains:
    def one(layer: tuple[jax.Array, ...]) -> Gains:
        a_q = objective.layer_activations(Neurons(*layer), v, active)
        return gain_of_layer(target, a_q)

    return in_turn(one, tuple(layers))


def _append(
    a: jax.Array, activations: jax.Array, index: jax.Array, column: jax.Array
) -> tuple[jax.Array, jax.Array]:
    grown = a.at[:, column].set(activations[:, index])
    return grown, second_moment(grown)
