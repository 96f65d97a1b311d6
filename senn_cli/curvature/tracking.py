"""Curvature tracked during training, for the natural gradient and for scores, at either cadence.

In the steps: each takes one more backward pass for a sample of its own batch's curvature. Or beside
them: every so many steps a program looks at a batch of its own in two backward passes, through the
network with its dormant units and buds. What is seen is averaged and inverted alike (tracked.py).

The gradients that scores need come from the training steps themselves, which yield those of dormant
units at no extra cost; those of buds, which steps leave out, come from the looks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from senn_cli.curvature import eigenbasis, observe, patches, sides, slow, tracked
from senn_cli.curvature.kronecker import Spectrum
from senn_cli.curvature.sides import Pair, Side, TrackState
from senn_cli.curvature.slow import SlowGradient
from senn_cli.curvature.tracked import TrackSettings
from senn_cli.engine.arrays import Arrays, batch, drawn_rows, examples
from senn_cli.engine.metric import Metric
from senn_cli.engine.objective import Objective
from senn_cli.nets.features import Architecture, Map, standing, there
from senn_cli.nets.leaves import joined, row_mask, split
from senn_cli.nets.registry import Shifts, Signals, Used
from senn_cli.nets.registry import used as used_of
from senn_cli.randomness import wrap
from senn_cli.spec.augment import StepSpec


@dataclass(frozen=True)
class Tracking:
    """How curvature is tracked.

    Attributes:
      settings: of the Kronecker factors.
      every: steps between two looks; None where every step sees its own batch.
      samples: training examples of a look.
      stride: one position of an image in stride^2 counts for A.
      vectors: rank-one updates a look, for that method.
      slow: rate a step of the averaged gradients; None where nothing is scored.
    """

    settings: TrackSettings
    every: int | None
    samples: int = 0
    stride: int = 1
    vectors: int = 0
    slow: float | None = None

    @property
    def bud_rate(self) -> float:
        """The rate a look of the averaged gradients of buds: as far back in steps as `slow`."""
        return 1.0 - (1.0 - (self.slow or 1.0)) ** (self.every or 1)


class Tracked(NamedTuple):
    """What is tracked: the factors, and averaged gradients where something is scored."""

    factors: TrackState
    slow: SlowGradient | None


def sizes(shape: Architecture) -> dict[str, tuple[int, int]]:
    """Rows and columns of every map that is tracked."""
    return {m.name: m.size for m in standing(shape)}


def initial(shape: Architecture, tracking: Tracking, dtype: Any = jnp.float32) -> Tracked:
    """Nothing seen yet."""
    averages = None if tracking.slow is None else slow.initial(sizes(shape))
    neurons = {
        m.target.coefficients: m.columns
        for m in standing(shape)
        if m.target.coefficients is not None
    }
    diagonal = tracking.settings.method == "ekfac"
    factors = sides.initial_state(sizes(shape), dtype, neurons, diagonal=diagonal)
    return Tracked(factors, averages)


Masks = dict[str, tuple[jax.Array, jax.Array]]
"""Rows and columns of every map, bool."""


def masks(shape: Architecture, units: Used) -> Masks:
    """The rows and columns of every map that are in use; none of one to a layer that passes on."""
    found = {}
    for m in standing(shape):
        rows, columns = jnp.asarray(row_mask(m, units)), jnp.asarray(units[m.target.name])
        if m.target.passes:
            here = units[there(m.target.name)]
            rows, columns = rows & here, columns & here
        found[m.name] = (rows, columns)
    return found


def heard(shape: Architecture, units: Used) -> Masks | None:
    """The rows and columns that signals say something of: in use, or dormant; None for all."""
    if all(f.spare == "dormant" or f.role in ("data", "outputs") for f in shape.features):
        return None
    alive = dict(units) | {
        f.name: np.ones(f.capacity, bool) if f.spare == "dormant" else units[f.name]
        for f in shape.features
    }
    return masks(shape, alive)


def bud_rows(m: Map) -> np.ndarray:
    """Rows of a map that belong to buds, bool `(rows,)`."""
    of_buds = {
        s.feature.name: np.full(s.feature.capacity, s.feature.role == "bud") for s in m.sources
    }
    mask: np.ndarray = row_mask(m, of_buds, bias=False)
    return mask


def observe_step(
    shape: Architecture,
    tracking: Tracking,
    state: Tracked,
    gradient: Any,
    step: jax.Array,
) -> Tracked:
    """The averages with the gradient of training step `step`, which says nothing of buds."""
    if state.slow is None or tracking.slow is None:
        return state
    gradients = {wire.name: joined(wire, gradient[wire.name]) for wire in standing(shape)}
    rows = {wire.name: jnp.asarray(~bud_rows(wire)) for wire in standing(shape)}
    return state._replace(slow=slow.seen(state.slow, gradients, step % 2, tracking.slow, rows))


def preconditioned(
    shape: Architecture,
    tracking: Tracking,
    state: Tracked,
    gradient: Any,
    damping: jax.Array | None = None,
) -> Any:
    """A^-1 dW S^-1 of every map; zero for buds and whatever else is not in use.

    Args:
      damping: of `ekfac`, whose bases know of none, where it is not that of the settings.
    """
    level = tracking.settings.damping if damping is None else damping
    result = jax.tree.map(jnp.zeros_like, gradient)
    for m in standing(shape):
        pair = state.factors.maps[m.name]
        of_map, diagonal = joined(m, gradient[m.name]), state.factors.diagonals.get(m.name)
        if diagonal is None:
            step = tracked.precondition(tracking.settings, pair, of_map)
        else:
            step = eigenbasis.preconditioned(of_map, pair.a.solver, pair.s.solver, diagonal, level)
        result[m.name] = split(m, step)
        if (name := m.target.coefficients) is not None:
            solver, found = state.factors.blocks[name].solver, gradient[name]["coefficients"]
            result[name] = {"coefficients": jnp.einsum("jab,bj->aj", solver, found)}
    return result


def stepped(
    shape: Architecture,
    tracking: Tracking,
    state: Tracked,
    signals: Signals,
    sampled: Shifts,
    units: Used,
    input_factor: Spectrum | None,
    weights: jax.Array | None = None,
    damping: jax.Array | None = None,
) -> Tracked:
    """What is tracked, with the batch of a step.

    Args:
      shape: of a network without buds, of which steps see nothing.
      signals: the forward pass on N examples.
      sampled: per-example gradients of sampled losses with respect to what maps yield and to
        rational activations (`metric.sample_output_gradient` at the outputs), each times the root
        of its example's weight.
      input_factor: the exact second moment of the inputs, or None.
      weights: how much every example counts, `(N,)`; None where all count alike.
      damping: where it is not that of the settings.
    """
    maps, exact = standing(shape), {}
    if input_factor is not None:
        exact = {m.name: input_factor for m in maps if reads_inputs(m)}
    found = {
        m.name: (
            observe.input_factor(m, signals.inputs[m.name], weights=weights),
            patches.gradient_factor(sampled.pre[m.name]),
        )
        for m in maps
    }
    blocks = observe.coefficient_blocks(shape, signals, sampled.post)
    used, alive = masks(shape, units), heard(shape, units)
    samples = {
        m.name: (
            observe.input_rows(m, observe.in_full(signals.inputs[m.name])),
            observe.in_full(sampled.pre[m.name]),
        )
        for m in maps
        if tracking.settings.method == "ekfac"
    }
    factors = tracked.update(
        tracking.settings, state.factors, found, used, blocks, alive, exact, damping, samples
    )
    return state._replace(factors=factors)


def outdated(state: Tracked, stale: jax.Array) -> Tracked:
    """The state whose inverses are made anew at the next update if `stale`, a bool scalar."""

    def of_nothing(side: Side) -> Side:
        return side._replace(used=side.used & ~stale)

    maps = {name: Pair(*map(of_nothing, pair)) for name, pair in state.factors.maps.items()}
    return state._replace(factors=state.factors._replace(maps=maps))


def reads_inputs(m: Map) -> bool:
    """Whether a map reads the inputs as they are, and the constant, and nothing else."""
    roles = {source.feature.role for source in m.sources}
    return roles == {"data"} and len(m.sources) == 1 and m.bias and not m.window


def make_draw(tracking: Tracking, n: int) -> Callable[..., jax.Array]:
    """The function from weights or None, key data and step to the rows of n that a look is at."""

    def draw(weights: jax.Array | None, key: jax.Array, step: jax.Array) -> jax.Array:
        of_rows = jax.random.split(jax.random.fold_in(wrap(key), step), 4)[0]
        return drawn_rows(n, weights, tracking.samples, of_rows)

    return draw


def make_track(
    objective: Objective,
    metric: Metric,
    tracking: Tracking,
    augmentation: tuple[StepSpec, ...],
    *,
    drawn_before: bool = False,
) -> Callable[..., Tracked]:
    """The function that looks at a batch, to be compiled with its first argument static.

    Its arguments: `shape`; the state; the parameters; `widths`; the training data; key data; the
    step, from which with the key all randomness follows.

    Args:
      drawn_before: whether the data it is given are the batch, as `make_draw` draws it.
    """

    def track(
        shape: Architecture,
        state: Tracked,
        params: Any,
        widths: jax.Array,
        data: Arrays,
        key: jax.Array,
        step: jax.Array,
    ) -> Tracked:
        drawn = jax.random.fold_in(wrap(key), step)
        of_rows, of_images, of_sample, of_roots = jax.random.split(drawn, 4)
        rows = (
            jnp.arange(tracking.samples)
            if drawn_before
            else drawn_rows(examples(data), data.weights, tracking.samples, of_rows)
        )
        x, y = batch(data, rows, augmentation, of_images)
        units = used_of(shape, widths)
        rank_one = tracking.settings.method == "rank_one"
        of_sample, of_factors = jax.random.split(of_sample)
        seen = observe.observe(shape, params, units, x, y, objective, metric, of_sample)
        found = {}
        for index, m in enumerate(standing(shape)):
            drawn, read = jax.random.fold_in(of_factors, index), seen.reads[m.name]
            if rank_one:
                sampled, stride = seen.sampled[m.name], tracking.stride
                found[m.name] = observe.factor_vectors(
                    m, read, sampled, drawn, stride=stride, count=tracking.vectors
                )
            else:
                a = observe.input_factor(m, read, drawn, stride=tracking.stride)
                found[m.name] = (a, seen.s[m.name])
        used, alive = masks(shape, units), heard(shape, units)
        told = (tracking.settings, state.factors, found, used)
        if rank_one:
            factors = tracked.update_rank_one(*told, of_roots, seen.blocks, alive)
        else:
            factors = tracked.update(*told, seen.blocks, alive)
        averages = state.slow
        if averages is not None and shape.without_buds() != shape:
            buds = {wire.name: jnp.asarray(bud_rows(wire)) for wire in standing(shape)}
            turn = state.factors.seen % 2
            averages = slow.seen(averages, seen.gradients, turn, tracking.bud_rate, buds)
        return Tracked(factors, averages)

    return track
