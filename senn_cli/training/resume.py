"""Going on with a run as if nothing had happened."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from senn_cli.data.registry import load_dataset
from senn_cli.errors import RunError, UsageError
from senn_cli.runs.checkpoints import CheckpointStore, newest_good
from senn_cli.runs.directory import RunDirectory, require_free
from senn_cli.runs.environment import environment
from senn_cli.runs.jsonl import append_row
from senn_cli.runs.keep import KeepRules
from senn_cli.runs.lock import RunLock
from senn_cli.spec import Duration, Spec, dump_spec, load_spec
from senn_cli.training.device import choose_device
from senn_cli.training.interruption import Interruption
from senn_cli.training.listener import Listener, Silent
from senn_cli.training.loop import Trainer
from senn_cli.training.programs import Ledger
from senn_cli.training.run import Run, assemble, carry_on
from senn_cli.training.saving import CHECKPOINTS, data_digest, store_in
from senn_cli.training.snapshot import architecture_in, expected_arrays, moment_from

FIXED = ("name", "seed", "data", "network")
"""Sections that a run cannot change on the way: its other parts were computed from them."""

FIXED_OPTIMIZER = ("kind", "solver", "momentum", "nesterov", "fixed_input_factor")
"""Options that decide what state an optimizer has."""


def resume_run(
    path: Path,
    *,
    step: int | None = None,
    overrides: Sequence[str] = (),
    until: Duration | None = None,
    branch: Path | None = None,
    listener: Listener | None = None,
) -> Run:
    """Goes on with the run in `path` from its newest checkpoint that can be restored.

    On the CPU the result is bit for bit that of an uninterrupted run.

    Args:
      step: another checkpoint than the newest; only with `branch`, or where it is the newest.
      overrides: changes of the spec, such as `training.epochs=400`.
      until: where to stop before the end.
      branch: a new directory to go on in; the run in `path` stays as it is.

    Raises:
      RunError: there is no run or no checkpoint that can be restored.
      SpecError, UsageError: an override does not fit, the run is in use, or going on from `step`
        would throw later steps away.
      DataError, DeviceError, DivergedError, InterruptedRun: as for `train_run`.
    """
    listener = listener if listener is not None else Silent()
    directory = RunDirectory.open(path)
    before = load_spec(directory.spec_path)
    spec = load_spec(directory.spec_path, overrides)
    _require_compatible(before, spec)
    if branch is not None:
        directory = _branch(directory, branch, step)
    with RunLock(directory.path), Interruption(listener.close) as interruption:
        device = choose_device(spec.device, spec.gpu_memory, spec.deterministic)
        ledger = Ledger(announce=listener.phase)
        dataset = load_dataset(spec.data, spec.seed)
        trainer = assemble(spec, dataset, ledger, until)
        store = store_in(directory.path, spec.checkpoints, trainer.timetable.per_epoch)
        store.clean()
        document = _restore(store, trainer, step, data_digest(dataset), listener)
        directory.cut(document["metrics_bytes"], document["history_bytes"])
        if spec != before:
            _keep_old_spec(directory)
            directory.write_spec(dump_spec(spec))
        directory.write_environment(environment() | {"device": device})
        _record(directory, trainer.step, overrides, path if branch is not None else None)
        directory.summary_path.unlink(missing_ok=True)
        return carry_on(spec, directory, device, dataset, trainer, listener, interruption)


def _require_compatible(before: Spec, after: Spec) -> None:
    """UsageError naming the first key that was changed and cannot be."""
    changed = [name for name in FIXED if getattr(before, name) != getattr(after, name)]
    old, new = before.optimizer.model_dump(), after.optimizer.model_dump()
    changed += [f"optimizer.{k}" for k in FIXED_OPTIMIZER if old.get(k) != new.get(k)]
    if before.training.batch_size != after.training.batch_size:
        changed.append("training.batch_size")
    if changed:
        raise UsageError(
            f"{changed[0]} cannot be changed when a run is resumed",
            hint="Start a new run with: senn train SPEC",
        )


def _restore(
    store: CheckpointStore, trainer: Trainer, step: int | None, digest: str, listener: Listener
) -> dict[str, Any]:
    """Puts `trainer` where a checkpoint was and returns the checkpoint's document."""
    steps = store.steps()
    if step is not None and step not in steps:
        there = ", ".join(map(str, steps)) or "none"
        raise UsageError(f"there is no checkpoint of step {step}; there are: {there}")
    if step is not None and step != steps[-1]:
        raise UsageError(
            f"step {step} is not the newest checkpoint, which is {steps[-1]}: going on from it "
            "would throw later steps away",
            hint="Go on in a new directory with --branch DIR.",
        )

    def attempt(number: int) -> dict[str, Any]:
        document = store.meta(number)
        if document.get("data") != digest:
            raise RunError("the training data are not those that the run was trained on")
        expected = expected_arrays(architecture_in(document), trainer.optimizer)
        arrays = store.restore(number, expected)
        trainer.go_to(moment_from(arrays, document, trainer.optimizer))
        return document

    newest = newest_good(store, attempt)
    if newest.value is None:
        reasons = "; ".join(f"step {number}: {why}" for number, why in newest.failed)
        raise RunError(f"no checkpoint in {store.directory} can be restored. {reasons}".rstrip())
    for number, why in newest.failed:
        store.set_aside(number)
        listener.note(f"The checkpoint of step {number} is left out: {why}")
    if newest.failed:
        listener.note(f"Going on from step {newest.step}.")
    document = newest.value
    trainer.limit = float(document["limit"])
    for phase, seconds in document["seconds"].items():
        if phase == "total":
            trainer.ledger.earlier = float(seconds)
        else:
            trainer.ledger.seconds[phase] += float(seconds)
    for program, count in document["compiled"].items():
        trainer.ledger.compiled[program] = trainer.ledger.compiled.get(program, 0) + int(count)
    return document


def _branch(directory: RunDirectory, target: Path, step: int | None) -> RunDirectory:
    """A new run directory with what the run had up to a checkpoint."""
    require_free(target)
    steps = CheckpointStore(directory.path / CHECKPOINTS, KeepRules()).steps()
    if not steps or (step is not None and step not in steps):
        there = ", ".join(map(str, steps)) or "none"
        raise UsageError(f"there is no checkpoint of step {step}; there are: {there}")
    chosen = steps[-1] if step is None else step
    target = target.absolute()
    target.mkdir(parents=True, exist_ok=True)
    for path in (directory.spec_path, directory.metrics_path, directory.history_path):
        if path.exists():
            shutil.copy2(path, target / path.name)
    shutil.copytree(directory.path / CHECKPOINTS / str(chosen), target / CHECKPOINTS / str(chosen))
    return RunDirectory.open(target)


def _keep_old_spec(directory: RunDirectory) -> None:
    """Copies `spec.yaml` to the first free `spec-<n>.yaml`."""
    number = 1
    while (old := directory.path / f"spec-{number}.yaml").exists():
        number += 1
    shutil.copy2(directory.spec_path, old)


def _record(
    directory: RunDirectory, step: int, overrides: Sequence[str], origin: Path | None
) -> None:
    """A line of `resumed.jsonl`: when, from which step and with which changes."""
    known = environment()
    row = {
        "step": step,
        "time": known.get("time"),
        "overrides": list(overrides),
        "branched_from": None if origin is None else str(origin.absolute()),
    }
    append_row(directory.path / "resumed.jsonl", row)
