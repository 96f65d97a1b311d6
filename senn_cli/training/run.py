"""A run from its spec to its summary, assembled from the parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from senn_cli.data.dataset import Dataset
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.data.registry import load
from senn_cli.engine.device import choose_device
from senn_cli.engine.feed import placed
from senn_cli.engine.hosts import here
from senn_cli.engine.mesh import placement
from senn_cli.engine.programs import Ledger
from senn_cli.errors import DivergedError, InterruptedRun, UsageError
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import kind_of
from senn_cli.runs.directory import RunDirectory, how_to_go_on
from senn_cli.runs.environment import environment
from senn_cli.runs.free import require_free
from senn_cli.runs.lock import RunLock
from senn_cli.runs.weights import save_weights
from senn_cli.spec import Duration, Spec, dump_spec
from senn_cli.tracking.tracker import check_trackers
from senn_cli.training.alike import require_alike
from senn_cli.training.assemble import assemble
from senn_cli.training.expected import expected_programs
from senn_cli.training.interruption import Interruption, exit_code
from senn_cli.training.loop import Trainer
from senn_cli.training.network import Network
from senn_cli.training.observer import Observer, Observers, Start
from senn_cli.training.optimizer import Optimizer
from senn_cli.training.recorder import Recorder
from senn_cli.training.result import result_of
from senn_cli.training.saving import Saver, data_digest
from senn_cli.training.snapshot import Moment
from senn_cli.training.trackers import Trackers, open_trackers


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
    run_directory: Path | RunDirectory | None = None,
    until: Duration | None = None,
    observers: Sequence[Observer] = (),
) -> Run:
    """Trains what `spec` describes and leaves a run directory.

    Args:
      spec: the resolved spec.
      root: where a new run directory is made, unless `run_directory` names one.
      run_directory: a new or empty directory, or one that was made for the run, with its data.
      until: where to stop before the end, with a checkpoint to resume from.
      observers: told of every moment, in this order, after it has been written.

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
    return new_run(spec, root=root, run_directory=run_directory, until=until, observers=observers)


def new_run(
    spec: Spec,
    *,
    root: Path,
    run_directory: Path | RunDirectory | None,
    until: Duration | None,
    observers: Sequence[Observer],
    network: Callable[[Dataset, Optimizer], Network] | None = None,
    prepare: Callable[[RunDirectory, Dataset, Trainer], None] = lambda *started: None,
) -> Run:
    """Trains in a new directory; `train_run` says what its arguments are and what it raises.

    Args:
      network: makes the network to start from; by default it is drawn from the seed.
      prepare: writes into the directory what comes before the first step. The spec is written after
        it, so that a directory which was not prepared to the end is no run.
    """
    heard = Observers(observers)
    if isinstance(run_directory, Path):
        require_free(run_directory)
    check_trackers(spec)
    with Interruption(heard.close, heard.interrupted) as interruption:
        device, ledger, dataset = begin(spec, heard)
        for note in dataset.notes:
            heard.note(f"note: {note}")
        trainer = assemble(spec, dataset, ledger, until, network, begin=True)
        match run_directory:
            case RunDirectory():
                directory = run_directory
            case None:
                directory = RunDirectory.create(root, spec.name)
            case _:
                directory = RunDirectory.at(run_directory)
        with RunLock(directory.path):
            prepare(directory, dataset, trainer)
            directory.write_spec(dump_spec(spec, directory.path))
            directory.write_environment(environment() | {"device": device, "devices": _devices()})
            return carry_on(spec, directory, device, dataset, trainer, heard, interruption)


def begin(spec: Spec, heard: Observer) -> tuple[str, Ledger, Dataset]:
    """Starts the device and loads the data; the device is in words.

    Raises:
      DeviceError, DataError: as for `train_run`.
    """
    heard.phase("device")
    device = choose_device(spec.device.kind, spec.gpu_memory, spec.deterministic)
    if (count := placement(spec.device).count) > 1:
        device = f"{count} devices, {device}"
    ledger = Ledger(announce=heard.phase)
    heard.phase("data")
    dataset = load(spec)
    require_alike(spec, data_digest(dataset) if here().count > 1 else "")
    return device, ledger, dataset


