"""A trainer put together from a spec and its data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from senn_cli.curvature.kronecker import Spectrum, spectrum, with_constant
from senn_cli.curvature.tracked import TrackSettings
from senn_cli.curvature.tracking import Tracking
from senn_cli.data.dataset import Dataset
from senn_cli.engine.arrays import Arrays, examples, inputs, weights_of
from senn_cli.engine.effort import efforts_of
from senn_cli.engine.evaluate import make_add, make_evaluate
from senn_cli.engine.feed import Data, Feed, placed
from senn_cli.engine.hosts import here
from senn_cli.engine.mesh import placement
from senn_cli.engine.metric import weighted
from senn_cli.engine.objective import objective_of
from senn_cli.engine.programs import Ledger, Program
from senn_cli.growth.build import make_policy
from senn_cli.growth.optimizer_state import require_known
from senn_cli.growth.settings import Limits, limits_of
from senn_cli.nets.registry import kind_named
from senn_cli.spec import Duration, Spec
from senn_cli.spec.data import augmentation
from senn_cli.spec.expansion import SearchSpec, StandingSpec
from senn_cli.spec.optimizer import NaturalGradientSpec
from senn_cli.training.best import Watch
from senn_cli.training.exact import make_system
from senn_cli.training.footprint import LARGEST_SPECTRUM
from senn_cli.training.looking import make_look
from senn_cli.training.loop import EXPLODED, Trainer
from senn_cli.training.network import Network, new_network
from senn_cli.training.optimizer import Optimizer, make_optimizer
from senn_cli.training.ready import require_ready
from senn_cli.training.room import deepens_by_search, with_room
from senn_cli.training.stepping import make_stepping
from senn_cli.training.timetable import Timetable
from senn_cli.training.vitals import make_vitals

BLOCK = 4096
"""Examples whose second moment is taken at a time."""

TRACKED_DAMPING = 1e-3
"""Damping of tracked curvature where nothing else says it."""


def assemble(
    spec: Spec,
    dataset: Dataset,
    ledger: Ledger,
    until: Duration | None = None,
    network: Callable[[Dataset, Optimizer], Network] | None = None,
    *,
    begin: bool = False,
) -> Trainer:
    """A trainer at step 0.

    Args:
      until: where it shall stop before the end.
      begin: whether its first steps are compiled in a thread from here on.
      network: makes the network to start from; by default it is drawn from the seed.

    Raises:
      SennError: what `ready.require_ready` finds in the way.
      UsageError: an optimizer whose state cannot follow a network that grows.
    """
    require_ready(spec, dataset, jax.default_backend())
    spec = with_room(spec, dataset, jax.default_backend())
    n = len(dataset.train)
    batch = spec.training.batch_of(n)
    timetable = make_timetable(spec, n // batch, until)
    objective = objective_of(spec)
    optimizer = make_optimizer(
        spec.optimizer,
        objective,
        timetable.total,
        n // batch,
        freezing=bool(spec.transfer.freeze),
        until=growth_until(spec, n // batch),
    )
    kind, platform = kind_named(spec.network.kind), jax.default_backend()
    ledger.efforts = efforts_of(n, dataset.inputs, convolves=kind.one_by_one, platform=platform)
    compute = kind.compute(spec)
    optimizer = replace(
        optimizer,
        compute_dtype=jnp.bfloat16 if compute == "bfloat16" else None,
        precision="tensorfloat32" if compute == "tf32" else None,
        clip=spec.training.clip,
        dropout=kind.dropout(spec),
        recompute=kind.recompute(spec),
    )
    if kind.tracked or spec.proposals == "dormant":
        optimizer = with_tracking(spec, optimizer, batch, n // batch)
    if network is None:
        architecture = kind.start(spec, dataset.train.x.shape[1:], dataset.outputs, platform)
        params = kind.initial_parameters(architecture, spec.seed)
        start = new_network(architecture, params, optimizer)
    else:
        start = network(dataset, optimizer)
    if spec.grows:
        require_known(start.state.optimizer)
    place = placement(spec.device)
    train, validation = (
        None if part is None else placed(dataset, part, place)
        for part in (dataset.train, dataset.validation)
    )
    assert train is not None
    evaluate = Program("evaluate", make_evaluate(objective), ledger, static=(0,))
    augmented = augmentation(spec.data)
    if augmented:  # then the inputs' second moment over the data is not that of the batches
        optimizer = replace(optimizer, fixed_input_factor=False)
    run_steps = make_stepping(
        objective, optimizer, batch, augmented, ledger, train, one_by_one=kind.one_by_one
    )
    needs_spectrum = dataset.inputs <= LARGEST_SPECTRUM and (
        optimizer.fixed_input_factor or (spec.proposals == "search" and not kind.tracked)
    )
    # What lies by rows over processes is nowhere whole, as the searches of few data take it.
    small = ledger.efforts.steps == "quick" and here().count == 1 and not isinstance(train, Feed)
    deepens = small and deepens_by_search(spec) and not spec.transfer.freeze
    policy = make_policy(
        spec, objective, optimizer.metric, ledger, optimizer.tracking, deepens=deepens
    )
    known = None
    if needs_spectrum:
        if deepens and not isinstance(train, Feed):
            known = place.replicated(spectrum_of_few(train))
        else:
            known = input_spectrum(train, ledger)
    track = None
    if optimizer.tracking is not None and optimizer.tracking.every is not None:
        track = make_look(objective, optimizer.metric, optimizer.tracking, augmented, ledger, train)
    trainer = Trainer(
        dataset=dataset,
        train=train,
        validation=validation,
        network=start,
        optimizer=optimizer,
        policy=policy,
        limits=limits_of(spec) if spec.grows else Limits(),
        timetable=timetable,
        rule=replace(kind.capacity_rule(spec, platform), together=deepens),
        seed=spec.seed,
        ledger=ledger,
        run_steps=run_steps,
        evaluate=evaluate,
        added=Program("evaluate", make_add(objective), ledger, static=(0, 4)),
        track=track,
        input_spectrum=known,
        watch=Watch.of(spec),
        vitals=Program("vitals", make_vitals(objective), ledger, static=(0,)),
        system=Program("system", make_system(objective, optimizer.metric), ledger, static=(0,)),
        place=place,
        deepens=deepens,
    )
    if begin:
        trainer.begin()
    with ledger.phase("evaluate"):
        # All images of CIFAR-10 would take 25 s on two cores, to tell the order of magnitude.
        first, _ = trainer.measure(trainer.sample if kind.tracked else train, trainer.network)
    trainer.limit = EXPLODED * max(1.0, first)
    return trainer


def looks(spec: Spec) -> bool:
    """Whether a run looks at the curvature beside its steps: where they do not see it themselves.

    Where a kind has looks, everything that needs the curvature takes it from them; elsewhere
    standing proposals do, unless the natural gradient's factors are there already.
    """
    natural = isinstance(spec.optimizer, NaturalGradientSpec)
    if kind_named(spec.network.kind).tracked:
        return natural or spec.proposals is not None
    seen = isinstance(spec.optimizer, NaturalGradientSpec) and spec.optimizer.factored
    return spec.proposals == "dormant" and not seen


def with_tracking(spec: Spec, optimizer: Optimizer, batch: int, per_epoch: int) -> Optimizer:
    """The optimizer where curvature is tracked, if anything needs it."""
    section, natural = spec.curvature, isinstance(spec.optimizer, NaturalGradientSpec)
    slow = spec.expansion.dormant.slow if isinstance(spec.expansion, StandingSpec) else None
    tracked = kind_named(spec.network.kind).tracked
    if not tracked and optimizer.tracking is not None:
        return replace(optimizer, tracking=replace(optimizer.tracking, slow=slow))
    optimizer = replace(optimizer, fixed_input_factor=False)
    if not looks(spec):
        return optimizer
    damping = section.damping
    if damping is None:
        damping = getattr(spec.optimizer, "damping", TRACKED_DAMPING)
    settings = TrackSettings(
        damping=damping,
        moving_average=section.moving_average,
        invert_every=section.invert_every,
        method=section.method,
    )
    tracking = Tracking(
        settings=settings,
        every=section.every.in_steps(per_epoch),
        samples=batch if section.samples is None else section.samples,
        stride=section.stride,
        vectors=section.vectors,
        slow=slow,
    )
    solver = settings if natural and tracked else optimizer.solver
    return replace(optimizer, tracking=tracking, solver=solver)


def make_timetable(spec: Spec, per_epoch: int, stop: Duration | None = None) -> Timetable:
    """The spec's durations in steps; `stop` is where to stop before the end."""
    growth, training, save = spec.growth, spec.training, spec.checkpoints.every
    by_clock = save.minutes is not None or not spec.checkpoints.enabled

    def steps(time: Duration | None) -> int | None:
        return None if time is None else time.in_steps(per_epoch)

    total = training.steps_of(per_epoch)
    until = growth_until(spec, per_epoch)
    schedule = spec.optimizer.schedule
    falls = None if total is None else schedule.falls_from(total, until)
    return Timetable(
        total=total,
        minutes=training.minutes,
        per_epoch=per_epoch,
        evaluate=training.evaluate.in_steps(per_epoch),
        grow=None if growth is None else growth.every.in_steps(per_epoch),
        grow_start=0 if growth is None else steps(growth.start) or 0,
        grow_until=until if falls is None else falls,
        layer_every=0 if growth is None else steps(growth.depth.every) or 0,
        thin_to=steps(growth.thin_to) if isinstance(growth, SearchSpec) else None,
        after_end=growth is not None and growth.prune.enabled and falls is None,
        save=None if by_clock else steps(save),
        until=steps(stop),
        track=spec.curvature.every.in_steps(per_epoch) if looks(spec) else None,
        audit=steps(spec.record.audit),
    )


