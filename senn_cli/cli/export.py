"""`senn export`: a finished run's network as files for other programs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from senn_cli.cli.place import NetworkArgument


class _Format(StrEnum):
    SAFETENSORS = "safetensors"
    STABLEHLO = "stablehlo"
    ONNX = "onnx"
    FLAX = "flax"
    TORCH = "torch"


def export(
    run: NetworkArgument,
    kind: Annotated[
        _Format,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help="`safetensors`: named arrays; `stablehlo`: a program for jax.export; `onnx`: a "
            "graph; `flax` and `torch`: a module file that does not need senn.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="A directory or, but for flax and torch, a file; RUN/export/FORMAT by default, "
            "of a checkpoint RUN/export/FORMAT-STEP.",
        ),
    ] = None,
    replace: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """Write a trained network for other programs, and check it against the run.

    It is the network without spare capacity, with its architecture, its preprocessing and the
    names of its classes. The export is loaded back and compared on 1,000 random inputs before it
    is put in place. safetensors and onnx need the package's extra `export`, torch that of its name.
    At the end stand lines of Python that load it and run it, without senn.
    """
    from rich.table import Table
    from rich.text import Text

    from senn_cli.cli import console
    from senn_cli.engine.device import choose_device
    from senn_cli.model import load_model
    from senn_cli.report.words import printable
    from senn_cli.runs.directory import RunDirectory
    from senn_cli.runs.network import place_of, read_network
    from senn_cli.spec import load_spec
    from senn_cli.use.exports import SAMPLE, export_model
    from senn_cli.use.latency import REPEATS, measure_latency
    from senn_cli.words import in_bytes

    choose_device()
    model = load_model(run)
    origin = place_of(run)
    directory = RunDirectory.open(origin.run)
    folder = kind.value if origin.step is None else f"{kind.value}-{origin.step}"
    place = output if output is not None else directory.path / "export" / folder
    name = load_spec(directory.spec_path).name
    made = export_model(model, name, kind.value, place, replace=replace)
    architecture, params = read_network(origin)
    latency = measure_latency(architecture, params)
    padded = sum(array.size for leaves in params.values() for array in leaves.values())
    out = console.stdout()
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", overflow="fold")
    grid.add_column(overflow="fold")
    for label, value in (
        *((("written", str(path))) for path in made.files),
        ("size", in_bytes(made.size)),
        (
            "parameters",
            f"{model.architecture.parameters:,}; with spare capacity {padded:,}",
        ),
        (
            "agreement",
            f"differs from the run by at most {made.difference:.1e} on {SAMPLE:,} random inputs "
            f"(the run from float64 by {made.rounding:.1e})",
        ),
        (
            "one example",
            f"{latency.compact * 1e6:.0f} us; with spare capacity {latency.padded * 1e6:.0f} us "
            f"(median of {REPEATS}, compiled by JAX)",
        ),
    ):
        grid.add_row(label, Text(printable(value, out.encoding)))
    out.print(grid)
    out.print()
    for line in made.usage:
        out.print(printable(line, out.encoding), markup=False, highlight=False, soft_wrap=True)
