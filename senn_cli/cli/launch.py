"""`senn launch`: a run as a job of a cluster, which goes on where it was until it is done."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senn_cli.cli.place import RunsRootOption, SeedOption, with_seed
from senn_cli.cli.resources import (
    CoresOption,
    GpusOption,
    MemoryOption,
    SbatchOption,
    SetupOption,
    TimeOption,
)
from senn_cli.cli.validate import SetOption
from senn_cli.cluster.slurm import Job, Resources, script, submit
from senn_cli.errors import RunError, UsageError

if TYPE_CHECKING:
    from senn_cli.spec import Spec


def launch(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="The spec file.")],
    slurm: Annotated[bool, typer.Option("--slurm", help="As a job of Slurm.")] = False,
    nodes: Annotated[
        int, typer.Option("--nodes", metavar="N", min=1, help="Machines that train the run.")
    ] = 1,
    tasks: Annotated[
        int, typer.Option("--tasks", metavar="M", min=1, help="Processes on each of them.")
    ] = 1,
    gpus: GpusOption = 0,
    cores: CoresOption = None,
    memory: MemoryOption = None,
    time: TimeOption = None,
    sbatch: SbatchOption = None,
    setup: SetupOption = None,
    submit_it: Annotated[
        bool, typer.Option("--submit", help="Submit the script, and print the job's number.")
    ] = False,
    overrides: SetOption = None,
    run_dir: Annotated[
        Path | None,
        typer.Option(
            "--run-dir",
            metavar="DIR",
            help="Where the run is written, or goes on where it is; By default "
            "a directory of its own in the runs root.",
        ),
    ] = None,
    runs_root: RunsRootOption = Path("runs"),
    seed: SeedOption = None,
) -> None:
    """Write a job script that trains as SPEC describes, and with --submit submit it.

    The script is written beside the run's directory, as DIR.sbatch, and its path is printed. Before
    the time limit the run is saved, the job goes back into the queue, and there the run goes on. A
    finished or failed run ends the job. With several nodes or tasks srun starts a process for each
    task, and they train the run together.
    """
    from senn_cli.runs.names import stamped
    from senn_cli.spec import load_spec
    from senn_cli.training.foreseen import foreseen

    if not slurm:
        raise UsageError("a run is launched by something", hint="Add --slurm, for a job of Slurm.")
    overrides = with_seed(overrides, seed)
    loaded = load_spec(spec, overrides, also=foreseen)
    asked = Resources(
        nodes=nodes,
        tasks=tasks,
        gpus=gpus,
        cores=cores,
        memory=memory,
        time=time,
        options=tuple(sbatch or ()),
        setup=tuple(setup or ()),
    )
    _require_fitting(loaded, asked)
    place = (run_dir or runs_root / stamped(loaded.name)).absolute()
    # This interpreter by its path: the job need not find the same one on its own PATH.
    command = [sys.executable, "-m", "senn_cli", "train", str(Path(spec).absolute())]
    command += [word for override in overrides for word in ("--set", override)]
    command += ["--run-dir", str(place), "--resume", "auto"]
    job = Job(
        commands=(tuple(command),),
        name=loaded.name,
        log=str(_beside(place, "-%j.log")),
        asked=asked,
    )
    file = _beside(place, ".sbatch")
    _write(file, script(job))
    _tell(job, file, submit(file) if submit_it else None)


def _require_fitting(spec: Spec, asked: Resources) -> None:
    """Raises `UsageError` for GPUs that the run would not use, or could not have."""
    kind, count, own = spec.device.kind, spec.device.count, asked.gpus_of_task
    if kind == "gpu" and not own:
        raise UsageError("the spec asks for a GPU, and without --gpus a job has none")
    if own and kind == "cpu":
        raise UsageError(
            f"--gpus is {asked.gpus}, and the spec has device.kind: cpu",
            hint="Leave --gpus out, or add --set device.kind=gpu.",
        )
    if own and count not in ("all", own):
        each = "" if asked.tasks == 1 else f" for {asked.tasks} tasks a node"
        raise UsageError(
            f"--gpus is {asked.gpus}{each}, and every process of the spec's run goes over {count} "
            "(device.count)",
            hint=f"Make that {own}, or add --set device.count=all.",
        )


def _beside(place: Path, ending: str) -> Path:
    return place.with_name(place.name + ending)


def _write(file: Path, text: str) -> None:
    """Writes a script, but over no other one.

    Raises:
      UsageError: there is one with other content.
      RunError: it cannot be written.
    """
    from senn_cli.runs.files import write_atomic

    try:
        if file.exists() and file.read_text(encoding="utf-8", errors="replace") != text:
            raise UsageError(
                f"{file} exists, and has other content than would be written",
                hint="Remove it if it is not needed, or give another --run-dir.",
            )
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, text)
    except OSError as error:
        raise RunError(f"{file} cannot be written: {error.strerror or error}") from error


def _tell(job: Job, file: Path, number: str | None) -> None:
    """Prints the script or the job's number, and as chatter what comes next."""
    from senn_cli.words import quoted

    typer.echo(str(file) if number is None else number)
    next_one = f"sbatch {quoted(file)}" if number is None else f"squeue --job {number}"
    typer.echo(f"next: {next_one}", err=True)
    typer.echo(f"its output: {quoted(job.log.replace('%j', number or '%j'))}", err=True)