def growth_until(spec: Spec, per_epoch: int) -> int | None:
    """The last step at which the spec lets the network grow; None where it says none."""
    until = None if spec.growth is None else spec.growth.until
    return None if until is None else until.in_steps(per_epoch)


def spectrum_of_few(train: Arrays) -> Spectrum:
    """As `input_spectrum`, on the host: of data so small that nothing is compiled for it."""
    data = jax.device_get(train)
    x = np.asarray(inputs(data), np.float64)
    a = np.concatenate([np.ones((len(x), 1)), x], axis=1)
    counted = a if data.weights is None else data.weights[:, None] * a
    matrix = a.T @ counted / len(a)
    values, vectors = np.linalg.eigh(matrix)
    found: Any = (matrix, np.maximum(values, 0.0), vectors)
    return Spectrum(*(array.astype(np.float32) for array in found))


def input_spectrum(train: Data, ledger: Ledger) -> Spectrum:
    """The spectrum of the network inputs' second moment over the training part."""
    n = examples(train)
    size = min(n, BLOCK)  # never the whole set in floating point at once

    def block(data: Arrays, rows: jax.Array, there: jax.Array, total: jax.Array) -> jax.Array:
        counted = weighted((rows < n).astype(jnp.float32), weights_of(data, there))
        a = jnp.sqrt(counted)[:, None] * with_constant(inputs(data, there))
        return total + a.T @ a

    def compute(data: Arrays) -> Spectrum:
        def add(index: jax.Array, total: jax.Array) -> jax.Array:
            rows = index * size + jnp.arange(size)
            return block(data, rows, jnp.minimum(rows, n - 1), total)

        width = 1 + inputs(data, jnp.arange(1)).shape[1]
        total = jax.lax.fori_loop(0, -(-n // size), add, jnp.zeros((width, width)))
        return spectrum(total / n)

    def fed(feed: Feed) -> Spectrum:
        more = Program("input_moment", block, ledger, donate=(3,))
        end = Program("input_spectrum", lambda total: spectrum(total / n), ledger)
        width = 1 + prod(feed.part.x.shape[1:])
        total: Any = np.zeros((width, width), np.float32)
        for start in range(0, n, size):
            rows = np.arange(start, start + size, dtype=np.int32)
            piece = feed.take(np.minimum(rows, n - 1))
            total = more(piece, rows, np.arange(size, dtype=np.int32), total)
        found: Spectrum = end(total)
        return found

    with ledger.phase("train"):
        found: Spectrum
        if isinstance(train, Feed):
            found = fed(train)
        else:
            found = Program("input_spectrum", compute, ledger)(train)
        found = jax.block_until_ready(found)
    return found
