"""The training step, and many of them in one dispatch."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from senn_cli.curvature import fisher
from senn_cli.curvature.kronecker import Spectrum
from senn_cli.curvature.observe import silent
from senn_cli.curvature.tracking import observe_step, preconditioned, stepped
from senn_cli.engine.arrays import Arrays, batch, examples, weights_of
from senn_cli.engine.frozen import trained
from senn_cli.engine.metric import output_form, sample_output_gradient, weighted
from senn_cli.engine.objective import Objective, loss_and_gradient
from senn_cli.nets.dropout import dropped
from senn_cli.nets.features import Architecture
from senn_cli.nets.leaves import trained as trained_parameters
from senn_cli.nets.leaves import with_buds, without_buds
from senn_cli.nets.registry import Parameters, Shifts, Signals, apply, used
from senn_cli.randomness import wrap
from senn_cli.spec.augment import StepSpec
from senn_cli.training.network import TrainState
from senn_cli.training.optimizer import CgSettings, Optimizer, kl_scale, norm_scale

FAULTS = ("", "train_loss", "gradient", "update")
"""What `Progress.fault` counts: nothing, or the first quantity that was not finite."""


class Progress(NamedTuple):
    """Sums over the steps since the last row of metrics, whatever dispatches they came in.

    Attributes:
      steps: how many.
      loss: of their mean losses; eta: of g^T F^-1 g.
      fault: what was not finite, an index into `FAULTS`.
    """

    steps: Any
    loss: Any
    eta: Any
    fault: Any


class Keys(NamedTuple):
    """Key data of a run's random streams; a step folds its number in."""

    batches: Any
    fisher: Any
    augment: Any


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
    push: Any = None
    factors = dropped(bare, units, optimizer.dropout, x.shape[0], key)

    def run(params: Parameters, shifts: Shifts) -> tuple[jax.Array, Signals]:
        dtype, again = optimizer.compute_dtype, optimizer.recompute
        shifts = shifts._replace(factors=factors)
        signals = apply(bare, params, x, units, shifts, compute_dtype=dtype, recompute=again)
        return signals.outputs, signals

    def mean_loss(params: Parameters) -> jax.Array:
        losses, _ = loss_and_gradient(objective, run(params, Shifts({}))[0], y)
        return jnp.mean(weighted(losses, weights))

    with jax.default_matmul_precision(optimizer.precision):
        if optimizer.in_step:
            zeros = silent(bare, params, units, x)
            outputs, push, signals = jax.linearize(run, params, zeros, has_aux=True)
            pull = jax.linear_transpose(push, params, zeros)
            losses, output_gradient = loss_and_gradient(objective, outputs, y)
            loss = jnp.mean(weighted(losses, weights))
            found, _ = pull(weighted(output_gradient, weights) / x.shape[0])
        else:
            loss, found = jax.value_and_grad(mean_loss)(params)
    everything = with_buds(found, state.params, jnp.zeros_like)

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
    if isinstance(optimizer.solver, CgSettings):
        product = fisher.fisher_product(
            lambda p: apply(shape, p, x, used(shape, widths), Shifts({}, {}, factors)).outputs,
            state.params,
            optimizer.metric,
            weights,
        )
        direction = fisher.natural_gradient(
            lambda v: in_use(product(v)),
            gradient,
            damping=optimizer.solver.damping,
            iterations=optimizer.solver.iterations,
            tolerance=optimizer.solver.tolerance,
        )
    elif optimizer.solver is not None:
        assert curvature is not None and optimizer.tracking is not None
        if optimizer.in_step:
            # Only what reaches the signals is used of this pull-back: no per-example gradients of
            # weights ever exist.
            roots = None if weights is None else jnp.sqrt(weights)
            covectors = sample_output_gradient(optimizer.metric, outputs, key)
            _, sampled = pull(weighted(covectors, roots))
            curvature = stepped(
                bare, optimizer.tracking, curvature, signals, sampled, units, input_factor, weights
            )
        direction = preconditioned(shape, optimizer.tracking, curvature, gradient)
    if direction is not gradient:
        direction = only_trained(direction)
    eta = fisher.inner(gradient, direction)
    bounds = []  # of the direction; the shortest step obeys all of them
    if optimizer.clip is not None:
        bounds.append(norm_scale(fisher.inner(gradient, gradient), optimizer.clip))
    if optimizer.kl_clip is not None:
        form = eta
        if optimizer.in_step:
            moved = push(without_buds(shape, direction), zeros)
            form = output_form(optimizer.metric, outputs, moved, weights)
        rate = jnp.asarray(optimizer.schedule(state.step))
        bounds.append(kl_scale(form, rate, optimizer.kl_clip))
    if bounds:
        scale = reduce(jnp.minimum, bounds)
        direction = jax.tree.map(lambda d: scale * d, direction)
    updates, inner = optimizer.transform.update(direction, state.optimizer, state.params)
    updates = only_trained(updates)  # weight decay knows of no masks
    new = optax.apply_updates(state.params, updates)
    size = fisher.inner(updates, updates)
    return TrainState(state.step + 1, new, inner, curvature), loss, eta, size


def epoch_order(key: jax.Array, epoch: jax.Array, n: int) -> jax.Array:
    """The order `(n,)` in which an epoch goes through the examples."""
    return jax.random.permutation(jax.random.fold_in(key, epoch), n)


