"""Job scripts for Slurm: a frozen description in, the text of a script out, and its submission.

What a script does beside starting its command, with `senn`'s exit codes in mind:

* Before the time limit Slurm sends SIGUSR1 to the tasks (not to the script): a run saves and ends
  with 75.
* 75 says that nothing is wrong and the run can go on: the script puts its own job back into the
  queue, under its number, and the command goes on where it was. All other codes end the job.
* A task that ends with an error ends no other: the processes of a run find out by themselves, and
  then end with 75.

Options as in `sbatch(1)` and `srun(1)`, exit codes as in `senn_cli.training.interruption`.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from senn_cli.errors import RunError, UsageError

TRY_AGAIN = 75
"""The exit code with which a command asks to be started again."""

WARNING = 300
"""Seconds before the time limit at which a job is told; Slurm may be a minute early."""

REQUEUES = 100
"""How often a job comes back, so that one which never gets anywhere ends."""


@dataclass(frozen=True)
class Resources:
    """What a job, or every member of an array, asks of the cluster.

    Attributes:
      nodes: machines.
      tasks: processes on each of them.
      gpus: GPUs of each node, divided evenly over its tasks.
      cores: CPU cores of each task; None for the cluster's default.
      memory: of each node, such as `64G`; None for the cluster's default.
      time: limit as Slurm writes it, such as `90` (minutes), `12:00:00` or `1-12`; None for the
        partition's.
      at_once: how many members of an array may run at a time; None for all.
      options: further options of `sbatch`, as it takes them.
      setup: lines of shell before the command, such as `module load cuda`.
    """

    nodes: int = 1
    tasks: int = 1
    gpus: int = 0
    cores: int | None = None
    memory: str | None = None
    time: str | None = None
    at_once: int | None = None
    options: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()

    @property
    def gpus_of_task(self) -> int:
        """GPUs of each task.

        Raises:
          UsageError: they do not divide evenly.
        """
        if self.gpus % self.tasks:
            raise UsageError(
                f"--gpus is {self.gpus}, and {self.tasks} tasks on each node (--tasks) cannot "
                "have equally many of them: every process needs GPUs of its own",
                hint="Give a multiple, or one task a node, which uses all GPUs of it.",
            )
        return self.gpus // self.tasks


@dataclass(frozen=True)
class Job:
    """A job of Slurm.

    Attributes:
      commands: what every task runs; more than one make an array with one member each.
      name: shown by `squeue`.
      log: file that the output goes to, with Slurm's patterns (`%j`; `%A` and `%a` in an array).
      asked: what it asks of the cluster.
      warning: seconds before the limit at which the tasks are told.
      requeues: how often the job may come back.
    """

    commands: tuple[tuple[str, ...], ...]
    name: str
    log: str
    asked: Resources = Resources()
    warning: int = WARNING
    requeues: int = REQUEUES

    @property
    def array(self) -> bool:
        """Whether it is an array."""
        return len(self.commands) > 1


def script(job: Job) -> str:
    """The text of a job's script, for `sbatch`.

    Raises:
      UsageError: a value that would not be one line's option, or a limit within the warning.
    """
    _require_usable(job)
    asked = job.asked
    setup = [*asked.setup, ""] if asked.setup else []
    srun = ["srun", f"--ntasks={asked.nodes * asked.tasks}", "--kill-on-bad-exit=0"]
    # srun does not take this one from the job.
    srun += [] if asked.cores is None else [f"--cpus-per-task={asked.cores}"]
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {option}" for option in _options(job)),
        "",
        *setup,
        *_command(job),
        f'{shlex.join(srun)} "${{command[@]}}"',
        "code=$?",
        "",
        f"# {TRY_AGAIN}: saved and stopped by a signal or a lost host; what is requeued goes on.",
        f'if [ "$code" -eq {TRY_AGAIN} ] && [ "${{SLURM_RESTART_COUNT:-0}}" -lt {job.requeues} ]; '
        "then",
        '    scontrol requeue "$SLURM_JOB_ID"',
        "fi",
        'exit "$code"',
    ]
    return "\n".join(lines) + "\n"


def _options(job: Job) -> list[str]:
    """What `sbatch` is told."""
    asked, own = job.asked, job.asked.gpus_of_task
    given = {
        "job-name": job.name,
        "output": job.log,
        "open-mode": "append",  # what is requeued writes on
        "nodes": asked.nodes,
        "ntasks-per-node": asked.tasks,
        # Several tasks of a node see each its own GPUs by the latter, and all by the former.
        "gpus-per-node" if asked.tasks == 1 else "gpus-per-task": own or None,
        "cpus-per-task": asked.cores,
        "mem": asked.memory,
        "time": asked.time,
        "signal": f"USR1@{job.warning}",
        "array": _array(job),
    }
    told = [f"--{name}={_quoted(value)}" for name, value in given.items() if value is not None]
    return [*told, "--requeue", *asked.options]


def _array(job: Job) -> str | None:
    if not job.array:
        return None
    at_once = "" if job.asked.at_once is None else f"%{job.asked.at_once}"
    return f"0-{len(job.commands) - 1}{at_once}"


def _quoted(value: object) -> str:
    """A value in a line of `#SBATCH`, where quotes keep blanks together."""
    text = str(value)
    return (
        text
        if re.fullmatch(r"[^\s\"'#\\]+", text)
        else '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'
    )


def _command(job: Job) -> list[str]:
    """The lines that put the command of this job, or of this member, into `command`."""
    if not job.array:
        return [f"command=({shlex.join(job.commands[0])})"]
    members = [f"{k}) command=({shlex.join(words)}) ;;" for k, words in enumerate(job.commands)]
    return ['case "$SLURM_ARRAY_TASK_ID" in', *members, "esac"]


_OWN = {
    ("nodes", "N"): "--nodes",
    ("ntasks", "n", "ntasks-per-node"): "--tasks",
    ("cpus-per-task", "c"): "--cores",
    ("mem",): "--memory",
    ("time", "t"): "--time",
    ("array", "a", "signal", "open-mode", "requeue", "no-requeue"): "",
}
"""Options of `sbatch` that the script relies on, and by which of ours they are set."""


def _require_usable(job: Job) -> None:
    asked = job.asked
    if not job.commands or not all(job.commands):
        raise UsageError("a job of Slurm needs a command")
    for option in asked.options:
        found = re.fullmatch(r"--?([A-Za-z][\w-]*)([= ].*)?", option)
        if found is None:
            raise UsageError(
                f"{option!r} is no option of sbatch", hint="Write it as --partition=long."
            )
        name = found[1] if option.startswith("--") else found[1][0]  # -N2 is --nodes=2
        for names, ours in _OWN.items():
            if name in names:
                raise UsageError(
                    f"--sbatch={option} would undo what the script relies on",
                    hint=f"Use {ours} of this command." if ours else "Leave it out.",
                )
    for text in (job.name, job.log, asked.memory or ""):
        if "\n" in text:
            raise UsageError(f"{text!r} has more than one line, as an option of Slurm cannot")
    if asked.time is not None and minutes(asked.time) * 60 <= job.warning:
        raise UsageError(
            f"--time {asked.time} is not more than the {job.warning} seconds before it at which "
            "the run is told to save",
            hint="Ask for more time.",
        )


def minutes(limit: str) -> float:
    """The minutes of a time limit of Slurm.

    >>> [minutes(limit) for limit in ("90", "1:30", "2:00:00", "1-12", "1-0:30")]
    [90.0, 1.5, 120.0, 2160.0, 1470.0]

    Raises:
      UsageError: it is none.
    """
    found = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", limit)
    if found is None:
        raise UsageError(
            f"{limit!r} is no time limit of Slurm",
            hint="Write minutes (90), hours (12:00:00), or days and hours (1-12).",
        )
    days, *rest = (None if part is None else int(part) for part in found.groups())
    parts = [part for part in rest if part is not None]
    if days is not None or len(parts) == 3:
        hours, after, seconds = (*parts, 0, 0)[:3]
    else:
        hours, after, seconds = 0, *(*parts, 0)[:2]
    return float((days or 0) * 1440 + hours * 60 + after) + seconds / 60


def submit(file: Path) -> str:
    """Hands a script over to Slurm and returns the number of the job.

    Raises:
      UsageError: there is no `sbatch` on this machine.
      RunError: Slurm has refused it, with its words.
    """
    try:
        done = subprocess.run(
            ["sbatch", "--parsable", str(file)], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise UsageError(
            f"{file} cannot be submitted: there is no sbatch on this machine",
            hint="Submit it on a machine of the cluster: sbatch " + shlex.quote(str(file)),
        ) from None
    if done.returncode:
        why = (done.stderr or done.stdout).strip() or f"sbatch ended with {done.returncode}"
        raise RunError(
            f"Slurm has not taken {file}: {why}", hint="Change the options, or the file."
        )
    return done.stdout.strip().partition(";")[0]
