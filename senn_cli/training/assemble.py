"""A trainer put together from a spec and its data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp

from senn_cli.curvature.kronecker import Spectrum, spectrum
from senn_cli.data.dataset import Dataset
from senn_cli.growth.build import make_policy
from senn_cli.nets.kinds import initial_parameters
from senn_cli.nets.mlp import with_constant
from senn_cli.spec import Duration, Spec
from senn_cli.spec.data import augmentation
from senn_cli.training.arrays import Arrays, examples, inputs, on_device
from senn_cli.training.evaluate import BLOCK, make_evaluate
from senn_cli.training.footprint import LARGEST_SPECTRUM
from senn_cli.training.loop import Timetable, Trainer
from senn_cli.training.network import Network, new_network
from senn_cli.training.optimizer import Optimizer, make_optimizer
from senn_cli.training.plan import (
    batch_size,
    capacity_rule,
    initial_architecture,
)
from senn_cli.training.programs import Ledger, Program
from senn_cli.training.recorder import require_recordable
from senn_cli.training.step import make_run_steps

EXPLODED = 100.0
"""Training has diverged when a batch's loss exceeds this many times the larger of 1 and the loss
at the start."""


def assemble(
    spec: Spec,
    dataset: Dataset,
    ledger: Ledger,
    until: Duration | None = None,
    network: Callable[[Dataset, Optimizer], Network] | None = None,
) -> Trainer:
    """A trainer at step 0.

    Args:
      until: where it shall stop before the end.
      network: makes the network to start from; by default it is drawn from the seed.

    Raises:
      DataError: a batch larger than the training part.
      SpecError: recordings that these data don't have.
    """
    require_recordable(spec, dataset)
    n = len(dataset.train)
    batch = batch_size(spec, n)
    timetable = make_timetable(spec, n // batch, until)
    optimizer = make_optimizer(
        spec.optimizer,
        dataset.task,
        timetable.total,
        n // batch,
        freezing=bool(spec.transfer.freeze),
    )
    rule = capacity_rule(spec.network, jax.default_backend())
    if network is None:
        example = dataset.train.x.shape[1:]
        architecture = initial_architecture(spec.network, example, dataset.outputs, rule)
        params = initial_parameters(architecture, spec.seed)
        start = new_network(architecture, params, optimizer)
    else:
        start = network(dataset, optimizer)
    train = on_device(dataset, dataset.train)
    validation = None if dataset.validation is None else on_device(dataset, dataset.validation)
    evaluate = Program("evaluate", make_evaluate(dataset.task), ledger, static=(0,))
    augmented = augmentation(spec.data)
    if augmented:  # then the inputs' second moment over the data is not that of the batches
        optimizer = replace(optimizer, fixed_input_factor=False)
    run_steps = make_run_steps(dataset.task, optimizer, batch, augmented)
    needs_spectrum = dataset.inputs <= LARGEST_SPECTRUM and (
        optimizer.fixed_input_factor or spec.expansion.policy != "none"
    )
    trainer = Trainer(
        dataset=dataset,
        train=train,
        validation=validation,
        network=start,
        optimizer=optimizer,
        policy=make_policy(spec.expansion, dataset.task, optimizer.metric, ledger),
        timetable=timetable,
        rule=rule,
        seed=spec.seed,
        ledger=ledger,
        run_steps=Program("train", run_steps, ledger, static=(0,), donate=(1, 2)),
        evaluate=evaluate,
        input_spectrum=input_spectrum(train, ledger) if needs_spectrum else None,
    )
    with ledger.phase("evaluate"):
        first, _ = trainer.measure(train)
    trainer.limit = EXPLODED * max(1.0, first)
    return trainer


def make_timetable(spec: Spec, per_epoch: int, stop: Duration | None = None) -> Timetable:
    """The spec's durations in steps; `stop` is where to stop before the end."""
    expansion, training = spec.expansion, spec.training
    length = training.length()
    until, save = expansion.until, spec.checkpoints.every
    by_clock = save.minutes is not None or not spec.checkpoints.enabled
    cooldown = expansion.depth.every
    return Timetable(
        total=None if length.minutes is not None else length.in_steps(per_epoch),
        minutes=length.minutes,
        per_epoch=per_epoch,
        evaluate=training.evaluate.in_steps(per_epoch),
        grow=expansion.every.in_steps(per_epoch),
        grow_start=0 if expansion.start is None else expansion.start.in_steps(per_epoch),
        grow_until=None if until is None else until.in_steps(per_epoch),
        layer_every=0 if cooldown is None else cooldown.in_steps(per_epoch),
        save=None if by_clock else save.in_steps(per_epoch),
        until=None if stop is None else stop.in_steps(per_epoch),
    )


def input_spectrum(train: Arrays, ledger: Ledger) -> Spectrum:
    """The spectrum of the network inputs' second moment over the training part."""

    def compute(data: Arrays) -> Spectrum:
        n = examples(data)
        size = min(n, BLOCK)  # never the whole set in floating point at once

        def block(index: jax.Array, total: jax.Array) -> jax.Array:
            rows = index * size + jnp.arange(size)
            weight = (rows < n).astype(jnp.float32)[:, None]
            a = weight * with_constant(inputs(data, jnp.minimum(rows, n - 1)))
            return total + a.T @ a

        width = 1 + inputs(data, jnp.arange(1)).shape[1]
        total = jax.lax.fori_loop(0, -(-n // size), block, jnp.zeros((width, width)))
        return spectrum(total / n)

    program = Program("input_spectrum", compute, ledger)
    with ledger.phase("train"):
        found: Spectrum = jax.block_until_ready(program(train))
    return found