def carry_on(
    spec: Spec,
    directory: RunDirectory,
    device: str,
    dataset: Dataset,
    trainer: Trainer,
    heard: Observer,
    interruption: Interruption,
) -> Run:
    """Trains from where `trainer` is to the end, a signal, or the step to stop at.

    Args:
      heard: those who were passed in; told after everybody of the run's own, see `observer`.
    """
    told = here().index == 0  # the others' rows are the same
    trackers = (
        open_trackers(spec, directory.path, trainer.step, heard.note)
        if told
        else Trackers((), heard.note)
    )
    with closing(Observers([trackers, heard])):
        directory.write_preprocessing(Preprocessing.of(dataset).to_json())
        saver = Saver(directory, spec.checkpoints, trainer, data_digest(dataset))
        own = [_Rows(directory), trackers, *_recorder(spec, directory, trainer), saver]
        observer = Observers([*own, interruption, heard])
        observer.start(_start(spec, directory, device, dataset, trainer))
        try:
            trainer.run(observer)
        except DivergedError:
            observer.halted(trainer.moment, "diverged")
            observer.end(_finish(spec, directory, dataset, trainer, "diverged").summary)
            raise
        finally:
            trainer.ledger.closed = True
        if not trainer.finished:
            observer.halted(trainer.moment, "stopped")
            signals = here().gathered("a signal", interruption.requested)
            if number := next((n for n in signals if n is not None), None):
                raise InterruptedRun(
                    f"stopped at step {trainer.step}; the run so far is in {directory.path}",
                    exit_code=exit_code(number),
                    hint=how_to_go_on(directory.path),
                )
            return _stopped(spec, directory, trainer)
        trainer.close(observer)
        observer.halted(trainer.moment, "finished")
        network = result_of(directory, trainer, saver, heard)
        observer.result(network)
        run = _finish(spec, directory, dataset, trainer, "finished", network)
        observer.end(run.summary)
        return run


class _Rows(Observer):
    """Writes rows of metrics and events into the run directory."""

    def __init__(self, directory: RunDirectory) -> None:
        self.directory = directory

    def metrics(self, row: Mapping[str, Any]) -> None:
        """Writes a row."""
        self.directory.append_metrics(row)

    def round(self, events: Sequence[Mapping[str, Any]], before: Moment, after: Moment) -> None:
        """Writes the events."""
        for event in events:
            self.directory.append_history(event)


def _recorder(spec: Spec, directory: RunDirectory, trainer: Trainer) -> list[Observer]:
    return [Recorder(spec, directory.path, trainer)] if spec.record.anything else []


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
        unit=kind_of(architecture).unit,
        programs=expected_programs(
            spec,
            architecture,
            validated=dataset.validation is not None,
            few=trainer.ledger.efforts.steps == "quick",
        ),
        kept=bool(jax.config.jax_compilation_cache_dir),  # type: ignore[attr-defined]
    )


def _stopped(spec: Spec, directory: RunDirectory, trainer: Trainer) -> Run:
    """A run that was told to stop before its end."""
    architecture = trainer.network.architecture
    params = jax.device_get(trainer.network.state.params)
    summary = {"name": spec.name, "status": "stopped", "steps": trainer.step}
    summary |= {"hidden": list(architecture.widths), "run_directory": str(directory.path)}
    summary |= trainer.ledger.told()
    return Run(directory.path, summary, architecture, params)


def _finish(
    spec: Spec,
    directory: RunDirectory,
    dataset: Dataset,
    trainer: Trainer,
    status: str,
    network: Network | None = None,
) -> Run:
    """Evaluates `network`, by default the last, on the test part if there is one; writes weights
    and summary."""
    network = trainer.network if network is None else network
    ledger, architecture = trainer.ledger, network.architecture
    tested: dict[str, Any] = {}
    if len(dataset.test):
        with ledger.phase("evaluate"):
            loss, value = trainer.measure(placed(dataset, dataset.test, trainer.place), network)
        tested = {f"test_{trainer.measure.figure}": value, "test_loss": loss}
    params = jax.device_get(network.state.params)
    with ledger.phase("save"):
        save_weights(directory.path / "weights", architecture, params)
    summary = {
        "name": spec.name,
        "status": status,
        "policy": spec.expansion.policy,
        "seed": spec.seed,
        **tested,
        "hidden": list(architecture.widths),
        "parameters": architecture.parameters,
        "events": trainer.memory.accepted,
        "growth_ended": trainer.memory.ended,
        "steps": trainer.step,
        "epochs": trainer.step / trainer.timetable.per_epoch,
        **ledger.told(),
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
