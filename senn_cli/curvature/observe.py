"""Looking at a network of any kind: what its maps read, yield and are told, for some examples.

Two ways to the second factor S of a map: by one pull-back for every direction of the metric's
factor, by which a search decides; or by one sample of the modified Gauss-Newton matrix
(appendix D), in two backward passes, which is enough
for what is averaged over many looks.

A convolution has many positions in an example. As Grosse and Martens (2016) have it, A sums over
them and S is a mean over them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from senn_cli.curvature import patches
from senn_cli.curvature.activation_curvature import (
    SecondDerivative,
    gradient_and_sample,
)
from senn_cli.curvature.kronecker import with_constant
from senn_cli.curvature.rank_one import combinations
from senn_cli.engine.metric import Metric, output_combination, output_moment, weighted
from senn_cli.engine.objective import Objective, loss_and_gradient
from senn_cli.nets.activation import rational_basis, second_derivative
from senn_cli.nets.features import Architecture, Map, standing
from senn_cli.nets.leaves import joined
from senn_cli.nets.registry import Parameters, Shifts, Signals, Used, apply
from senn_cli.randomness import key_data, wrap

Tree = dict[str, jax.Array]

PULLED = 1 << 18
"""Examples times directions that are pulled back for S: 32 directions of 8,192 examples."""


class Observation(NamedTuple):
    """Of N examples; by the name of every map that is in use, buds' maps left out.

    A signal is `(N, n)`, or `(N, H, W, n)` of a convolution.

    Attributes:
      reads: what it reads, units that are not in use as `Signals.inputs` has them.
      yields: what it yields; units that are not in use zero.
      told: the gradient of every example's own loss with respect to what it yields.
      gradients: dW of the mean loss as one matrix, rows as in `leaves.joined`, those of dormant
        units and buds included.
      sampled: the same for a sample of the curvature, whose second moment is `s`; none where S is
        exact.
      s: its second Kronecker factor, `(n_out, n_out)`.
      blocks: of rational neurons, by the name of their coefficients, `(n, 3, 3)` (tracked.py); none
        where S is exact.
      loss: the mean loss, a scalar.
    """

    reads: Tree
    yields: Tree
    told: Tree
    gradients: Tree
    sampled: Tree
    s: Tree
    blocks: Tree
    loss: jax.Array


def observe(
    shape: Architecture,
    params: Parameters,
    used: Used,
    x: jax.Array,
    y: jax.Array,
    objective: Objective,
    metric: Metric,
    key: jax.Array | None = None,
) -> Observation:
    """The observation of network inputs `x` (N, inputs) with targets `y`.

    What of it nobody uses is not computed.

    Args:
      used: what is in use of every feature, `registry.used`.
      key: of the sample of the curvature; None for S exactly, without the activations' curvature.
    """
    maps = standing(shape)
    zeros = silent(shape, params, used, x)
    hidden = {m.target.name: m for m in maps if m.target.activation is not None}

    def run(params: Parameters, shifts: Shifts) -> tuple[tuple[jax.Array, Tree], Signals]:
        signals = apply(shape, params, x, used, shifts)
        z = {name: signals.preactivations[m.name] for name, m in hidden.items()}
        return (signals.outputs, z), signals

    if key is None:
        outputs, pull, signals = jax.vjp(
            lambda shifts: _outputs(run(params, Shifts(shifts))), zeros.pre, has_aux=True
        )
        (told,) = pull(loss_and_gradient(objective, outputs, y)[1])
        gradients = {m.name: input_rows(m, signals.inputs[m.name]) for m in maps}
        n = x.shape[0]
        gradients = {
            m.name: gradients[m.name].T @ told[m.name].reshape(-1, m.columns) / n for m in maps
        }
        blocks, sampled, s = {}, {}, _second_factors(maps, pull, zeros.pre, metric, outputs)
    else:
        passes = gradient_and_sample(
            run,
            params,
            zeros,
            key,
            loss_gradient=lambda outputs: loss_and_gradient(objective, outputs, y)[1],
            metric=metric,
            second_derivative={name: _second(m, params) for name, m in hidden.items()},
        )
        signals, told, sampled = passes.signals, passes.pre_gradients, passes.covectors
        gradients = {m.name: joined(m, passes.gradient[m.name]) for m in maps}
        s = {name: patches.gradient_factor(g) for name, g in sampled.items()}
        blocks = coefficient_blocks(shape, signals, passes.post_covectors)
    losses, _ = loss_and_gradient(objective, signals.outputs, y)
    yields = {
        m.name: jnp.where(used[m.target.name], signals.preactivations[m.name], 0.0) for m in maps
    }
    reads = {m.name: signals.inputs[m.name] for m in maps}
    return Observation(reads, yields, told, gradients, sampled, s, blocks, jnp.mean(losses))


def silent(shape: Architecture, params: Parameters, used: Used, x: jax.Array) -> Shifts:
    """Zeros for everything that maps in use yield, and for every activation of theirs."""
    blank = jax.eval_shape(lambda p: apply(shape, p, x, used), params)
    maps = standing(shape)
    pre = {m.name: jnp.zeros(blank.preactivations[m.name].shape, x.dtype) for m in maps}
    return Shifts(
        pre, {m.target.name: pre[m.name] for m in maps if m.target.activation is not None}
    )


def in_full(signal: jax.Array) -> jax.Array:
    """A signal in float32 at least, whatever the network computes in: second moments need it."""
    return signal.astype(jnp.promote_types(signal.dtype, jnp.float32))


def coefficient_blocks(
    shape: Architecture, signals: Signals, told: Mapping[str, jax.Array]
) -> Tree:
    """E[(dL/dh)^2 phi phi^T] of every rational neuron, by the name of their coefficients.

    Args:
      told: dL/dh of sampled losses, by the feature's name, `(N, n)`.
    """
    found = {}
    for m in standing(shape):
        if (name := m.target.coefficients) is not None:
            phi = rational_basis(in_full(signals.preactivations[m.name]))
            weighted = phi * (told[m.target.name] ** 2)[..., None]
            found[name] = jnp.einsum("nja,njb->jab", weighted, phi) / phi.shape[0]
    return found


def _outputs(ran: tuple[tuple[jax.Array, Tree], Signals]) -> tuple[jax.Array, Signals]:
    (outputs, _), signals = ran
    return outputs, signals


def _second_factors(
    maps: Sequence[Map], pull: Any, pre: Mapping[str, jax.Array], metric: Metric, outputs: jax.Array
) -> Tree:
    """S = E[J^T H J] of every map: one pull-back a direction, and never all at once.

    The head's is the mean of H itself. Of more outputs than `PULLED` has room for, random signs of
    all directions are pulled back, whose second moment is the same: with a thousand classes and
    8,192 examples 32 passes instead of a thousand.
    """
    n, m = outputs.shape
    count = min(m, max(1, PULLED // n))
    (head,) = (wire.name for wire in maps if wire.target.role == "outputs")
    key = wrap(key_data(0, "signs of directions"))

    def accumulate(total: Tree, k: jax.Array) -> tuple[Tree, None]:
        if count < m:
            signs = jax.random.rademacher(jax.random.fold_in(key, k), (n, m), outputs.dtype)
            c = signs / count**0.5
        else:
            c = jax.nn.one_hot(k, m, dtype=outputs.dtype)
        (pulled,) = pull(output_combination(metric, outputs, c))
        return {name: t + patches.gradient_factor(pulled[name]) for name, t in total.items()}, None

    none = {name: jnp.zeros((z.shape[-1],) * 2, z.dtype) for name, z in pre.items() if name != head}
    s, _ = jax.lax.scan(accumulate, none, jnp.arange(count))
    return {**s, head: output_moment(metric, outputs)}


def _second(m: Map, params: Parameters) -> SecondDerivative:
    activation, name = m.target.activation, m.target.coefficients
    assert activation is not None
    coefficients = None if name is None else params[name]["coefficients"]
    return partial(second_derivative, activation, coefficients=coefficients)


def input_rows(m: Map, read: jax.Array) -> jax.Array:
    """What a map reads as the rows of a matrix `(N positions, m.rows)`.

    So that `input_rows(m, read) @ joined(m, leaves)` is what it yields: the constant 1 is in front
    where it has a bias, and around every position of a convolution is its patch.
    """
    rows = patches.patches(read, m.window[0]) if m.window else read
    rows = rows.reshape(-1, rows.shape[-1])
    return with_constant(rows) if m.bias else rows


def input_factor(
    m: Map,
    read: jax.Array,
    key: jax.Array | None = None,
    *,
    stride: int = 1,
    weights: jax.Array | None = None,
) -> jax.Array:
    """A `(m.rows, m.rows)` of a map that reads `read` (N, n_in) or (N, H, W, n_in).

    Args:
      key: of the offset of the positions that are looked at, where `stride` is above 1.
      stride: one position in stride^2 is looked at, on a grid; 1 takes all of them, which costs
        several times the convolution.
      weights: how much every example counts, `(N,)`; None where all count alike.
    """
    roots, read = None if weights is None else jnp.sqrt(weights), in_full(read)
    if m.window and not m.bias:
        read = weighted(read, roots)
        if stride == 1 or key is None:
            return patches.input_factor(read, m.window[0])
        return patches.input_factor_sampled(key, read, stride=stride, kernel=m.window[0])
    rows = input_rows(m, read)
    if roots is not None:
        rows = rows * jnp.repeat(roots, len(rows) // len(roots))[:, None]
    return rows.T @ rows / read.shape[0]


def factor_vectors(
    m: Map, read: jax.Array, sampled: jax.Array, key: jax.Array, *, stride: int, count: int
) -> tuple[jax.Array, jax.Array]:
    """`count` vectors for A and for S, whose outer products have these as their expectation."""
    of_offset, of_a, of_s = jax.random.split(key, 3)
    s = combinations(of_s, sampled.reshape(-1, sampled.shape[-1]), count)
    if not m.window or m.bias:
        rows, kept = input_rows(m, read), 1
    else:
        offset = jax.random.randint(of_offset, (2,), 0, stride)
        some = patches.patch_subset(read, offset, stride=stride, kernel=m.window[0])
        rows, kept = some.reshape(-1, some.shape[-1]), stride**2
    # A sums over the positions of an example, of which one in `kept` is here.
    scale = (rows.shape[0] * kept / read.shape[0]) ** 0.5
    return scale * combinations(of_a, rows, count), s
