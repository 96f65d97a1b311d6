"""`senn compare`: runs against each other, seeds of one setting together."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senn_cli.cli import completion
from senn_cli.cli.named import named
from senn_cli.errors import RunError, UsageError

if TYPE_CHECKING:
    from senn_cli.report.record import Record


def compare(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN...",
            help="Two or more run directories; a folder stands for the runs in it.",
            autocompletion=completion.runs,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print strict JSON.")] = False,
) -> None:
    """Compare runs: where their specs differ, figures with their spread over seeds, curves.

    Runs whose specs differ in `seed` and `name` alone are seeds of one setting. An option that the
    spec of another version of senn lacks counts as its default of today.
    """
    from senn_cli.cli.runs import print_json
    from senn_cli.report.comparison import document, figure_of, settings

    records = _unique(named(runs or (), _sound))
    if len(records) < 2:
        only = f"found one: {records[0].path}" if records else "found none"
        raise UsageError(
            f"senn compare needs at least two runs, {only}",
            hint="Name two, or a folder of runs; `senn runs` lists them. "
            "`senn inspect RUN` shows one alone.",
        )
    figure_of(records)  # raises where no figure compares them
    if as_json:
        print_json(document(settings(records)))
        return
    from senn_cli.cli.comparing import page
    from senn_cli.cli.inspection.screen import Screen, write

    screen = Screen.of(sys.stdout)
    write(page(settings(records), screen), screen)


def _sound(path: Path) -> Record:
    """Reads a run.

    Raises:
      UsageError: there is none, or a checkpoint is named.
      RunError: something in it is not as senn writes it.
    """
    from senn_cli.report.comparison import document, settings
    from senn_cli.report.record import read_record, run_of

    run, step = run_of(path)
    if step is not None:
        raise UsageError(
            f"{path} is a checkpoint; runs are compared as they are now",
            hint=f"Name the run: {run}",
        )
    record = read_record(run)
    try:
        document(settings([record]))
        for row in record.metrics:
            float(row["step"])
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise RunError(
            f"a line of {run / 'metrics.jsonl'}, history.jsonl or summary.json is not as senn "
            f"writes it: {type(error).__name__}: {error}"
        ) from error
    return record


def _unique(records: Sequence[Record]) -> list[Record]:
    """Every run once, also where it is named and in a named folder, too."""
    return list({record.path.resolve(): record for record in reversed(records)}.values())[::-1]
