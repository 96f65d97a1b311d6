"""Going on with a run as if nothing had happened."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax

from senn_cli.errors import DataError, RunError, UsageError
from senn_cli.runs.checkpoints import CheckpointStore
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.environment import environment
from senn_cli.runs.lock import RunLock
from senn_cli.runs.newest import newest_good
from senn_cli.runs.weights import load_weights
from senn_cli.spec import Duration, Spec, dump_spec, load_spec
from senn_cli.tracking.tracker import check_trackers
from senn_cli.training.assemble import assemble
from senn_cli.training.best import Best
from senn_cli.training.branch import branch_off, require_step, undone
from senn_cli.training.compatible import require_compatible
from senn_cli.training.interruption import Interruption
from senn_cli.training.loop import Trainer
from senn_cli.training.observer import Observer, Observers
from senn_cli.training.origin import require_from_scratch, require_trained
from senn_cli.training.run import Run, begin, carry_on
from senn_cli.training.saving import (
    bests_in,
    data_digest,
    forget_after,
    nothing_saved,
    restored,
    set_unmarked_aside,
    store_in,
)
from senn_cli.training.snapshot import Moment, architecture_in
from senn_cli.words import plural


def resume_run(
    path: Path,
    *,
    step: int | None = None,
    overrides: Sequence[str] = (),
    spec: Spec | None = None,
    until: Duration | None = None,
    branch: Path | None = None,
    before_growth: bool = False,
    observers: Sequence[Observer] = (),
) -> Run:
    """Goes on with the run in `path` from its newest checkpoint that can be restored.

    On the CPU the result is bit for bit that of an uninterrupted run. A run that ended before its
    first checkpoint starts at step 0; one that has finished stays as it is, unless `overrides`
    make it longer.

    Args:
      step: another checkpoint than the newest; only with `branch`, or where it is the newest.
      overrides: changes of the run's spec, such as `training.epochs=400`.
      spec: a whole spec to go on with instead of the run's own and `overrides`.
      until: where to stop before the end.
      branch: a new directory to go on in; the run in `path` stays as it is.
      before_growth: branch off from a checkpoint saved right before a growth event.

    Raises:
      RunError: none of its checkpoints can be restored, or it was transferred from another run and
        has lost them.
      SpecError, UsageError: there is no run, an override does not fit, the run is in use, it is
        past its end or past `until`, or going on from `step` would throw later steps away.
      DataError: as for `train_run`, or the data are not those that the run was started with.
      DeviceError, DivergedError, InterruptedRun: as for `train_run`.
    """
    heard = Observers(observers)
    require_trained(path)
    directory = RunDirectory.open(path)
    before = load_spec(directory.spec_path)
    spec = load_spec(directory.spec_path, overrides) if spec is None else spec
    require_compatible(before, spec)
    check_trackers(spec)
    if before_growth and branch is None:
        raise UsageError("--before-growth needs --branch, a new directory to go on in")
    if branch is not None:
        directory = branch_off(directory, branch, step, before_growth=before_growth)
    elif step is None and spec == before and _has_finished(directory):
        return _finished(directory, heard)
    signals = Interruption(heard.close, heard.interrupted)
    mine = None if branch is None else directory
    with undone(mine) as begins, RunLock(directory.path), signals as interruption:
        device, ledger, dataset = begin(spec, heard)
        trainer = assemble(spec, dataset, ledger, until)
        store = store_in(directory.path, spec.checkpoints, trainer.timetable.per_epoch)
        document = _restore(directory, store, trainer, step, data_digest(dataset), heard)
        if spec.expansion != before.expansion:  # what has ended growth may not hold any longer
            trainer.memory = replace(trainer.memory, rest=0, ended=None)
        _require_something_to_do(trainer, changed=spec != before)
        forget_after(directory.path, trainer.step)
        directory.cut(document.get("metrics_bytes", 0), document.get("history_bytes", 0))
        if spec != before:
            directory.keep_spec()
            directory.write_spec(dump_spec(spec, directory.path))
        known = environment() | {"device": device, "devices": list(map(str, jax.devices()))}
        directory.write_environment(known)
        directory.append_resumed(
            {
                "step": trainer.step,
                "time": known["time"],
                "overrides": list(overrides),
                "branched_from": None if branch is None else str(path.absolute()),
            }
        )
        directory.remove_summary()
        begins()
        return carry_on(spec, directory, device, dataset, trainer, heard, interruption)


def _has_finished(directory: RunDirectory) -> bool:
    summary = directory.summary()
    return summary is not None and summary.get("status") == "finished"


def _finished(directory: RunDirectory, heard: Observer) -> Run:
    """The run as it is."""
    summary = directory.summary() or {}
    architecture, params = load_weights(directory.path / "weights")
    heard.note(
        f"The run has finished at step {summary.get('steps')} and stays as it is. "
        "Make it longer with, for instance, --set training.epochs=N."
    )
    return Run(
        directory.path, summary | {"run_directory": str(directory.path)}, architecture, params
    )


def _require_something_to_do(trainer: Trainer, *, changed: bool) -> None:
    """UsageError where the run would have to go back."""
    table, step = trainer.timetable, trainer.step
    if table.until is not None and table.until < step:
        raise UsageError(f"--until is step {table.until}, but the run is at step {step} already")
    if changed and trainer.finished:
        minutes = plural(table.minutes or 0, "minute")
        end = minutes if table.total is None else f"step {table.total}"
        raise UsageError(
            f"the run is at step {step} already, and its end as changed is {end}",
            hint="Make it longer with, for instance, --set training.epochs=N.",
        )


def _require_proposals(
    directory: RunDirectory, trainer: Trainer, document: Mapping[str, Any]
) -> None:
    """UsageError where growth is by dormant units, and the run was begun without any."""
    tracking = trainer.optimizer.tracking
    features = architecture_in(document).features
    if tracking is None or tracking.slow is None or any(f.spare == "dormant" for f in features):
        return
    raise UsageError(
        f"the network of {directory.path} has no dormant units, which expansion.proposals: dormant "
        "needs: the run was begun without, or by a senn whose proposals were none of the network's",
        hint="Start a new run from its network with: senn transfer",
    )


def _restore(
    directory: RunDirectory,
    store: CheckpointStore,
    trainer: Trainer,
    step: int | None,
    digest: str,
    heard: Observer,
) -> Mapping[str, Any]:
    """Puts `trainer` where a checkpoint was and returns the checkpoint's document."""
    steps = store.steps()
    require_step(steps, step)
    if step is not None and step != steps[-1]:
        raise UsageError(
            f"step {step} is not the newest checkpoint, which is {steps[-1]}: going on from it "
            "would throw later steps away",
            hint="Go on in a new directory with --branch DIR.",
        )
    for number in set_unmarked_aside(store):
        heard.note(f"The checkpoint of step {number} is left out: it is not marked as complete.")
    store.clean()
    if nothing_saved(store) and not _has_finished(directory):
        require_from_scratch(directory.path)
        heard.note("The run ended before its first checkpoint; it starts at step 0.")
        return {}

    def attempt(number: int) -> Mapping[str, Any]:
        document = store.meta(number)
        if document.get("data") != digest:
            raise DataError("the data are not those that the run was started with")
        _require_proposals(directory, trainer, document)
        _go_to(trainer, restored(store, number, trainer.optimizer), document)
        return document

    if not steps and nothing_saved(store):
        raise UsageError(
            f"{directory.path} has lost its checkpoints, and there is nothing to go on from",
            hint=f"Start anew with its spec: senn train {directory.spec_path}",
        )
    newest = newest_good(store, attempt)
    if newest.value is None or (step is not None and newest.step != step):
        reasons = "; ".join(f"step {number}: {why}" for number, why in newest.failed)
        raise RunError(f"no checkpoint in {store.directory} can be restored. {reasons}".rstrip())
    for number, why in newest.failed:
        store.set_aside(number)
        heard.note(f"The checkpoint of step {number} is left out: {why}")
    if newest.failed:
        heard.note(f"Going on from step {newest.step}.")
    _require_best(directory, trainer, heard)
    return newest.value


