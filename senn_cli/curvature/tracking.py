"""Curvature tracked beside the steps of training, for scores and for the natural gradient.

Every so many steps a program looks at a batch of its own: two backward passes through the network
with its dormant channels and buds give Kronecker factors, which are averaged and inverted. The
gradients that scores need come from the training steps themselves, which yield those of dormant
channels at no extra cost; those of buds, which steps leave out, come from these looks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from senn_cli.curvature import slow, tracked
from senn_cli.curvature.observe_images import consumers, observe_images
from senn_cli.curvature.slow import SlowGradient
from senn_cli.curvature.tracked import TrackSettings, TrackState
from senn_cli.engine.arrays import Arrays, batch, examples
from senn_cli.engine.metric import Metric
from senn_cli.engine.objective import Task
from senn_cli.nets.densenet import TAPS, DenseArchitecture, Masks
from senn_cli.nets.densenet_flax import joined, split
from senn_cli.nets.features import Map
from senn_cli.nets.models import masks as masks_of
from senn_cli.randomness import wrap
from senn_cli.spec.augment import StepSpec


@dataclass(frozen=True)
class Tracking:
    """How curvature is tracked.

    Attributes:
      settings: of the Kronecker factors.
      every: steps between two looks.
      samples: training examples of a look.
      stride: one position of an image in stride^2 counts for A.
      vectors: rank-one updates a look, for that method.
      slow: rate a step of the averaged gradients; None where nothing is scored.
    """

    settings: TrackSettings
    every: int
    samples: int
    stride: int
    vectors: int
    slow: float | None

    @property
    def bud_rate(self) -> float:
        """The rate a look of the averaged gradients of buds: as far back in steps as `slow`."""
        return 1.0 - (1.0 - (self.slow or 1.0)) ** self.every


class Tracked(NamedTuple):
    """What is tracked: the factors, and averaged gradients where something is scored."""

    factors: TrackState
    slow: SlowGradient | None


def sizes(shape: DenseArchitecture) -> dict[str, tuple[int, int]]:
    """Rows and columns of every map that is tracked."""
    found = {}
    for wire in consumers(shape):
        n_in = sum(source.feature.capacity for source in wire.sources)
        found[wire.name] = (
            1 + n_in if wire.target.role == "outputs" else TAPS * n_in,
            wire.target.capacity,
        )
    return found


def initial(shape: DenseArchitecture, tracking: Tracking) -> Tracked:
    """Nothing seen yet."""
    averages = None if tracking.slow is None else slow.initial(sizes(shape))
    return Tracked(tracked.initial_state(sizes(shape)), averages)


def rows_of(wire: Map, channels: list[Any]) -> Any:
    """A mask over the rows of a joined map, `(n_a,)`, from one over every source's channels.

    The head's row of the bias counts as in.
    """
    array: Any = jnp if any(isinstance(c, jax.Array) for c in channels) else np
    mask = array.concatenate(channels)
    if wire.target.role == "outputs":
        return array.concatenate([np.ones(1, bool), mask])
    return array.tile(mask, TAPS)


def used_rows(wire: Map, masks: Masks) -> tuple[Any, Any]:
    """Rows and columns of a map that are in use, bool."""
    return rows_of(wire, [masks.of(source) for source in wire.sources]), masks.columns(wire)


def bud_rows(wire: Map) -> np.ndarray:
    """Rows of a map that belong to buds, bool `(n_a,)`."""
    of_buds = [
        np.full(source.feature.capacity, source.feature.role == "bud") for source in wire.sources
    ]
    mask: np.ndarray = rows_of(wire, of_buds)
    return mask & (wire.target.role != "outputs")


def observe_step(
    shape: DenseArchitecture,
    tracking: Tracking,
    state: Tracked,
    gradient: Any,
    step: jax.Array,
) -> Tracked:
    """The averages with the gradient of training step `step`, which says nothing of buds."""
    if state.slow is None or tracking.slow is None:
        return state
    gradients = {wire.name: joined(wire, gradient[wire.name]) for wire in consumers(shape)}
    rows = {wire.name: jnp.asarray(~bud_rows(wire)) for wire in consumers(shape)}
    return state._replace(slow=slow.seen(state.slow, gradients, step % 2, tracking.slow, rows))


def preconditioned(
    shape: DenseArchitecture, tracking: Tracking, state: Tracked, gradient: Any
) -> Any:
    """A^-1 dW S^-1 of every map; zero for buds and whatever else is not in use."""
    result = jax.tree.map(jnp.zeros_like, gradient)
    for wire in consumers(shape):
        pair = state.factors.maps[wire.name]
        step = tracked.precondition(tracking.settings, pair, joined(wire, gradient[wire.name]))
        result[wire.name] = split(wire, step)
    return result


def make_track(
    task: Task, metric: Metric, tracking: Tracking, augmentation: tuple[StepSpec, ...]
) -> Callable[..., Tracked]:
    """The function that looks at a batch, to be compiled with its first argument static.

    Its arguments: `shape`; the state; the parameters; `widths`; the training data; key data; the
    step, from which with the key all randomness follows.
    """

    def track(
        shape: DenseArchitecture,
        state: Tracked,
        params: Any,
        widths: jax.Array,
        data: Arrays,
        key: jax.Array,
        step: jax.Array,
    ) -> Tracked:
        drawn = jax.random.fold_in(wrap(key), step)
        of_rows, of_images, of_sample, of_roots = jax.random.split(drawn, 4)
        rows = jax.random.randint(of_rows, (tracking.samples,), 0, examples(data))
        x, y = batch(data, rows, augmentation, of_images)
        masks = masks_of(shape, widths)
        rank_one = tracking.settings.method == "rank_one"
        vectors = tracking.vectors if rank_one else 0
        seen = observe_images(
            shape, params, masks, x, y, of_sample, task, metric, stride=tracking.stride,
            vectors=vectors,
        )  # fmt: skip
        used = {wire.name: used_rows(wire, masks) for wire in consumers(shape)}
        used = {name: (jnp.asarray(a), jnp.asarray(s)) for name, (a, s) in used.items()}
        if rank_one:
            factors = tracked.update_rank_one(
                tracking.settings, state.factors, seen.factors, used, of_roots
            )
        else:
            factors = tracked.update(tracking.settings, state.factors, seen.factors, used)
        averages = state.slow
        if averages is not None and shape.bud:
            buds = {wire.name: jnp.asarray(bud_rows(wire)) for wire in consumers(shape)}
            turn = state.factors.seen % 2
            averages = slow.seen(averages, seen.gradients, turn, tracking.bud_rate, buds)
        return Tracked(factors, averages)

    return track
