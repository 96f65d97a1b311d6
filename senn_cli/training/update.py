"""One step of training on one batch."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax

from senn_cli.curvature.fisher import inner
from senn_cli.curvature.kronecker import SMALLEST, Spectrum
from senn_cli.curvature.tracking import observe_step, outdated
from senn_cli.engine.frozen import trained
from senn_cli.engine.objective import Objective
from senn_cli.nets.dropout import dropped
from senn_cli.nets.features import Architecture
from senn_cli.nets.leaves import trained as trained_parameters
from senn_cli.nets.leaves import with_buds, without_buds
from senn_cli.nets.registry import used
from senn_cli.training import region
from senn_cli.training.natural import solved
from senn_cli.training.network import TrainState
from senn_cli.training.optimizer import Optimizer, kl_scale, norm_scale
from senn_cli.training.passes import Batch, Line


def take_one(
    shape: Architecture,
    objective: Objective,
    optimizer: Optimizer,
    state: TrainState,
    widths: jax.Array,
    x: jax.Array,
    y: jax.Array,
    key: jax.Array,
    input_factor: Spectrum | None,
    weights: jax.Array | None = None,
) -> tuple[TrainState, jax.Array, jax.Array, jax.Array]:
    """One step on the batch (x, y); returns the new state, mean loss, g^T d, and |update|^2.

    Buds contribute nothing to the outputs: the network is computed without them. Where units are
    left out, the loss, its gradient and the curvature of the batch are those of what remains.

    Args:
      key: of all that this step draws.
      weights: how much every example counts, `(B,)`; None where all count alike. An example of
        weight 2 is to loss, gradient and curvature what two of weight 1 are.
    """
    bare, params = shape.without_buds(), without_buds(shape, state.params)
    units = used(shape, widths)
    factors = dropped(bare, units, optimizer.dropout, x.shape[0], key)
    batch = Batch(bare, units, objective, optimizer, x, y, weights, factors)
    line = None
    with jax.default_matmul_precision(optimizer.precision):
        if optimizer.in_step:
            line = batch.linearised(params)
            loss, known = line.loss, line.gradient
        else:
            loss, known = jax.value_and_grad(batch.loss)(params)
    everything = with_buds(known, state.params, jnp.zeros_like)

    curvature = state.curvature
    if curvature is not None and optimizer.tracking is not None:
        curvature = observe_step(shape, optimizer.tracking, curvature, everything, state.step)

    def in_use(tree: Any) -> Any:
        # Of units that are empty nothing has a gradient; dormant ones have, for their scores.
        if any(f.spare == "dormant" for f in shape.features):
            mask = trained_parameters(shape, units)
            tree = jax.tree.map(lambda u, a: jnp.where(u, a, 0), mask, tree)
        return tree

    def only_trained(tree: Any) -> Any:
        return trained(in_use(tree), state.optimizer)

    gradient = direction = only_trained(everything)
    trust, before = region.trust_of(state.optimizer), None
    if trust is not None:
        direction, curvature, before = solved(
            shape,
            optimizer,
            batch,
            line,
            state.params,
            curvature,
            gradient,
            key=key,
            in_use=in_use,
            input_factor=input_factor,
            damping=trust.damping if optimizer.adapts else None,
            before=region.velocity_of(state.optimizer),
        )
        direction = only_trained(direction)
    eta = inner(gradient, direction)
    if optimizer.clip is not None:
        scale = norm_scale(inner(gradient, gradient), optimizer.clip)
        direction = jax.tree.map(lambda d: scale * d, direction)
    length = stretch = jnp.zeros(())
    share: Any = 1.0
    if trust is not None:
        if before is not None:  # the region is of what is repeated as well
            direction = jax.tree.map(
                lambda v, d: optimizer.momentum * v + d, only_trained(before), direction
            )
        with jax.default_matmul_precision(optimizer.precision):
            form, stretch = _form(shape, optimizer, batch, line, state, gradient, direction)
        rate = optimizer.rate(state.step, state.optimizer)
        share = region.SHRINK ** trust.row.astype(form.dtype)
        if optimizer.kl_clip is not None:
            share = share * kl_scale(form, rate, optimizer.kl_clip)
        direction = jax.tree.map(lambda d: share * d, direction)
        length = (rate * share) ** 2 * form
    updates, optimized = optimizer.transform.update(
        direction, state.optimizer, state.params, share=share
    )
    updates = only_trained(updates)  # weight decay knows of no masks
    new = TrainState(
        state.step + 1, optax.apply_updates(state.params, updates), optimized, curvature
    )
    if trust is not None:
        with jax.default_matmul_precision(optimizer.precision):
            new = _held(
                shape, optimizer, batch, line, state, new, gradient, updates, loss, length, stretch
            )
    return new, loss, eta, inner(updates, updates)


def _form(
    shape: Architecture,
    optimizer: Optimizer,
    batch: Batch,
    line: Line | None,
    state: TrainState,
    gradient: Any,
    direction: Any,
) -> tuple[jax.Array, jax.Array]:
    """d^T F d of the batch, and its ratio to what stands for it.

    Where steps do not see the curvature of their batch, the exact form would be another pass
    through the network for that alone. It is taken where `region.measures` says so, in steps
    between it is g^T d (with momentum, which is no multiple of F^-1 g, |d|^2) times the ratio that
    was found last.
    """
    bare = without_buds(shape, direction)
    if line is not None:
        return batch.form(line.outputs, line.moved(bare)), jnp.ones(())
    simple = inner(direction, direction) if optimizer.momentum else inner(gradient, direction)
    simple = jnp.maximum(simple, SMALLEST)
    trust = region.trust_of(state.optimizer)
    assert trust is not None
    params = without_buds(shape, state.params)
    stretch = jax.lax.cond(
        region.measures(state.step),
        lambda: (batch.form_of(params, bare) / simple).astype(trust.stretch.dtype),
        lambda: trust.stretch,
    )
    return stretch * simple, stretch


def _held(
    shape: Architecture,
    optimizer: Optimizer,
    batch: Batch,
    line: Line | None,
    state: TrainState,
    new: TrainState,
    gradient: Any,
    updates: Any,
    loss: jax.Array,
    length: jax.Array,
    stretch: jax.Array,
) -> TrainState:
    """`new`, or where the loss of the batch would rise tenfold the state before with less trust.

    Args:
      updates: what the step adds to the parameters; gradient: of the loss.
      length: d^T F d of what it moves along the natural gradient.
    """

    def judge() -> region.Judged:
        after, predicted = batch.loss(without_buds(shape, new.params)), jnp.full_like(loss, jnp.nan)
        if line is not None:
            form = batch.form(line.outputs, line.moved(without_buds(shape, updates)))
            predicted = region.foretold(inner(gradient, updates), form)
        return region.Judged(after, predicted)

    now = region.due(state.step, region.JUDGED) if line is not None else jnp.zeros((), bool)
    seen = region.judged(loss, length, now, judge)
    refused, ratio = region.is_refused(loss, seen.after), region.ratio_of(loss, seen)
    trust = region.trust_of(state.optimizer)
    assert trust is not None
    fields = {
        "kl": length / 2,
        "ratio": jnp.where(jnp.isnan(ratio), trust.ratio, ratio),
        "stretch": stretch,
    }
    if optimizer.adapts:
        fields["damping"] = region.adapted(trust.damping, ratio, refused)
    params = jax.tree.map(lambda a, b: jnp.where(refused, b, a), new.params, state.params)
    curvature = new.curvature
    if line is not None and curvature is not None:
        curvature = outdated(curvature, refused | region.is_far(ratio))
    kept = region.settled(new.optimizer, refused, **fields)
    return TrainState(new.step, params, kept, curvature)
