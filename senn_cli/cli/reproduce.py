"""`senn reproduce`: a figure of the paper, trained and drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senn_cli.cli import completion
from senn_cli.cli.place import RunsRootOption
from senn_cli.errors import UsageError

if TYPE_CHECKING:
    from senn_cli.sweep.folder import Folder


def reproduce(
    figure: Annotated[
        str | None,
        typer.Argument(
            metavar="FIGURE", help="Which one, such as figure-4.", autocompletion=completion.figures
        ),
    ] = None,
    small: Annotated[
        bool,
        typer.Option("--small", help="The variant for two CPU cores, of one that wants a GPU."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            "--dir",
            metavar="DIR",
            help="The folder of runs and pictures; by default FIGURE in the runs root.",
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
            help="Runs at a time; by default one a GPU, or one for every two cores.",
        ),
    ] = None,
    show_list: Annotated[
        bool,
        typer.Option("--list", help="List the figures, what each runs and about how long."),
    ] = False,
) -> None:
    """Train what a figure of the paper shows, and draw it in the paper's form.

    It is a sweep of the specs that come with senn: what was stopped or killed goes on by the same
    command. The last lines on standard output are the pictures' paths. `senn sweep` takes the
    same files, which are in `specs/paper/`, for a cluster or with other values.
    """
    from senn_cli.cli.sweep import run_and_show
    from senn_cli.report.plots import style
    from senn_cli.sweep import figures
    from senn_cli.sweep.read import read_sweep

    if show_list:
        _list()
        return
    if figure is None:
        raise UsageError(
            "a figure is missing: " + ", ".join(figures.FIGURES),
            hint="`senn reproduce --list` says what each is, and about how long it takes.",
        )
    sweep = read_sweep(figures.sweep_of(figure, small=small))
    with style.styled():
        pass  # what it needs is missed now, and not after hours

    def drawn(folder: Folder) -> None:
        for path in figures.pictures(figure, folder):
            typer.echo(str(path))

    run_and_show(sweep, out or runs_root / sweep.name, jobs, drawn)


def _list() -> None:
    """What every figure and small variant is, how many runs, and their time."""
    from senn_cli.spec.shipped import header
    from senn_cli.sweep.begin import planned
    from senn_cli.sweep.figures import variants
    from senn_cli.sweep.read import read_sweep
    from senn_cli.words import plural

    for name, path in variants():
        told = header(path)
        runs = plural(len(planned(read_sweep(path))), "run")
        typer.echo(f"{name}\n  {told['Shows']}\n  {runs}; {told['Time']}")
