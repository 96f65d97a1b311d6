"""A run from its spec to its summary, assembled from the parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from senn_cli.curvature.kronecker import Spectrum, spectrum
from senn_cli.data.dataset import Dataset
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.data.registry import load_dataset
from senn_cli.errors import DivergedError, InterruptedRun, UsageError
from senn_cli.growth.build import make_policy
from senn_cli.nets.kinds import AnyArchitecture, initial_parameters
from senn_cli.nets.mlp import with_constant
from senn_cli.runs.directory import RunDirectory, require_free
from senn_cli.runs.environment import environment
from senn_cli.runs.lock import RunLock
from senn_cli.runs.weights import save_weights
from senn_cli.spec import Duration, Spec, dump_spec
from senn_cli.spec.data import augmentation
from senn_cli.tracking.tracker import Trackers, check_trackers, open_trackers
from senn_cli.training.arrays import Arrays, examples, inputs, on_device
from senn_cli.training.device import choose_device
from senn_cli.training.evaluate import BLOCK, make_evaluate
from senn_cli.training.growing import Event
from senn_cli.training.interruption import Interruption
from senn_cli.training.listener import Listener, Silent, Start
from senn_cli.training.loop import Outputs, Timetable, Trainer
from senn_cli.training.network import Network, new_network
from senn_cli.training.optimizer import Optimizer, make_optimizer
from senn_cli.training.plan import (
    LARGEST_SPECTRUM,
    batch_size,
    capacity_rule,
    initial_architecture,
)
from senn_cli.training.programs import Ledger, Program
from senn_cli.training.recorder import Recorder, require_recordable
from senn_cli.training.saving import Saver, data_digest
from senn_cli.training.snapshot import Moment
from senn_cli.training.step import make_run_steps

EXPLODED = 100.0
"""Training has diverged when a batch's loss exceeds this many times the larger of 1 and the loss
at the start."""


@dataclass(frozen=True)
class Run:
    """A run that has ended, or that was told to stop at a step.

    Attributes:
      path: its directory.
      summary: the content of `summary.json`; for one that stopped, what is known so far.
      architecture: what it grew to.
      params: the parameters, NumPy arrays at the architecture's capacity.
    """

    path: Path
    summary: dict[str, Any]
    architecture: AnyArchitecture
    params: dict[str, dict[str, np.ndarray]]


def train_run(
    spec: Spec,
    *,
    root: Path = Path("runs"),
    run_directory: Path | None = None,
    until: Duration | None = None,
    listener: Listener | None = None,
) -> Run:
    """Trains what `spec` describes and leaves a run directory.

    Args:
      spec: the resolved spec.
      root: where a new run directory is made, unless `run_directory` names one.
      run_directory: a new or empty directory.
      until: where to stop before the end, with a checkpoint to resume from.
      listener: told of the progress; nobody by default.

    Raises:
      DataError, DeviceError: before anything is written.
      UsageError, RunError: the run directory cannot be used or written, or the spec freezes
        parts of a network that is not there yet.
      DivergedError: the run ended early; its directory keeps the last finite weights.
      InterruptedRun: a signal ended it; it can be resumed.
    """
    if spec.transfer.freeze:
        raise UsageError(
            f"transfer.freeze names {', '.join(spec.transfer.freeze)}, but a run of its own starts "
            "from random weights, which should be trained",
            hint="Start from another run with `senn transfer --from RUN SPEC`, or leave it out "
            "with --set transfer.freeze=[].",
        )
    return new_run(spec, root=root, run_directory=run_directory, until=until, listener=listener)


def new_run(
    spec: Spec,
    *,
    root: Path,
    run_directory: Path | None,
    until: Duration | None,
    listener: Listener | None,
    network: Callable[[Dataset, Optimizer], Network] | None = None,
    prepare: Callable[[RunDirectory, Dataset, Trainer], None] = lambda *started: None,
) -> Run:
    """Trains in a new directory; `train_run` says what its arguments are and what it raises.

    Args:
      network: makes the network to start from; by default it is drawn from the seed.
      prepare: writes into the directory what comes before the first step. The spec is written after
        it, so that a directory which was not prepared to the end is no run.
    """
    listener = listener if listener is not None else Silent()
    if run_directory is not None:
        require_free(run_directory)
    check_trackers(spec)
    with Interruption(listener.close) as interruption:
        device = choose_device(spec.device, spec.gpu_memory, spec.deterministic)
        ledger = Ledger(announce=listener.phase)
        dataset = load_dataset(spec.data, spec.seed)
        trainer = assemble(spec, dataset, ledger, until, network)
        directory = (
            RunDirectory.at(run_directory)
            if run_directory is not None
            else RunDirectory.create(root, spec.name)
        )
        with RunLock(directory.path):
            prepare(directory, dataset, trainer)
            directory.write_spec(dump_spec(spec))
            directory.write_environment(environment() | {"device": device, "devices": _devices()})
            return carry_on(spec, directory, device, dataset, trainer, listener, interruption)


def carry_on(
    spec: Spec,
    directory: RunDirectory,
    device: str,
    dataset: Dataset,
    trainer: Trainer,
    listener: Listener,
    interruption: Interruption,
) -> Run:
    """Trains from where `trainer` is to the end, a signal, or the step to stop at."""
    with closing(open_trackers(spec, directory.path, trainer.step, listener.note)) as trackers:
        return _train(spec, directory, device, dataset, trainer, listener, interruption, trackers)


def _train(
    spec: Spec,
    directory: RunDirectory,
    device: str,
    dataset: Dataset,
    trainer: Trainer,
    listener: Listener,
    interruption: Interruption,
    trackers: Trackers,
) -> Run:
    directory.write_preprocessing(Preprocessing.of(dataset).to_json())
    saver = Saver(directory, spec.checkpoints, trainer, data_digest(dataset))
    recorder = Recorder(spec, directory.path, trainer) if spec.record.anything else None
    outputs = Outputs(
        metrics=_all(directory.append_metrics, trackers.metrics, listener.metrics),
        event=_all(directory.append_history, trackers.event, listener.event),
        interrupted=lambda: interruption.requested is not None,
        growing=saver.note_history,
        grown=saver.grown,
        round=recorder.round if recorder is not None else _no_recording,
        boundary=saver.boundary,
    )
    listener.start(_start(spec, directory, device, dataset, trainer))
    if recorder is not None:
        recorder.start()
    try:
        trainer.run(outputs)
    except DivergedError:
        saver.close()
        trackers.end(_finish(spec, directory, dataset, trainer, "diverged").summary)
        raise
    if not trainer.finished:
        saver.save(trainer.moment, wait=True)
        saver.close()
        if interruption.requested is not None:
            raise InterruptedRun(
                f"stopped at step {trainer.step}; the run so far is in {directory.path}",
                exit_code=interruption.exit_code or 75,
                hint=f"Go on with: senn resume {directory.path}",
            )
        return _stopped(spec, directory, trainer)
    trainer.close(outputs)
    if recorder is not None:
        recorder.end()
    saver.save(trainer.moment, wait=True)
    saver.close()
    run = _finish(spec, directory, dataset, trainer, "finished")
    trackers.end(run.summary)
    listener.end(run.summary)
    return run


def _no_recording(before: Moment, after: Moment, events: list[Event]) -> None:
    """What happens where the spec wants no recordings."""


def _all(*outputs: Callable[[Mapping[str, Any]], None]) -> Callable[[Mapping[str, Any]], None]:
    def output(row: Mapping[str, Any]) -> None:
        for write in outputs:
            write(row)

    return output


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


def _devices() -> list[str]:
    return [str(device) for device in jax.devices()]


def _start(
    spec: Spec, directory: RunDirectory, device: str, dataset: Dataset, trainer: Trainer
) -> Start:
    architecture = trainer.network.architecture
    return Start(
        name=spec.name,
        run_directory=str(directory.path),
        device=device,
        task=dataset.task,
        train=len(dataset.train),
        validation=0 if dataset.validation is None else len(dataset.validation),
        test=len(dataset.test),
        steps_per_epoch=trainer.timetable.per_epoch,
        total_steps=trainer.timetable.total,
        step=trainer.step,
        hidden=architecture.widths,
        parameters=architecture.parameters,
    )


def _stopped(spec: Spec, directory: RunDirectory, trainer: Trainer) -> Run:
    """A run that was told to stop before its end."""
    architecture = trainer.network.architecture
    params = jax.device_get(trainer.network.state.params)
    summary = {"name": spec.name, "status": "stopped", "steps": trainer.step}
    summary |= {"hidden": list(architecture.widths), "run_directory": str(directory.path)}
    return Run(directory.path, summary, architecture, params)


def _finish(
    spec: Spec, directory: RunDirectory, dataset: Dataset, trainer: Trainer, status: str
) -> Run:
    """Evaluates on the test part, writes weights and summary."""
    ledger, architecture = trainer.ledger, trainer.network.architecture
    with ledger.phase("evaluate"):
        loss, value = trainer.measure(on_device(dataset, dataset.test))
    params = jax.device_get(trainer.network.state.params)
    with ledger.phase("save"):
        save_weights(directory.path / "weights", architecture, params)
    summary = {
        "name": spec.name,
        "status": status,
        "policy": spec.expansion.policy,
        "seed": spec.seed,
        f"test_{trainer.figure_name}": value,
        "test_loss": loss,
        "hidden": list(architecture.widths),
        "parameters": architecture.parameters,
        "events": trainer.memory.accepted,
        "compilations": ledger.compilations,
        "compiled": dict(ledger.compiled),
        "steps": trainer.step,
        "epochs": trainer.step / trainer.timetable.per_epoch,
        "seconds": {k: round(v, 3) for k, v in ledger.seconds.items()}
        | {"total": round(ledger.total(), 3)},
        "run_directory": str(directory.path),
    }
    directory.write_summary(summary)
    return Run(directory.path, summary, architecture, params)
