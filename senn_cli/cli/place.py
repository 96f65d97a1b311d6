"""A run on the command line: which one is meant, where a new one is written, and its seed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from senn_cli.cli import completion
from senn_cli.errors import UsageError

RunArgument = Annotated[
    Path,
    typer.Argument(metavar="RUN", help="The run's directory.", autocompletion=completion.runs),
]
NetworkArgument = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        help="The run's directory, for its final network; RUN/checkpoints/STEP or "
        "RUN/checkpoints/best for one of a checkpoint.",
        autocompletion=completion.runs,
    ),
]
RunDirOption = Annotated[
    Path | None,
    typer.Option(
        "--run-dir",
        metavar="DIR",
        help="Write the run into DIR, which must be new or empty, instead of making a "
        "directory of its own in the runs root.",
    ),
]
RunsRootOption = Annotated[
    Path,
    typer.Option(
        "--runs-root", metavar="DIR", envvar="SENN_RUNS", help="Where run directories are made."
    ),
]
SeedOption = Annotated[
    int | None, typer.Option("--seed", metavar="N", help="Short for `--set seed=N`.")
]


class Resume(StrEnum):
    """What `--resume` takes."""

    AUTO = "auto"


ResumeOption = Annotated[
    Resume | None,
    typer.Option(
        "--resume", help="`auto`: go on with the run in --run-dir if there is one, else start it."
    ),
]


def begun(resume: Resume | None, run_dir: Path | None) -> bool:
    """Whether a run is to be gone on with: there is one where the new one would be.

    Raises:
      UsageError: no place is named.
    """
    if resume is None:
        return False
    if run_dir is None:
        raise UsageError("--resume auto needs --run-dir, the place of the run")
    return (run_dir / "spec.yaml").is_file()


def with_seed(overrides: list[str] | None, seed: int | None) -> list[str]:
    """The overrides of `--set`, and of `--seed` behind them."""
    return [*(overrides or ()), *([] if seed is None else [f"seed={seed}"])]
