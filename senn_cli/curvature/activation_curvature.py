"""Samples of the Gauss-Newton matrix with the activations' curvature (appendix D).

For one example, with outputs y, loss curvature H_y = L L^T, pre-activations p_i, activations
h_i = sigma(p_i) and g_i = dL/dh_i, the matrix is that of equation 18,

  J_y^T H_y J_y + sum_i |g_i sigma''(p_i)| J_i^T J_i,

J_y and J_i being the derivatives of y and p_i with respect to the parameters. Where every sigma is
linear it is the plain Gauss-Newton matrix. With xi unit normal, zeta_i random signs,

  v = J_y^T L xi + sum_i J_i^T sqrt|g_i sigma''(p_i)| zeta_i

has it as its second moment, and v is one vector-Jacobian product of the function from parameters to
(outputs, all pre-activations), with the cotangents (L xi, sqrt|g sigma''| zeta). Together with the
pass that yields g, that is one forward and two backward passes, of which training needs the forward
and one backward pass anyway.

The noise of different examples is independent. Then v summed over N examples has the sum of their
matrices as its second moment, without terms across examples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from senn_cli.engine.metric import Metric, sample_output_gradient
from senn_cli.nets.registry import Shifts

Tree = Any
SecondDerivative = Callable[[jax.Array], jax.Array]


class Passes(NamedTuple):
    """What a forward and two backward passes over N examples yield.

    Attributes:
      gradient: of the mean loss with respect to the parameters.
      pre_gradients: dL/dp of every example's own loss, in the structure of `Shifts.pre`.
      post_gradients: dL/dh of every example's own loss, in the structure of `Shifts.post`.
      sample: v / sqrt(N), whose second moment is the mean of the examples' matrices.
      covectors: v's part of every example at every pre-activation, in the structure of
        `Shifts.pre`; their second moments are KFAC's S factors.
      post_covectors: the same at every activation, in the structure of `Shifts.post`.
      signals: what else `run` has returned.
    """

    gradient: Tree
    pre_gradients: Tree
    post_gradients: Tree
    sample: Tree
    covectors: Tree
    post_covectors: Tree
    signals: Any


def noise_scales(
    preactivations: Tree,
    post_gradients: Tree,
    second_derivative: SecondDerivative | Tree,
) -> Tree:
    """sqrt|g sigma''(p)| for every pre-activation, in the structure of `preactivations`.

    Args:
      preactivations: a tree of p, `(N, n)` or `(N, H, W, n)`.
      pre_gradients: dL/dp of every example's own loss, in the structure of `Shifts.pre`.
      post_gradients: dL/dh of every example's own loss (not divided by N), of the same shapes.
        Exactly zero for an activation that nothing reads, which then adds no noise.
      second_derivative: sigma'', for all leaves or a tree with one function a leaf.
    """
    seconds = second_derivative
    if callable(second_derivative):
        seconds = jax.tree.map(lambda _: second_derivative, preactivations)
    return jax.tree.map(
        lambda p, g, second: jnp.sqrt(jnp.abs(g * second(p))),
        preactivations,
        post_gradients,
        seconds,
    )


def noise_cotangents(
    key: jax.Array,
    preactivations: Tree,
    post_gradients: Tree,
    second_derivative: SecondDerivative | Tree,
) -> Tree:
    """sqrt|g sigma''(p)| zeta with random signs zeta, one of its own for every entry.

    So for every example, position and channel. Signs have the mean and the second moments of unit
    normal variables, which are all that counts here, and cost a fraction of them. Arguments as for
    `noise_scales`.
    """
    scales = noise_scales(preactivations, post_gradients, second_derivative)
    leaves, structure = jax.tree.flatten(scales)
    noise = [
        jnp.where(signs(jax.random.fold_in(key, index), leaf.shape), leaf, -leaf)
        for index, leaf in enumerate(leaves)
    ]
    return jax.tree.unflatten(structure, noise)


def signs(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Fair and independent bits of `shape` (..., n), bool; more channels n change none of the rest.

    32 to a random number: whole normal variables cost far more, to draw and to compile.
    """
    count = math.prod(shape[:-1])
    words = jax.random.bits(key, (shape[-1], -(-count // 32)), jnp.uint32)
    bits = (words[:, :, None] >> jnp.arange(32, dtype=jnp.uint32)) & 1
    return bits.reshape(shape[-1], -1)[:, :count].T.reshape(shape).astype(bool)


def gradient_and_sample(
    run: Callable[[Tree, Shifts], tuple[tuple[jax.Array, Tree], Any]],
    params: Tree,
    shifts: Shifts,
    key: jax.Array,
    *,
    loss_gradient: Callable[[jax.Array], jax.Array],
    metric: Metric,
    second_derivative: SecondDerivative | Tree,
) -> Passes:
    """The loss's gradient and one sample of the curvature, from one forward pass.

    Args:
      run: (parameters, shifts) -> ((outputs `(N, m)`, pre-activations of all hidden activations, in
        the structure of `shifts.post`), whatever else is wanted of the forward pass).
      params: the parameters.
      shifts: zeros.
      key: of the sample.
      loss_gradient: outputs -> dL/dy of every example's own loss, `(N, m)`.
      metric: H_y; its factor times noise is drawn by `sample_output_gradient`.
      second_derivative: as for `noise_scales`.
    """
    (outputs, preactivations), pull, seen = jax.vjp(run, params, shifts, has_aux=True)
    n = outputs.shape[0]
    silence = jax.tree.map(jnp.zeros_like, preactivations)
    gradient, of_signals = pull((loss_gradient(outputs), silence))
    of_outputs, of_noise = jax.random.split(key)
    noise = noise_cotangents(of_noise, preactivations, of_signals.post, second_derivative)
    sample, covectors = pull((sample_output_gradient(metric, outputs, of_outputs), noise))
    return Passes(
        gradient=jax.tree.map(lambda x: x / n, gradient),
        pre_gradients=of_signals.pre,
        post_gradients=of_signals.post,
        sample=jax.tree.map(lambda x: x / n**0.5, sample),
        covectors=covectors.pre,
        post_covectors=covectors.post,
        signals=seen,
    )
