"""A second run that goes on from a checkpoint of a first, which stays as it is."""

from __future__ import annotations

import shutil
from pathlib import Path

from senn_cli.errors import RunError, UsageError
from senn_cli.runs import layout
from senn_cli.runs.directory import RunDirectory, require_free
from senn_cli.training.origin import TRANSFER
from senn_cli.training.saving import BEFORE_GROWTH, CHECKPOINTS


def branch_off(
    directory: RunDirectory, target: Path, step: int | None, *, before_growth: bool = False
) -> RunDirectory:
    """A new run directory with what a run had when it saved `step`, or its newest checkpoint.

    With `before_growth` the checkpoint is one of those saved right before growth events
    (`checkpoints.growth`): in the branch, the growth round of that step is still to come. The rows
    of later steps are copied too and cut away when the branch is resumed.

    Raises:
      UsageError: `target` is in use, or there is no such checkpoint.
      RunError: the run has no checkpoint, or the copy could not be made.
    """
    require_free(target, "--branch")
    source = directory.path / (BEFORE_GROWTH if before_growth else CHECKPOINTS)
    steps = layout.complete_steps(source)
    require_step(steps, step)
    if not steps:
        raise RunError(f"there is no checkpoint in {source} to go on from")
    branch = RunDirectory(target.absolute())
    try:
        # An older one to fall back to is only of use where the newest was meant.
        for chosen in steps if step is None else (step,):
            shutil.copytree(
                layout.step_path(source, chosen),
                layout.step_path(branch.path / CHECKPOINTS, chosen),
            )
        kept = (directory.metrics_path, directory.history_path, directory.path / TRANSFER)
        for path in kept:
            if path.exists():
                shutil.copy2(path, branch.path / path.name)
        # The spec comes last: a directory without it is no run.
        shutil.copy2(directory.spec_path, branch.spec_path)
    except (OSError, shutil.Error) as error:
        shutil.rmtree(branch.path, ignore_errors=True)
        raise RunError(f"{directory.path} cannot be copied to {branch.path}: {error}") from error
    return branch


def require_step(steps: tuple[int, ...], step: int | None) -> None:
    """Raises `UsageError` where `step` is given and not among `steps`."""
    if step is not None and step not in steps:
        there = ", ".join(map(str, steps)) or "none"
        raise UsageError(f"there is no checkpoint of step {step}; there are: {there}")
