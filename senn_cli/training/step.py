"""The training step, and many of them in one dispatch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from senn_cli.curvature.kronecker import Spectrum
from senn_cli.engine.arrays import Arrays, batch, examples, weights_of
from senn_cli.engine.objective import Objective
from senn_cli.nets.features import Architecture
from senn_cli.randomness import wrap
from senn_cli.spec.augment import StepSpec
from senn_cli.training.network import TrainState
from senn_cli.training.optimizer import Optimizer
from senn_cli.training.region import MOST_REFUSED, trust_of
from senn_cli.training.update import take_one

FAULTS = ("", "train_loss", "gradient", "update", "the loss that every step would lead to")
"""What `Progress.fault` counts: nothing, or the first quantity that was not finite or exploded."""


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


class Order(NamedTuple):
    """The order `rows` (n,) in which `epoch` goes through n examples."""

    epoch: Any
    rows: Any


def no_order(n: int) -> Order:
    """That of no epoch yet, on the host."""
    return Order(np.int32(-1), np.zeros(n, np.int32))


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
        trust = trust_of(new.optimizer)
        if trust is not None:
            fault = jnp.where((fault == 0) & (trust.row >= MOST_REFUSED), 4, fault)
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
) -> Callable[..., tuple[Any, ...]]:
    """The function that takes many steps at once, to be compiled with its first argument static.

    Its arguments are those of `make_take_step`, but for the order of the examples, in whose place
    it has the step to stop at; and last an `Order` that it may begin with, which is then returned
    as it is at the end. Batch b of epoch e is a slice of a permutation that depends on (seed, e)
    alone, so how steps are grouped into dispatches changes nothing. It stops before the first step
    that yields something not finite and returns the state before it.

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
        known: Order | None = None,
    ) -> tuple[Any, ...]:
        per_epoch = examples(data) // batch_size

        def going(carry: tuple[TrainState, Order, Progress]) -> jax.Array:
            unfinished: jax.Array = (carry[0].step < until) & (carry[2].fault == 0)
            return unfinished

        def body(
            carry: tuple[TrainState, Order, Progress],
        ) -> tuple[TrainState, Order, Progress]:
            state, order, progress = carry
            epoch = state.step // per_epoch
            rows = jax.lax.cond(
                order.epoch == epoch,
                lambda _: order.rows,
                lambda e: order_of(keys, e, data).astype(jnp.int32),
                epoch,
            )
            state, progress = take_step(
                shape, state, progress, widths, data, keys, input_factor, rows, limit
            )
            return state, Order(epoch.astype(jnp.int32), rows), progress

        begun = jax.tree.map(jnp.asarray, no_order(examples(data)) if known is None else known)
        state, order, progress = jax.lax.while_loop(going, body, (state, begun, progress))
        return (state, progress) if known is None else (state, progress, order)

    return run_steps
