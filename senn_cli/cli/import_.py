"""`senn import`: a network that was trained elsewhere, as the origin of growth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def import_(
    weights: Annotated[
        Path,
        typer.Argument(
            metavar="WEIGHTS", help="A file .safetensors, .npz, .pt, .pth, .keras or .h5."
        ),
    ],
    mapping: Annotated[
        Path | None,
        typer.Argument(
            metavar="MAPPING",
            help="A YAML file that says which array is what: kind, activation, and `maps` (mlp) "
            "or `blocks` and `head` (densenet). A fully connected network whose names or "
            "configuration tell, and an export of senn, need none.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="A new or empty directory; WEIGHTS without its ending by default.",
        ),
    ] = None,
    activation: Annotated[
        str | None,
        typer.Option(
            "--activation",
            metavar="NAME",
            help="Of the hidden layers, which a file of PyTorch does not tell.",
        ),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A key of the mapping, given or found; repeatable: `--set classes=[cat,dog]`.",
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Write nothing; print the mapping that was found, as a file to be given as "
            "MAPPING, and what it would make.",
        ),
    ] = False,
) -> None:
    """Read a network that was trained elsewhere, so that `senn transfer --from DIR` grows it.

    The function stays the same. Every array of WEIGHTS is used or named in `ignore:`, and what is
    done to each is told on standard error. No code of WEIGHTS is run. With `preprocessing` in
    MAPPING, DIR is a run that `senn evaluate`, `predict`, `export` and `inspect` take, too.
    """
    from rich.table import Table
    from rich.text import Text

    from senn_cli.cli import console
    from senn_cli.engine.device import choose_device
    from senn_cli.report.words import printable, printable_lines
    from senn_cli.report.words import widths as in_words
    from senn_cli.use.import_plan import explained, read_weights
    from senn_cli.use.imports import write_import

    changes = [*(overrides or ()), *([] if activation is None else [f"activation={activation}"])]
    if explain:
        typer.echo(printable_lines(explained(read_weights(weights, mapping, changes))), nl=False)
        return
    choose_device()
    place = output if output is not None else weights.with_suffix("")
    found = write_import(read_weights(weights, mapping, changes), place)
    err = console.stderr()
    rows = [(one.array, "x".join(map(str, one.shape)), one.words) for one in found.arrays]
    sizes = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for name, shape, what in rows:
        line = f"  {name.ljust(sizes[0])}  {shape.ljust(sizes[1])}  {what}"
        err.print(printable(line, err.encoding), soft_wrap=True, markup=False)
    for note in found.notes:
        err.print(printable(f"note: {note}", err.encoding), soft_wrap=True, markup=False)
    out = console.stdout()
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", overflow="fold")
    grid.add_column(overflow="fold")
    network = found.architecture
    used = (
        "as a finished run, and as the origin of `senn transfer`"
        if found.preprocessing is not None
        else "as the origin of `senn transfer` alone: nothing says how examples become inputs "
        "(`preprocessing` in the mapping)"
    )
    for label, value in (
        ("written", str(found.path)),
        ("network", f"{network.kind}, hidden {in_words(network.widths)}"),
        ("parameters", f"{network.parameters:,}"),
        ("to be used", used),
        ("go on with", f"senn transfer --from {place} SPEC"),
    ):
        grid.add_row(label, Text(printable(value, out.encoding)))
    out.print(grid)
