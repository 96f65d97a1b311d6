"""`senn data`: list the sources, fetch the published ones, look at what a spec would train on."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from senn_cli.cli import completion
from senn_cli.cli.help import Verbs
from senn_cli.report.words import printable
from senn_cli.words import in_bytes, plural

if TYPE_CHECKING:
    from rich.table import Table

    from senn_cli.data.check import Report
    from senn_cli.data.dataset import Dataset
    from senn_cli.spec import Spec

app = typer.Typer(cls=Verbs, help="List, fetch and check data.", no_args_is_help=True)

_Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@app.command("list")
def list_sources(as_json: _Json = False) -> None:
    """List the sources that a spec can name, and where each comes from on this machine."""
    from dataclasses import asdict

    from senn_cli.data.catalogue import entries

    if as_json:
        _print_json([asdict(entry) for entry in entries()])
        return
    table = _table("source", "task", "examples", "what", "where")
    for entry in entries():
        _row(table, entry.name, entry.task, entry.size, entry.description, entry.where)
    _print(table)


@app.command()
def fetch(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A published set; see `senn data list`.",
            autocompletion=completion.data_sets,
        ),
    ],
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="DIR",
            help="Put the files into DIR/NAME, for use with SENN_DATA=DIR or data.root; "
            "the default is the user's cache.",
        ),
    ] = None,
) -> None:
    """Download a published data set, checksums checked, and print the directory it is in."""
    from senn_cli.data.catalogue import entries
    from senn_cli.data.fetch import fetch as fetch_set
    from senn_cli.data.fetch import fetchable
    from senn_cli.errors import UsageError

    known = name.replace("-", "_")
    if known not in fetchable():
        if name in {entry.name for entry in entries()}:
            raise UsageError(f"{name} needs no download", hint="name it in a spec: data: " + name)
        raise UsageError(
            f"there is no data set {name!r} to fetch; there are {', '.join(fetchable())}",
            hint="see: senn data list",
        )
    typer.echo(str(fetch_set(known, to, say=_say)))


@app.command()
def check(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="The spec whose data to look at.")],
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change the spec: --set data.subset=10%."),
    ] = None,
    as_json: _Json = False,
) -> None:
    """Load a spec's data as training would and report sizes, ranges, classes and oddities.

    Whatever would stop `senn train` is an error here, too, and the exit code is 2.
    """
    from senn_cli.data.check import check_dataset
    from senn_cli.data.registry import load
    from senn_cli.engine.gpu import expected_platform
    from senn_cli.errors import SennError
    from senn_cli.spec import load_spec
    from senn_cli.tracking.tracker import check_trackers
    from senn_cli.training.foreseen import doubts
    from senn_cli.training.ready import faults, joined

    loaded = load_spec(spec, overrides or ())
    dataset = load(loaded)
    report = check_dataset(dataset)
    report = replace(report, warnings=(*report.warnings, *doubts(loaded)))
    found = faults(loaded, dataset, expected_platform(loaded.device.kind))
    try:
        check_trackers(loaded)
    except SennError as error:
        found.append(error)
    if as_json:
        _print_json(report.as_dict() | {"errors": [error.message for error in found]})
    else:
        _print_report(report)
        if not found:
            _print_cost(loaded, dataset)
    if found:
        raise joined(found)


def _print_cost(spec: Spec, dataset: Dataset) -> None:
    """What training would take, in the words of `senn train --dry-run`."""
    from senn_cli.cli.plan import length_lines
    from senn_cli.training.plan import make_plan

    encoding = sys.stdout.encoding or "utf-8"
    for line in length_lines(spec, make_plan(spec, dataset)):
        typer.echo(printable(line, encoding))


def _print_report(report: Report) -> None:
    typer.echo(
        f"{printable(report.name)}: {report.task}, {plural(report.inputs, 'input')}, "
        f"{plural(report.outputs, 'output')}"
    )
    table = _table("part", "examples", "inputs", "type", "range", "mean", "repeated", "memory")
    for name, part in report.parts.items():
        _row(
            table,
            name,
            str(part.examples),
            "x".join(map(str, part.inputs)),
            part.dtype,
            f"{part.low:.4g} to {part.high:.4g}",
            f"{part.mean:.4g}",
            str(part.repeated),
            in_bytes(part.bytes),
        )
    _print(table)
    if report.task != "regression":
        table = _table("class" if report.task == "classification" else "label", *report.parts)
        for label in report.parts["train"].class_counts:
            _row(table, label, *(str(part.class_counts[label]) for part in report.parts.values()))
    else:
        table = _table("target", "part", "range", "mean", "deviation")
        for name, part in report.parts.items():
            for number, column in enumerate(part.targets, start=1):
                span = f"{column['low']:.4g} to {column['high']:.4g}"
                mean, deviation = f"{column['mean']:.4g}", f"{column['deviation']:.4g}"
                _row(table, str(number), name, span, mean, deviation)
    _print(table)
    typer.echo(f"constant features in the training part: {report.constant_features}")
    for name, count in report.shared_with_train.items():
        typer.echo(f"{name} examples that are in the training part too: {count}")
    typer.echo(f"memory: {in_bytes(report.bytes)}")
    for note in report.notes:
        typer.echo(printable(f"note: {note}", sys.stdout.encoding or "utf-8"))
    for warning in report.warnings:
        typer.echo(printable(f"warning: {warning}", sys.stdout.encoding or "utf-8"))


def _say(text: str) -> None:
    """Chatter goes to stderr; stdout is for what was asked for."""
    typer.echo(printable(text, sys.stderr.encoding or "utf-8"), err=True)


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False))


def _table(*columns: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _row(table: Table, *cells: str) -> None:
    """Adds a row of plain text: names of classes and paths may look like markup."""
    from rich.text import Text

    encoding = sys.stdout.encoding or "utf-8"
    table.add_row(*(Text(printable(cell, encoding)) for cell in cells))


def _print(table: Table) -> None:
    """Prints a table; in a file or pipe no cell is broken into lines for want of width."""
    from rich.console import Console

    Console(width=None if sys.stdout.isatty() else 240).print(table)
