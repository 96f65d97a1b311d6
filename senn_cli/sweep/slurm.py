"""Members as an array of Slurm: one script, whose tasks are what a local sweep would start.

A control is known when its run has finished, so a sweep with controls takes two arrays. The same
command, given again, makes what has become known, hands in what is unfinished, and at the end shows
what came of all.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from senn_cli.cluster.slurm import Job, Resources, script, submit
from senn_cli.errors import RunError, UsageError
from senn_cli.runs.files import write_atomic
from senn_cli.sweep.folder import Folder
from senn_cli.sweep.local import command_of
from senn_cli.sweep.plan import Member
from senn_cli.sweep.work import Listed

SCRIPT, JOB = "sweep.sbatch", "slurm-job"
"""Files in the folder: the newest script, and the number under which it was handed in."""


def job(folder: Folder, members: Sequence[Member], wanted: Resources) -> Job:
    """The array of some members; of a single one a job."""
    number = "%A-%a" if len(members) > 1 else "%j"
    return Job(
        commands=tuple(tuple(command_of(folder, member)) for member in members),
        name=folder.path.name,
        log=str(folder.path / "logs" / f"slurm-{number}.log"),
        asked=wanted,
    )


def ready(work: Listed) -> list[Member]:
    """All members that can be started now."""
    return list(iter(work.take, None))


def hand_in(folder: Folder, members: Sequence[Member], wanted: Resources) -> str:
    """Writes the script of these members, submits it, and returns the job's number.

    Raises:
      UsageError: an earlier array of this sweep is in the queue still, there is no Slurm here, or
        what is asked for makes no sense.
      RunError: Slurm refuses it, or a file cannot be written.
    """
    known = folder.path / JOB
    if known.exists() and _queued(number := known.read_text(encoding="ascii").strip()):
        raise UsageError(
            f"job {number} of this sweep has not ended yet",
            hint=f"`squeue -j {number}` shows it; give this command again when it has ended.",
        )
    path = folder.path / SCRIPT
    number = ""
    try:
        write_atomic(path, script(job(folder, members, wanted)))
        number = submit(path)
        write_atomic(known, f"{number}\n")
    except OSError as error:
        told = f"; job {number} was handed in" if number else ""
        raise RunError(
            f"{folder.path} cannot be written: {error.strerror or error}{told}"
        ) from error
    return number


def _queued(number: str) -> bool:
    try:
        done = subprocess.run(
            ["squeue", "--noheader", "--jobs", number], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:  # `submit` says so
        return False
    return done.returncode == 0 and bool(done.stdout.strip())


def shown(folder: Path, members: Sequence[Member], wanted: Resources) -> str:
    """The script that would be handed in for a sweep that has not begun."""
    return script(job(Folder(folder.absolute()), members, wanted))
