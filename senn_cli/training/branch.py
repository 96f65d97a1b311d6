"""A second run that goes on from a checkpoint of a first, which stays as it is."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from senn_cli.errors import RunError, UsageError
from senn_cli.runs import layout
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.free import require_free
from senn_cli.runs.keep import best_moments
from senn_cli.runs.layout import BEFORE_GROWTH, BEST, CHECKPOINTS
from senn_cli.spec import dump_spec, load_spec
from senn_cli.training.origin import TRANSFER


def branch_off(
    directory: RunDirectory, target: Path, step: int | None, *, before_growth: bool = False
) -> RunDirectory:
    """A new run directory with what a run had when it saved `step`, or its newest checkpoint.

    With `before_growth` the checkpoint is one of those saved right before growth events
    (`checkpoints.growth`): in the branch, the growth round of that step is still to come. So it is
    where `step` is that of the best evaluation and no checkpoint has it. The rows of later steps
    are copied too and cut away when the branch is resumed.

    Raises:
      UsageError: `target` is in use, or there is no such checkpoint, or none at all.
      RunError: the copy could not be made.
    """
    require_free(target, "--branch")
    place = BEFORE_GROWTH if before_growth else CHECKPOINTS
    steps, bests = (layout.complete_steps(directory.path / found) for found in (place, BEST))
    require_step(steps if before_growth else tuple(sorted({*steps, *bests})), step)
    if step is not None and step not in steps:
        place, steps = BEST, bests
    if not steps:
        raise UsageError(f"there is no checkpoint in {directory.path / place} to go on from")
    # An older one to fall back to is only of use where the newest was meant.
    chosen = steps if step is None else (step,)
    copies = [(place, CHECKPOINTS, one) for one in chosen]
    copies += [(BEST, BEST, one) for one in sorted(best_moments(bests, chosen))]
    branch = RunDirectory(target.absolute())
    try:
        for source, goal, one in copies:
            shutil.copytree(
                layout.step_path(directory.path / source, one),
                layout.step_path(branch.path / goal, one),
            )
        kept = (directory.metrics_path, directory.history_path, directory.path / TRANSFER)
        for path in kept:
            if path.exists():
                shutil.copy2(path, branch.path / path.name)
        # The spec comes last: a directory without it is no run.
        branch.write_spec(dump_spec(load_spec(directory.spec_path), branch.path))
    except (OSError, shutil.Error) as error:
        shutil.rmtree(branch.path, ignore_errors=True)
        raise RunError(f"{directory.path} cannot be copied to {branch.path}: {error}") from error
    return branch


@contextmanager
def undone(branch: RunDirectory | None) -> Iterator[Callable[[], None]]:
    """Removes a branch where what is within fails, so that the corrected command can make it anew.

    Args:
      branch: None where the run itself goes on.

    Yields:
      To be called when training begins: what it leaves behind is of use, however it ends.
    """
    began = False

    def begin() -> None:
        nonlocal began
        began = True

    try:
        yield begin
    except BaseException:
        if branch is not None and not began:
            shutil.rmtree(branch.path, ignore_errors=True)
        raise


def require_step(steps: tuple[int, ...], step: int | None) -> None:
    """Raises `UsageError` where `step` is given and not among `steps`."""
    if step is not None and step not in steps:
        there = ", ".join(map(str, steps)) or "none"
        raise UsageError(f"there is no checkpoint of step {step}; there are: {there}")