def _require_best(directory: RunDirectory, trainer: Trainer, heard: Observer) -> None:
    """Forgets the best evaluation where its network has been lost, and says so."""
    best = trainer.best
    if best.step is None:
        return
    try:
        restored(bests_in(directory.path), best.step, trainer.optimizer)
    except RunError as error:
        trainer.best = Best(best.metric)
        heard.note(f"The best network so far, of step {best.step}, is lost: {error.message}")


def _go_to(trainer: Trainer, moment: Moment, document: Mapping[str, Any]) -> None:
    """Puts `trainer` where it was when it saved these.

    Raises:
      RunError: the document is damaged.
    """
    ledger = trainer.ledger
    try:
        limit = math.inf if document["limit"] is None else float(document["limit"])
        seconds = {phase: float(document["seconds"][phase]) for phase in ledger.seconds}
        total = float(document["seconds"]["total"])
        # Of a checkpoint from before seconds and hits of a program were counted, its times alone.
        spent, cached = document.get("compiling", {}), document.get("cached", {})
        compiled = {
            name: (int(count), float(spent.get(name, 0)), int(cached.get(name, 0)))
            for name, count in document["compiled"].items()
        }
        int(document["metrics_bytes"]), int(document["history_bytes"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunError(f"the checkpoint's document is damaged: {error!r}") from error
    trainer.go_to(moment)
    trainer.limit = limit
    ledger.earlier = total
    for phase, passed in seconds.items():
        ledger.seconds[phase] += passed
    for name, (times, took, hits) in compiled.items():
        ledger.count(name, times=times, seconds=took, cached=hits)