def no_progress() -> Progress:
    """The sums before the first step, on the host."""
    return Progress(np.int32(0), np.float32(0), np.float32(0), np.int32(0))


def make_take_step(
    objective: Objective,
    optimizer: Optimizer,
    batch_size: int,
    augmentation: tuple[StepSpec, ...] = (),
) -> Callable[..., tuple[TrainState, Progress]]:
    """The function that takes one step, to be compiled with its first argument static.

    Its arguments: `shape`; the state; the sums so far; `widths`; the training data; keys; the
    fixed input factor or None; the order of this epoch's examples; the loss above which training
    has diverged. `augmentation` are the steps that change a batch's images first, as (seed, step)
    says. A step that yields something not finite leaves the state as it was.
    """

    def take_step(
        shape: Architecture,
        state: TrainState,
        progress: Progress,
        widths: jax.Array,
        data: Arrays,
        keys: Keys,
        input_factor: Spectrum | None,
        permutation: jax.Array,
        limit: jax.Array,
    ) -> tuple[TrainState, Progress]:
        number = state.step % (examples(data) // batch_size)
        rows = jax.lax.dynamic_slice(permutation, (number * batch_size,), (batch_size,))
        drawn = jax.random.fold_in(wrap(keys.augment), state.step)
        x, y = batch(data, rows, augmentation, drawn)
        key = jax.random.fold_in(wrap(keys.fisher), state.step)
        new, loss, eta, size = take_one(
            shape,
            objective,
            optimizer,
            state,
            widths,
            x,
            y,
            key,
            input_factor,
            weights_of(data, rows),
        )
        bad_loss = ~(loss < limit)  # also true for NaN
        fault = jnp.where(
            bad_loss, 1, jnp.where(~jnp.isfinite(eta), 2, jnp.where(~jnp.isfinite(size), 3, 0))
        )
        # The run ends at a fault, with these two as they were; a copy of the factors, which are
        # far larger, is not worth its time at every step.
        step, params, inner = jax.tree.map(
            lambda a, b: jnp.where(fault == 0, a, b),
            (new.step, new.params, new.optimizer),
            (state.step, state.params, state.optimizer),
        )
        kept = TrainState(step, params, inner, new.curvature)
        progress = Progress(
            progress.steps + (fault == 0),
            progress.loss + jnp.where(fault == 0, loss, 0.0),
            progress.eta + jnp.where(fault == 0, eta, 0.0),
            fault.astype(jnp.int32),
        )
        return kept, progress

    return take_step


def make_order(batch_size: int) -> Callable[..., jax.Array]:
    """The function from keys, epoch and data to the order of that epoch's examples."""

    def order(keys: Keys, epoch: jax.Array, data: Arrays) -> jax.Array:
        return order_of_rows(keys, epoch, examples(data), batch_size)

    return order


def order_of_rows(keys: Keys, epoch: jax.Array, n: int, batch_size: int) -> jax.Array:
    """The order `(n,)` in which an epoch goes through n examples."""
    if batch_size == n:
        return jnp.arange(n)  # the whole set at once: its order does not matter
    return epoch_order(wrap(keys.batches), epoch, n)


def make_run_steps(
    objective: Objective,
    optimizer: Optimizer,
    batch_size: int,
    augmentation: tuple[StepSpec, ...] = (),
    *,
    in_order: bool = False,
) -> Callable[..., tuple[TrainState, Progress]]:
    """The function that takes many steps at once, to be compiled with its first argument static.

    Its arguments are those of `make_take_step`, but for the order of the examples, in whose place
    it has the step to stop at. Batch b of epoch e is a slice of a permutation that depends on
    (seed, e) alone, so how steps are grouped into dispatches changes nothing. It stops before the
    first step that yields something not finite and returns the state before it.

    Args:
      in_order: whether batches follow each other in the data as they are.
    """
    take_step = make_take_step(objective, optimizer, batch_size, augmentation)
    shuffled = make_order(batch_size)

    def order_of(keys: Keys, epoch: jax.Array, data: Arrays) -> jax.Array:
        return jnp.arange(examples(data)) if in_order else shuffled(keys, epoch, data)

    def run_steps(
        shape: Architecture,
        state: TrainState,
        progress: Progress,
        widths: jax.Array,
        data: Arrays,
        keys: Keys,
        input_factor: Spectrum | None,
        until: jax.Array,
        limit: jax.Array,
    ) -> tuple[TrainState, Progress]:
        per_epoch = examples(data) // batch_size

        def order(epoch: jax.Array) -> jax.Array:
            return order_of(keys, epoch, data)

        def going(carry: tuple[TrainState, jax.Array, Progress]) -> jax.Array:
            unfinished: jax.Array = (carry[0].step < until) & (carry[2].fault == 0)
            return unfinished

        def body(
            carry: tuple[TrainState, jax.Array, Progress],
        ) -> tuple[TrainState, jax.Array, Progress]:
            state, permutation, progress = carry
            epoch, number = state.step // per_epoch, state.step % per_epoch
            permutation = jax.lax.cond(number == 0, order, lambda _: permutation, epoch)
            state, progress = take_step(
                shape, state, progress, widths, data, keys, input_factor, permutation, limit
            )
            return state, permutation, progress

        permutation = order(state.step // per_epoch)
        state, _, progress = jax.lax.while_loop(going, body, (state, permutation, progress))
        return state, progress

    return run_steps
