"""`senn predict`: the answers of a finished run's network to new inputs, as CSV."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from senn_cli.cli.place import NetworkArgument
from senn_cli.errors import UsageError
from senn_cli.words import plural


def predict(
    run: NetworkArgument,
    inputs: Annotated[
        list[Path],
        typer.Argument(
            metavar="INPUT",
            help="Files and folders: .npz, .npy, tables (.csv, .tsv, .txt, .data, .gz, .parquet), "
            "images (.png, .jpg), folders of images.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the CSV to FILE, replacing what is there, instead of standard output.",
        ),
    ] = None,
    probabilities: Annotated[
        bool,
        typer.Option("--probabilities", help="With a column p_CLASS for every class."),
    ] = False,
    array: Annotated[
        str | None,
        typer.Option(
            "--array",
            metavar="NAME",
            help="The array of an .npz to take; by default the one that the run's spec names, or "
            "the only one.",
        ),
    ] = None,
) -> None:
    """Use a trained network on new inputs: a CSV row for every example.

    Inputs are as the run's data were (pixels, not scaled ones) and are prepared as these. The
    columns of a table are found by the names that the run's own table had, in any order; its
    targets may be left out, and other columns are noted and not used.
    """
    from senn_cli.cli import console
    from senn_cli.engine.device import choose_device
    from senn_cli.report.words import printable_lines
    from senn_cli.runs.files import write_atomic
    from senn_cli.use.prediction import as_csv, predict_files

    if output is not None and (output.is_dir() or not output.absolute().parent.is_dir()):
        what = "is a directory" if output.is_dir() else "lies in a directory that does not exist"
        raise UsageError(f"--output {output} {what}; name a file")
    choose_device()
    found = predict_files(run, inputs, array)
    if probabilities and found.preprocessing.task == "regression":
        raise UsageError(f"--probabilities: {run} is a regression, which has none")
    for note in found.notes:
        console.stderr().print(f"note: {note}", markup=False, soft_wrap=True)
    text = as_csv(found, probabilities=probabilities).encode()
    if output is None:
        # Bytes: the CSV is UTF-8, whatever the encoding. A terminal gets what cannot steer it.
        terminal = console.is_terminal(sys.stdout)
        typer.echo(printable_lines(text.decode()) if terminal else text, nl=False)
        return
    try:
        write_atomic(output, text)
    except OSError as error:
        raise UsageError(f"--output {output} cannot be written: {error.strerror}") from error
    console.stderr().print(plural(len(found.rows), "prediction"))
