"""`senn import`: a network that was trained elsewhere, as the origin of growth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def import_(
    weights: Annotated[
        Path, typer.Argument(metavar="WEIGHTS", help="A file .safetensors or .npz.")
    ],
    mapping: Annotated[
        Path | None,
        typer.Argument(
            metavar="MAPPING",
            help="A YAML file that says which array is what: kind, activation, and `maps` (mlp) "
            "or `blocks` and `head` (densenet). An export of senn needs none.",
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
) -> None:
    """Read a network that was trained elsewhere, so that `senn transfer --from DIR` grows it.

    The function stays the same. Every array of WEIGHTS is used or named in `ignore:`, and what is
    done to each is told on standard error. With `preprocessing` in MAPPING, DIR is a run that
    `senn evaluate`, `predict`, `export` and `inspect` take, too.
    """
    from rich.table import Table
    from rich.text import Text

    from senn_cli.cli import console
    from senn_cli.engine.device import choose_device
    from senn_cli.report.words import printable
    from senn_cli.report.words import widths as in_words
    from senn_cli.use.imports import import_weights

    choose_device()
    place = output if output is not None else weights.with_suffix("")
    found = import_weights(weights, mapping, place)
    err = console.stderr()
    rows = [(one.array, "x".join(map(str, one.shape)), one.words) for one in found.arrays]
    sizes = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for name, shape, what in rows:
        line = f"  {name.ljust(sizes[0])}  {shape.ljust(sizes[1])}  {what}"
        err.print(printable(line, err.encoding), soft_wrap=True)
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
