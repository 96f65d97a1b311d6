"""Looking at a DenseNet: gradients of all weights, dormant ones too, and its Kronecker factors.

What `observe` is for fully connected networks. One forward and two backward passes over a batch
give the loss's gradient, with the rows of dormant channels and buds, and one sample of the modified
Gauss-Newton matrix (appendix "Accounting for Activation Function Curvature"), from which the
factors follow as Grosse and Martens (2016) have them for convolutions: A sums over the positions of
an image, S is a mean over them.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from senn_cli.curvature import patches
from senn_cli.curvature.activation_curvature import (
    SecondDerivative,
    gradient_and_sample,
    second_derivative,
)
from senn_cli.curvature.kronecker import second_moment
from senn_cli.curvature.rank_one import combinations
from senn_cli.engine.metric import Metric
from senn_cli.engine.objective import Task, loss_and_gradient
from senn_cli.nets.features import Architecture, Map, joined, standing
from senn_cli.nets.mlp_flax import with_constant
from senn_cli.nets.registry import Parameters, Shifts, Signals, Used, apply


class ImageObservation(NamedTuple):
    """Of one batch, for every map that reads channels which could be added; by its name.

    Attributes:
      gradients: dW of the mean loss as one matrix, rows as in `features.joined`,
        those of dormant channels and of the bud included.
      factors: A `(n_a, n_a)` over the same rows, and S `(n_out, n_out)`.
      loss: the mean loss, a scalar.
    """

    gradients: dict[str, jax.Array]
    factors: dict[str, tuple[jax.Array, jax.Array]]
    loss: jax.Array


def observe_images(
    shape: Architecture,
    params: Parameters,
    used: Used,
    x: jax.Array,
    y: jax.Array,
    key: jax.Array,
    task: Task,
    metric: Metric,
    *,
    stride: int = 2,
    vectors: int = 0,
) -> ImageObservation:
    """The observation of images `x` (N, inputs) with targets `y`.

    Args:
      key: of the curvature sample and of the positions that A is estimated from.
      stride: one position in stride^2 is looked at for A, on a grid at a random offset; 1 takes all
        of them, which costs several times the convolution.
      vectors: where above 0, the factors are told by that many vectors each, `(vectors, n)`, for
        `tracked.update_rank_one`.
    """
    blank = jax.eval_shape(lambda p: apply(shape, p, x, used), params)
    hidden = [wire for wire in standing(shape) if wire.target.role == "hidden"]
    pre = {
        wire.name: jnp.zeros(blank.preactivations[wire.name].shape, x.dtype)
        for wire in standing(shape)
    }
    post = {wire.target.name: pre[wire.name] for wire in hidden}

    def run(
        params: Parameters, shifts: Shifts
    ) -> tuple[tuple[jax.Array, dict[str, jax.Array]], Signals]:
        signals = apply(shape, params, x, used, shifts)
        hidden_pre = {wire.target.name: signals.preactivations[wire.name] for wire in hidden}
        return (signals.outputs, hidden_pre), signals

    of_sample, of_factors = jax.random.split(key)
    passes = gradient_and_sample(
        run,
        params,
        Shifts(pre, post),
        of_sample,
        loss_gradient=lambda outputs: loss_and_gradient(task, outputs, y)[1],
        metric=metric,
        second_derivative={wire.target.name: _second(wire) for wire in hidden},
    )
    losses, _ = loss_and_gradient(task, passes.signals.outputs, y)
    gradients, factors = {}, {}
    for index, wire in enumerate(standing(shape)):
        drawn = jax.random.fold_in(of_factors, index)
        read, covectors = passes.signals.inputs[wire.name], passes.covectors[wire.name]
        if vectors:
            factors[wire.name] = _vectors(drawn, wire, read, covectors, stride, vectors)
        else:
            factors[wire.name] = (
                _input_factor(drawn, wire, read, stride),
                patches.gradient_factor(covectors),
            )
        gradients[wire.name] = joined(wire, passes.gradient[wire.name])
    return ImageObservation(gradients, factors, jnp.mean(losses))


def _input_factor(key: jax.Array, wire: Map, read: jax.Array, stride: int) -> jax.Array:
    if wire.target.role == "outputs":
        return second_moment(with_constant(read))
    if stride == 1:
        return patches.input_factor(read)
    return patches.input_factor_sampled(key, read, stride=stride)


def _vectors(
    key: jax.Array, wire: Map, read: jax.Array, covectors: jax.Array, stride: int, count: int
) -> tuple[jax.Array, jax.Array]:
    """`count` vectors for each factor, whose outer products have it as their expectation."""
    of_offset, of_a, of_s = jax.random.split(key, 3)
    s = combinations(of_s, covectors.reshape(-1, covectors.shape[-1]), count)
    if wire.target.role == "outputs":
        return combinations(of_a, with_constant(read), count), s
    offset = jax.random.randint(of_offset, (2,), 0, stride)
    rows = patches.patch_subset(read, offset, stride=stride)
    rows = rows.reshape(-1, rows.shape[-1])
    # A sums over the positions of an image, of which one in stride^2 is here.
    scale = (rows.shape[0] * stride**2 / read.shape[0]) ** 0.5
    return scale * combinations(of_a, rows, count), s


def _second(wire: Map) -> SecondDerivative:
    assert wire.target.activation is not None
    return partial(second_derivative, wire.target.activation)
