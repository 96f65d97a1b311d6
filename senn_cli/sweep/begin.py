"""A sweep from what was given: its members planned, checked, and its folder at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.lock import RunLock
from senn_cli.sweep import controls
from senn_cli.sweep.folder import Folder, opened
from senn_cli.sweep.local import Tally, outcome, run_members
from senn_cli.sweep.plan import Member, members, require_paths
from senn_cli.sweep.read import Sweep
from senn_cli.sweep.slots import Slot, slots
from senn_cli.sweep.slurm import Resources, hand_in, ready
from senn_cli.sweep.work import Listed


def planned(sweep: Sweep) -> tuple[Member, ...]:
    """The members of a sweep, all checked.

    Raises:
      SpecError, UsageError: as for `members`.
    """
    require_paths(sweep)
    return members(sweep)


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
    known = planned(sweep)
    folder, kept = opened(path, sweep.described.model_dump(mode="json"), known)
    return folder, with_members(folder, kept, slots_of(kept, jobs), say)


def hand_over(
    sweep: Sweep, path: Path, wanted: Resources, say: Callable[[str], None]
) -> tuple[Folder, str | None]:
    """Hands what is unfinished of a sweep over to Slurm.

    Returns:
      the folder, and the number of the job; None where nothing is left to do.

    Raises:
      SpecError, UsageError, RunError: as for `run_here` and `slurm.hand_in`.
    """
    known = planned(sweep)
    folder, kept = opened(path, sweep.described.model_dump(mode="json"), known)
    with RunLock(folder.path):
        found = ready(_listed(folder, kept, say))
        return folder, hand_in(folder, found, wanted) if found else None


def _listed(folder: Folder, kept: Sequence[Member], say: Callable[[str], None]) -> Listed:
    return Listed(folder, kept, lambda each, of: controls.made(folder, each, of), say)


def slots_of(known: Sequence[Member], jobs: int | None) -> tuple[Slot, ...]:
    """The parts of this machine for these members."""
    return slots((member.spec for member in known if member.spec is not None), jobs)


def with_members(
    folder: Folder, kept: Sequence[Member], parts: Sequence[Slot], say: Callable[[str], None]
) -> Tally:
    """Runs members in a folder that nobody else works on."""
    with RunLock(folder.path):
        work = _listed(folder, kept, say)
        tally = run_members(folder, work, parts, say, lambda member: _told(folder, member))
        tally.failed.extend(work.lost)
    return tally


def _told(folder: Folder, member: Member) -> str:
    return outcome(RunDirectory(folder.run(member)).summary() or {})
