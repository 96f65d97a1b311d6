"""What a command asks of a cluster for its jobs: options of `senn launch` and `senn sweep`."""

from __future__ import annotations

from typing import Annotated

import typer

GpusOption = Annotated[
    int,
    typer.Option(
        "--gpus", metavar="N", min=0, help="Of Slurm: GPUs of each node, divided over its tasks."
    ),
]
CoresOption = Annotated[
    int | None,
    typer.Option(
        "--cores", metavar="N", min=1, help="Of Slurm: CPU cores of a task; many clusters give one."
    ),
]
MemoryOption = Annotated[
    str | None,
    typer.Option("--memory", metavar="SIZE", help="Of Slurm: memory of each node, such as `64G`."),
]
TimeOption = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="LIMIT",
        help="Of Slurm: such as `12:00:00`, or `2-0` for two days; a run is saved five minutes "
        "before it, and goes on when its turn comes again.",
    ),
]
SbatchOption = Annotated[
    list[str] | None,
    typer.Option(
        "--sbatch",
        metavar="OPTION",
        help="Of Slurm: one more option of sbatch, such as --sbatch=--partition=long. "
        "Can be repeated.",
    ),
]
SetupOption = Annotated[
    list[str] | None,
    typer.Option(
        "--setup",
        metavar="LINE",
        help="Of Slurm: a line of shell before a run, such as `module load cuda`. Can be repeated.",
    ),
]
