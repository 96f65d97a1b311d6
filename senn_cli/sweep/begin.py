"""A sweep from what was given: its members planned, checked, and its folder at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from senn_cli.cluster.slurm import Resources
from senn_cli.errors import UsageError
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.lock import RunLock
from senn_cli.spec import dump_spec
from senn_cli.sweep import controls
from senn_cli.sweep.folder import Folder, opened
from senn_cli.sweep.local import Tally, outcome, run_members
from senn_cli.sweep.plan import Member, members, require_paths
from senn_cli.sweep.read import Sweep
from senn_cli.sweep.search import Searched, sample
from senn_cli.sweep.slots import Slot, slots
from senn_cli.sweep.slurm import hand_in, ready
from senn_cli.sweep.work import Listed


def planned(sweep: Sweep) -> tuple[Member, ...]:
    """The members of a sweep, all checked; of a search one that stands for all.

    Raises:
      SpecError: as for `members` and `require_makeable`.
    """
    require_paths(sweep)
    if sweep.described.search is not None:
        return (sample(sweep),)
    found = members(sweep)
    controls.require_makeable(sweep, found)
    return found


def run_here(
    sweep: Sweep,
    path: Path,
    jobs: int | None,
    say: Callable[[str], None],
) -> tuple[Folder, Tally]:
    """Runs a sweep on this machine, or goes on with it, to its end.

    Args:
      sweep: what was asked for.
      path: of its folder.
      jobs: how many members at a time, None for as many as suit the machine.
      say: is told what happens.

    Raises:
      SpecError: a member's spec has faults.
      UsageError: the folder holds something else, or another process works on the sweep.
      RunError: something cannot be read or written.
    """
    if sweep.described.search is not None:
        return _searched(sweep, path, jobs, say)
    known = planned(sweep)
    folder, kept = opened(path, sweep.described.model_dump(mode="json"), known)
    parts = slots((member.spec for member in kept if member.spec is not None), jobs)
    with RunLock(folder.path):
        return folder, _run(folder, _listed(folder, kept, say), parts, say)


def _searched(
    sweep: Sweep, path: Path, jobs: int | None, say: Callable[[str], None]
) -> tuple[Folder, Tally]:
    require_paths(sweep)
    found = sample(sweep)
    assert found.spec is not None
    # The spec is a part of what the sweep is: its trials are not known beforehand.
    described = sweep.described.model_dump(mode="json") | {"resolved": dump_spec(found.spec)}
    folder, _ = opened(path, described, ())
    with RunLock(folder.path):
        work = Searched(folder, sweep, described, say)
        tally = _run(folder, work, slots([found.spec], jobs), say)
        if (best := work.best) is not None:
            say(best)
    return folder, tally


def _run(
    folder: Folder, work: Listed | Searched, parts: Sequence[Slot], say: Callable[[str], None]
) -> Tally:
    tally = run_members(folder, work, parts, say, lambda member: _told(folder, member))
    tally.failed.extend(work.lost)
    return tally


def hand_over(
    sweep: Sweep, path: Path, wanted: Resources, say: Callable[[str], None]
) -> tuple[Folder, str | None]:
    """Hands what is unfinished of a sweep over to Slurm.

    Returns:
      the folder, and the number of the job; None where nothing is left to do.

    Raises:
      SpecError, UsageError, RunError: as for `run_here` and `slurm.hand_in`.
    """
    if sweep.described.search is not None:
        raise UsageError(
            "a search goes on from results, so an array of jobs cannot hold it",
            hint="Use --launcher local, in a job of its own.",
        )
    known = planned(sweep)
    folder, kept = opened(path, sweep.described.model_dump(mode="json"), known)
    with RunLock(folder.path):
        found = ready(_listed(folder, kept, say))
        return folder, hand_in(folder, found, wanted) if found else None


def _listed(folder: Folder, kept: Sequence[Member], say: Callable[[str], None]) -> Listed:
    return Listed(folder, kept, lambda each, of: controls.made(folder, each, of), say)


def _told(folder: Folder, member: Member) -> str:
    return outcome(RunDirectory(folder.run(member)).summary() or {})
