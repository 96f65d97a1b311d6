"""A run from its spec to its summary, assembled from the parts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from senn_cli.data.dataset import Dataset
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.data.registry import load_dataset
from senn_cli.engine.arrays import on_device
from senn_cli.engine.device import choose_device
from senn_cli.engine.programs import Ledger
from senn_cli.errors import DivergedError, InterruptedRun, UsageError
from senn_cli.nets.densenet import DenseArchitecture
from senn_cli.nets.features import Architecture
from senn_cli.runs.directory import RunDirectory, how_to_go_on, require_free
from senn_cli.runs.environment import environment
from senn_cli.runs.lock import RunLock
from senn_cli.runs.weights import save_weights
from senn_cli.spec import Duration, Spec, dump_spec
from senn_cli.tracking.tracker import Trackers, check_trackers, open_trackers
from senn_cli.training.assemble import assemble
from senn_cli.training.expected import expected_programs
from senn_cli.training.growing import Event
from senn_cli.training.interruption import Interruption
from senn_cli.training.listener import Listener, Silent, Start
from senn_cli.training.loop import Outputs, Trainer
from senn_cli.training.network import Network
from senn_cli.training.optimizer import Optimizer
from senn_cli.training.recorder import Recorder
from senn_cli.training.result import result_of
from senn_cli.training.saving import Saver, data_digest
from senn_cli.training.snapshot import Moment


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
    architecture: Architecture
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
    with Interruption(listener.close, listener.interrupted) as interruption:
        device, ledger, dataset = begin(spec, listener)
        for note in dataset.notes:
            listener.note(f"note: {note}")
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


def begin(spec: Spec, listener: Listener) -> tuple[str, Ledger, Dataset]:
    """Starts the device and loads the data; the device is in words.

    Raises:
      DeviceError, DataError: as for `train_run`.
    """
    listener.phase("device")
    device = choose_device(spec.device, spec.gpu_memory, spec.deterministic)
    ledger = Ledger(announce=listener.phase)
    listener.phase("data")
    return device, ledger, load_dataset(spec.data, spec.seed)


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
        metrics=_each(directory.append_metrics, trackers.metrics, listener.metrics),
        event=_each(directory.append_history, trackers.event),
        interrupted=lambda: interruption.requested is not None,
        growing=saver.note_history,
        grown=saver.grown,
        improved=saver.improved,
        round=_each(recorder.round if recorder is not None else None, _told(listener)),
        boundary=_each(saver.boundary, lambda trainer: listener.step(trainer.step)),
    )
    listener.start(_start(spec, directory, device, dataset, trainer))
    if recorder is not None:
        recorder.start()
    try:
        trainer.run(outputs)
    except DivergedError:
        saver.close()
        run = _finish(spec, directory, dataset, trainer, "diverged", trainer.network)
        trackers.end(run.summary)
        raise
    if not trainer.finished:
        trainer.ledger.closed = True
        saver.save(trainer.moment, wait=True)
        saver.close()
        if interruption.requested is not None:
            raise InterruptedRun(
                f"stopped at step {trainer.step}; the run so far is in {directory.path}",
                exit_code=interruption.exit_code or 75,
                hint=how_to_go_on(directory.path),
            )
        return _stopped(spec, directory, trainer)
    trainer.close(outputs)
    saver.save(trainer.moment, wait=True)  # the last moment, so that the run can be made longer
    saver.close()
    network = result_of(directory, trainer, saver, listener)
    if recorder is not None:
        recorder.end(network)
    run = _finish(spec, directory, dataset, trainer, "finished", network)
    trackers.end(run.summary)
    listener.end(run.summary)
    return run


def _told(listener: Listener) -> Callable[[Moment, Moment, list[Event]], None]:
    return lambda before, after, events: listener.round(events)


def _each(*outputs: Callable[..., None] | None) -> Callable[..., None]:
    """Calls all that are there with the same arguments."""

    def output(*args: Any) -> None:
        for call in outputs:
            if call is not None:
                call(*args)

    return output


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
        unit="channel" if isinstance(architecture, DenseArchitecture) else "neuron",
        programs=expected_programs(spec, architecture, validated=dataset.validation is not None),
        kept=bool(jax.config.jax_compilation_cache_dir),  # type: ignore[attr-defined]
    )


def _stopped(spec: Spec, directory: RunDirectory, trainer: Trainer) -> Run:
    """A run that was told to stop before its end."""
    architecture = trainer.network.architecture
    params = jax.device_get(trainer.network.state.params)
    summary = {"name": spec.name, "status": "stopped", "steps": trainer.step}
    summary |= {"hidden": list(architecture.widths), "run_directory": str(directory.path)}
    return Run(directory.path, summary, architecture, params)


def _finish(
    spec: Spec,
    directory: RunDirectory,
    dataset: Dataset,
    trainer: Trainer,
    status: str,
    network: Network,
) -> Run:
    """Evaluates `network` on the test part, writes weights and summary."""
    ledger, architecture = trainer.ledger, network.architecture
    with ledger.phase("evaluate"):
        loss, value = trainer.measure(on_device(dataset, dataset.test), network)
    params = jax.device_get(network.state.params)
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
        "cache_hits": ledger.cache_hits,
        "steps": trainer.step,
        "epochs": trainer.step / trainer.timetable.per_epoch,
        "seconds": {k: round(v, 3) for k, v in ledger.seconds.items()}
        | {"total": round(ledger.total(), 3)},
        "run_directory": str(directory.path),
    }
    if trainer.best.step is not None:
        summary |= {
            "best": trainer.best.to_json(),
            "stopped_early": trainer.exhausted,
            "weights_step": int(network.state.step),
        }
    directory.write_summary(summary)
    return Run(directory.path, summary, architecture, params)
