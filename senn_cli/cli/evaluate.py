"""`senn evaluate`: how good a finished run's network is, on its own data or on others."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senn_cli.cli.place import NetworkArgument
from senn_cli.errors import RunError
from senn_cli.words import plural

if TYPE_CHECKING:
    from rich.console import Console

    from senn_cli.use.evaluation import Evaluation
    from senn_cli.use.measures import Classification, Multilabel, Regression

MOST_ROWS = 20
"""Classes that the tables show."""


class _Split(StrEnum):
    TEST = "test"
    VALIDATION = "validation"
    TRAIN = "train"


def evaluate(
    run: NetworkArgument,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="SPEC",
            help="Use the `data` section of this spec instead of the run's; scaling stays the "
            "run's, classes are matched by name.",
        ),
    ] = None,
    split: Annotated[
        _Split, typer.Option("--split", help="The part of the data to measure on.")
    ] = _Split.TEST,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="data.KEY=VALUE",
            help="Override a value of the `data` section, such as data.root=/data/mnist.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON on standard output.")
    ] = False,
) -> None:
    """Measure a finished run: loss, accuracy, every class, confusions, calibration.

    For a regression: mean squared and absolute errors and r2 of every target, in its units. What
    was measured on the run's own data is kept in it, so that `senn report` and `senn watch` show
    it, with right and wrong examples.
    """
    from senn_cli.cli import console
    from senn_cli.engine.device import choose_device
    from senn_cli.report.words import printable
    from senn_cli.use.evaluation import evaluate_run
    from senn_cli.use.kept import as_dict, keep

    choose_device()
    found = evaluate_run(run, data, split.value, overrides or ())
    notes = list(found.notes)
    try:
        keep(run, found)
    except RunError as error:  # the measures are there all the same
        notes.append(f"the page of senn report will not show this: {error.message}")
    err = console.stderr()
    for note in notes:
        err.print(printable(f"note: {note}", err.encoding))
    if as_json:
        value = json.dumps(as_dict(run, found), indent=2, ensure_ascii=True, allow_nan=False)
        typer.echo(value)
    else:
        _show(run, found, console.stdout())


def _show(run: Path, found: Evaluation, out: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    from senn_cli.report.words import printable
    from senn_cli.use.measures import Classification, Multilabel

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", overflow="fold")
    grid.add_column(overflow="fold")
    for label, value in summary_rows(run, found):
        grid.add_row(label, Text(printable(value, out.encoding)))
    out.print(grid)
    if isinstance(found.measures, Classification):
        _show_classes(found.measures, out)
    elif isinstance(found.measures, Multilabel):
        _show_labels(found.measures, out)
    else:
        _show_targets(found.measures, out)


def summary_rows(run: Path, found: Evaluation) -> list[tuple[str, str]]:
    """The figures over all examples: a label and its value in words."""
    from senn_cli.use.measures import Classification, Multilabel

    measures = found.measures
    rows = [
        ("run", str(run)),
        ("data", f"{plural(measures.examples, f'{found.split} example')} of {found.data}"),
        ("loss", f"{measures.loss:.4g}"),
    ]
    if isinstance(measures, Classification):
        rows.append(("accuracy", f"{measures.accuracy:.2%}"))
        if measures.top5_accuracy is not None:
            rows.append(("top 5 accuracy", f"{measures.top5_accuracy:.2%}"))
        rows.append(("calibration error", f"{measures.calibration.error:.4f}"))
        return rows
    if isinstance(measures, Multilabel):
        return [
            *rows,
            ("accuracy", f"{measures.accuracy:.2%} of the labels"),
            ("all labels right", f"{measures.exact:.2%}"),
            ("f1", _share(measures.f1)),
        ]
    return [
        *rows,
        ("mse", f"{measures.mse:.4g}"),
        ("rmse", f"{measures.rmse:.4g}"),
        ("mae", f"{measures.mae:.4g}"),
    ]


def _show_classes(measures: Classification, out: Console) -> None:
    from senn_cli.cli import console
    from senn_cli.report.words import printable

    names = [printable(one.name, out.encoding) for one in measures.classes]
    order = list(range(len(names)))
    many = len(names) > MOST_ROWS
    if many:  # those that are recognised worst
        recalls = [one.recall for one in measures.classes]
        order.sort(key=lambda i: (recalls[i] is None, recalls[i] or 0.0))
    rows = [
        (
            names[i],
            _share(measures.classes[i].precision),
            _share(measures.classes[i].recall),
            measures.classes[i].support,
        )
        for i in order[:MOST_ROWS]
    ]
    out.print(console.table(("class", "precision", "recall", "support"), rows))
    if many:
        out.print(f"the {MOST_ROWS} of {len(names)} classes with the lowest recall; all: --json")
        mistakes = [(names[i], names[j], n) for i, j, n in worst_confusions(measures, MOST_ROWS)]
        out.print(console.table(("class", "taken for", "examples"), mistakes))
    else:
        table = [(name, *row) for name, row in zip(names, measures.confusion, strict=True)]
        out.print(console.table(("true \\ predicted", *names), table))
    bins = [
        (
            f"{one.low:.3f} to {one.high:.3f}",
            one.count,
            _share(one.confidence),
            _share(one.accuracy),
        )
        for one in measures.calibration.bins
        if one.count
    ]
    out.print(console.table(("confidence", "examples", "mean", "accuracy"), bins))


def worst_confusions(measures: Classification, count: int) -> list[tuple[int, int, int]]:
    """The most frequent mistakes: the class, what it was taken for, how often."""
    found = [
        (i, j, n)
        for i, row in enumerate(measures.confusion)
        for j, n in enumerate(row)
        if i != j and n
    ]
    return sorted(found, key=lambda one: -one[2])[:count]


def _show_labels(measures: Multilabel, out: Console) -> None:
    from senn_cli.cli import console
    from senn_cli.report.words import printable

    rows = [
        (
            printable(one.name, out.encoding),
            *map(_share, (one.accuracy, one.precision, one.recall, one.f1)),
            one.support,
        )
        for one in measures.labels
    ]
    out.print(console.table(("label", "accuracy", "precision", "recall", "f1", "support"), rows))


def _show_targets(measures: Regression, out: Console) -> None:
    from senn_cli.cli import console
    from senn_cli.report.words import printable

    rows = [
        (
            printable(one.name, out.encoding),
            *(f"{value:.4g}" for value in (one.mse, one.rmse, one.mae)),
            "-" if one.r2 is None else f"{one.r2:.4f}",
        )
        for one in measures.targets
    ]
    out.print(console.table(("target", "mse", "rmse", "mae", "r2"), rows))


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2%}"
