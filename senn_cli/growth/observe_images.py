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
    Shifts,
    gradient_and_sample,
    second_derivative,
)
from senn_cli.curvature.kronecker import second_moment
from senn_cli.curvature.metric import Metric
from senn_cli.nets.conv_architecture import DenseArchitecture, Wiring
from senn_cli.nets.densenet import Parameters, Signals, apply, joined
from senn_cli.nets.densenet_initial import Masks
from senn_cli.nets.mlp import with_constant
from senn_cli.training.objective import Task, loss_and_gradient


class ImageObservation(NamedTuple):
    """Of one batch, for every map that reads channels which could be added; by its name.

    Attributes:
      gradients: dW of the mean loss as one matrix, rows as in `densenet.feature_rows`, those of
        dormant channels and of the bud included.
      factors: A `(n_a, n_a)` over the same rows, and S `(n_out, n_out)`.
      loss: the mean loss, a scalar.
    """

    gradients: dict[str, jax.Array]
    factors: dict[str, tuple[jax.Array, jax.Array]]
    loss: jax.Array


def consumers(shape: DenseArchitecture) -> tuple[Wiring, ...]:
    """The maps that read channels and are in use: layers and head, not buds."""
    return tuple(wire for wire in shape.wiring if wire.kind != "bud")


def observe_images(
    shape: DenseArchitecture,
    params: Parameters,
    masks: Masks,
    x: jax.Array,
    y: jax.Array,
    key: jax.Array,
    task: Task,
    metric: Metric,
    *,
    stride: int = 2,
) -> ImageObservation:
    """The observation of images `x` (N, inputs) with targets `y`.

    Args:
      key: of the curvature sample and of the positions that A is estimated from.
      stride: one position in stride^2 is looked at for A, on a grid at a random offset; 1 takes all
        of them, which costs several times the convolution.
    """
    blank = jax.eval_shape(lambda p: apply(shape, p, x, masks), params)
    hidden = [wire for wire in consumers(shape) if wire.kind == "layer"]
    pre = {
        wire.name: jnp.zeros(blank.preactivations[wire.name].shape, x.dtype)
        for wire in consumers(shape)
    }
    post = {wire.name: pre[wire.name] for wire in hidden}

    def run(params: Parameters, shifts: Shifts) -> tuple[jax.Array, dict[str, jax.Array]]:
        signals = apply(shape, params, x, masks, shifts.pre, shifts.post)
        return signals.outputs, {wire.name: signals.preactivations[wire.name] for wire in hidden}

    of_sample, of_positions = jax.random.split(key)
    passes = gradient_and_sample(
        run,
        params,
        Shifts(pre, post),
        of_sample,
        loss_gradient=lambda outputs: loss_and_gradient(task, outputs, y)[1],
        metric=metric,
        second_derivative={wire.name: _second(shape, wire) for wire in hidden},
    )
    signals: Signals = apply(shape, params, x, masks)
    losses, _ = loss_and_gradient(task, signals.outputs, y)
    gradients, factors = {}, {}
    for index, wire in enumerate(consumers(shape)):
        read = signals.inputs[wire.name]
        if wire.kind == "head":
            a = second_moment(with_constant(read))
        elif stride == 1:
            a = patches.input_factor(read)
        else:
            drawn = jax.random.fold_in(of_positions, index)
            a = patches.input_factor_sampled(drawn, read, stride=stride)
        factors[wire.name] = (a, patches.gradient_factor(passes.covectors[wire.name]))
        gradients[wire.name] = joined(wire, passes.gradient[wire.name])
    return ImageObservation(gradients, factors, jnp.mean(losses))


def _second(shape: DenseArchitecture, wire: Wiring) -> SecondDerivative:
    return partial(second_derivative, shape.hidden[wire.index].activation)
