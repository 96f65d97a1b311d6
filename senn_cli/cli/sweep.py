"""`senn sweep`: many runs that belong together, and what came of them."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senn_cli.cli.follow import write
from senn_cli.cli.place import RunsRootOption
from senn_cli.cli.resources import (
    CoresOption,
    GpusOption,
    MemoryOption,
    SbatchOption,
    SetupOption,
    TimeOption,
)
from senn_cli.cluster.slurm import Resources
from senn_cli.errors import RunError, SennError, UsageError
from senn_cli.words import plural

if TYPE_CHECKING:
    from senn_cli.report.record import Record
    from senn_cli.sweep.folder import Folder
    from senn_cli.sweep.plan import Member
    from senn_cli.sweep.read import Sweep


class _Launcher(StrEnum):
    LOCAL = "local"
    SLURM = "slurm"


def sweep(
    path: Annotated[
        str,
        typer.Argument(metavar="SWEEP", help="A sweep file, or a spec that options are varied in."),
    ],
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE,...",
            help="A value in all members, or several to try, such as "
            "expansion.threshold=1e-2,1e-3. Can be repeated: every value with every other.",
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option("--seeds", metavar="N", help="How many seeds, or which: `5` or `0,3,7`."),
    ] = None,
    controls: Annotated[
        list[str] | None,
        typer.Option(
            "--control",
            metavar="NAME",
            help="Make this control of every member that grows: static, static_same_compute, "
            "random_growth, width_only or depth_only. Can be repeated.",
        ),
    ] = None,
    directory: Annotated[
        Path | None,
        typer.Option(
            "--dir", metavar="DIR", help="The sweep's folder; by default its name in the runs root."
        ),
    ] = None,
    runs_root: RunsRootOption = Path("runs"),
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            metavar="N",
            min=1,
            help="Members at a time; by default one a GPU, or one for every two cores.",
        ),
    ] = None,
    launcher: Annotated[
        _Launcher,
        typer.Option(
            "--launcher",
            help="`local`: processes of this machine; `slurm`: an array of jobs, handed in by "
            "sbatch; the same command later hands in the rest, and at the end shows the result.",
        ),
    ] = _Launcher.LOCAL,
    gpus: GpusOption = 0,
    cores: CoresOption = None,
    memory: MemoryOption = None,
    time: TimeOption = None,
    sbatch: SbatchOption = None,
    setup: SetupOption = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Check all members and list them, or for Slurm print the script; train none.",
        ),
    ] = False,
) -> None:
    """Train many runs: grids, lists, draws and seeds of a spec, and controls of what has grown.

    Members are ordinary runs in one folder. A sweep that was stopped or killed goes on by the same
    command, with the same result; a member that fails is told at once and stops no other. At the
    end stand a table, a report of all runs and a picture.

    The exit code is 1 if a member has failed.
    """
    from senn_cli.sweep.begin import hand_over, planned
    from senn_cli.sweep.read import read_sweep
    from senn_cli.sweep.slurm import shown

    found = read_sweep(path, overrides or (), seeds, controls or ())
    place = directory or runs_root / found.name
    asked = Resources(
        gpus=gpus,
        cores=cores,
        memory=memory,
        time=time,
        at_once=jobs,
        options=tuple(sbatch or ()),
        setup=tuple(setup or ()),
    )
    if launcher == _Launcher.LOCAL and asked != Resources(at_once=jobs):
        raise UsageError(
            "--gpus, --cores, --memory, --time, --sbatch and --setup are for --launcher slurm"
        )
    if dry_run and launcher == _Launcher.SLURM:
        write(shown(place, [m for m in planned(found) if m.awaits is None], asked).encode("utf-8"))
        return
    if dry_run:
        _list(planned(found))
        return
    if launcher == _Launcher.SLURM:
        folder, number = hand_over(found, place, asked, _say)
        if number is None:
            _finish(folder)
        else:
            typer.echo(number)
        return
    run_and_show(found, place, jobs)


def run_and_show(
    found: Sweep,
    place: Path,
    jobs: int | None,
    also: Callable[[Folder], None] = lambda folder: None,
) -> None:
    """Runs a sweep here, or goes on with it, and shows what came of it.

    Args:
      found: what was asked for.
      place: of its folder.
      jobs: members at a time; None for as many as suit the machine.
      also: is called with the folder of a sweep that has come to its end, after all is shown.

    Raises:
      RunError: a member has failed; what there is has been shown then.
      Exit: a signal has stopped the sweep.
      SennError: as for `run_here`, and what `also` raises.
    """
    from senn_cli.sweep.begin import run_here

    folder, tally = run_here(found, place, jobs, _say)
    if tally.stopped is not None:
        typer.echo(f"The sweep goes on by the same command; its folder is {folder.path}", err=True)
        raise typer.Exit(tally.stopped)
    _finish(folder)
    also(folder)
    if tally.failed:
        names = ", ".join(member.name for member in tally.failed)
        raise RunError(
            f"{plural(len(tally.failed), 'member')} of the sweep failed: {names}",
            hint=f"Their logs are in {folder.path / 'logs'}; the same command tries them again.",
        )


def _list(members: Sequence[Member]) -> None:
    """A line a member."""
    for member in members:
        typer.echo(member.name + (f"  from {member.awaits}" if member.awaits else ""))


def _say(text: str) -> None:
    from senn_cli.report.words import printable_lines

    stamp = datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S")
    sys.stderr.write(f"{stamp} {printable_lines(text)}\n")
    sys.stderr.flush()


def _finish(folder: Folder) -> None:
    """The table, the report and the picture of what has been trained."""
    from senn_cli.cli.comparing import page
    from senn_cli.cli.inspection import screen as screens
    from senn_cli.cli.report import write_page
    from senn_cli.report.comparison import settings
    from senn_cli.report.listing import find_runs
    from senn_cli.report.page.assemble import page as html
    from senn_cli.report.record import read_record

    records = []
    for run in find_runs(folder.path):
        try:
            records.append(read_record(run))
        except SennError as error:
            _say(f"left out: {error.message}")
    if not records:
        return
    screen = screens.Screen.of(sys.stdout)
    screens.write(page(settings(records), screen), screen)
    report = folder.path / "report.html"
    write_page(report, html(records, datetime.datetime.now().astimezone()))
    typer.echo(str(report))
    _picture(folder, records)


def _picture(folder: Folder, records: Sequence[Record]) -> None:
    """The picture, where matplotlib is installed and something can be drawn."""
    from senn_cli.report.plots import style
    from senn_cli.report.plots.kinds import draw

    path = folder.path / "cost.svg"
    try:
        with style.styled():
            style.save(draw("cost", records), path)
    except SennError as error:
        _say(f"no picture: {error.message}. {error.hint or ''}".rstrip())
        return
    typer.echo(str(path))
