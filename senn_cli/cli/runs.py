"""`senn runs`: the runs in a directory as a table."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from senn_cli.errors import UsageError

if TYPE_CHECKING:
    from senn_cli.cli.inspection.columns import Column
    from senn_cli.cli.inspection.screen import Line, Screen, Style
    from senn_cli.report.listing import Listed

LONGEST = 20
"""Letters that the widths of hidden layers may take in a table."""

_LEAST_PATH = 24  # letters of a directory, however narrow the terminal


class _Status(StrEnum):
    RUNNING = "running"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    DIVERGED = "diverged"
    DAMAGED = "damaged"


class _Sort(StrEnum):
    STARTED = "started"
    NAME = "name"
    STATUS = "status"
    STEPS = "steps"
    PARAMETERS = "parameters"
    RESULT = "result"
    SECONDS = "seconds"


def runs(
    context: typer.Context,
    root: Annotated[
        Path,
        typer.Argument(metavar="ROOT", envvar="SENN_RUNS", help="The directory that holds them."),
    ] = Path("runs"),
    status: Annotated[
        list[_Status] | None,
        typer.Option(
            "--status",
            metavar="STATUS",
            help=f"Only runs that are {', '.join(_Status)}. Can be repeated.",
        ),
    ] = None,
    sort: Annotated[
        _Sort,
        typer.Option(
            "--sort",
            metavar="KEY",
            help=f"By {', '.join(_Sort)}: the newest, largest or best first.",
        ),
    ] = _Sort.STARTED,
    reverse: Annotated[bool, typer.Option("--reverse", "-r", help="The other way round.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print strict JSON.")] = False,
) -> None:
    """List the runs in ROOT and in the folders in it, the newest first.

    The result is that of the test part; before the end, the last of the validation part (`val.`).
    What is wrong with a damaged run is told on standard error.
    """
    from senn_cli.report.listing import document, list_runs, ordered

    if root.exists() and not root.is_dir():
        raise UsageError(f"{root} is not a directory", hint="Name one that holds runs.")
    if not root.exists() and _is_named(context):
        raise UsageError(
            f"{root} does not exist",
            hint="Name the directory that holds the runs, or leave it out.",
        )
    every = list_runs(root) if root.exists() else []
    wanted = {str(one) for one in status or ()}
    rows = ordered(
        [row for row in every if not wanted or row.status in wanted], sort, reverse=reverse
    )
    if as_json:
        print_json(document(root, rows))
    elif rows:
        _show(rows)
    for text in [row.problem for row in rows if row.problem]:
        say(text)
    if not every:
        _say_how_to_start(root)
    elif not rows:
        say(f"No run in {root} is {' or '.join(sorted(wanted))}, of {len(every):,}.")


def _is_named(context: typer.Context) -> bool:
    """Whether ROOT stands on the command line; a default need not exist before the first run."""
    source = context.get_parameter_source("root")
    return source is not None and source.name == "COMMANDLINE"


def _say_how_to_start(root: Path) -> None:
    where = f"There are no runs in {root}" if root.exists() else f"{root} does not exist yet"
    say(f"{where}. `senn train SPEC` starts one, `senn new --list` shows specs to begin with.")
    say("For another place: `senn runs ROOT`, or the environment variable SENN_RUNS.")


def _show(rows: Sequence[Listed]) -> None:
    from senn_cli.cli.inspection.screen import Screen, write

    screen = Screen.of(sys.stdout)
    write(listing(rows, screen), screen)


def listing(rows: Sequence[Listed], screen: Screen) -> list[Line]:
    """The table of runs; where room is short, what can be looked up elsewhere is left out."""
    from senn_cli.cli.inspection.columns import lay_out

    return lay_out(columns(rows, screen), screen, styles(rows))


def columns(rows: Sequence[Listed], screen: Screen) -> list[Column]:
    """The columns of the table."""
    from senn_cli.cli.inspection.columns import Column

    status = Column("status", [row.status for row in rows])
    result = Column("result", [_result(row) for row in rows], True)
    # The name is needed for other commands: it has what those two leave.
    room = max(_LEAST_PATH, screen.width - status.width - result.width - 2)
    return [
        Column("run", [shortened(screen.text(r.directory), room, screen) for r in rows]),
        status,
        result,
        Column("hidden", [sizes(row.hidden) for row in rows], False, 1),
        Column("steps", [_steps(row) for row in rows], True, 3),
        Column("parameters", [count(row.parameters) for row in rows], True, 5),
        Column("time", [_spent(row) for row in rows], True, 4),
        Column("started", [_moment(row.started) for row in rows], False, 2),
        Column("name", [screen.text(_name(row)) for row in rows], False, 6),
    ]


def styles(rows: Sequence[Listed]) -> list[Style]:
    """How the rows look."""
    known: dict[str, Style] = {"running": "green", "diverged": "yellow", "damaged": "yellow"}
    return [known.get(row.status, "") for row in rows]


def sizes(hidden: Sequence[int] | None) -> str:
    """Widths of the hidden layers in few letters."""
    from senn_cli.report.words import widths

    if hidden is None:
        return ""
    text = widths(hidden)
    return text if len(text) <= LONGEST else f"{sum(hidden):,} in {len(hidden)} layers"


def shortened(text: str, room: int, screen: Screen) -> str:
    """`text` without its middle, where it has more than `room` letters."""
    if len(text) <= room:
        return text
    gap = screen.glyphs.gap
    head = (room - len(gap)) // 2
    return text[:head] + gap + text[len(text) - (room - len(gap) - head) :]


def count(value: int | None) -> str:
    """A whole number, thousands apart; nothing for None."""
    return "" if value is None else f"{value:,}"


def say(text: str) -> None:
    """Chatter goes to standard error."""
    from senn_cli.cli import console

    to = console.stderr()
    to.print("\n".join(_printable(line, to.encoding) for line in text.splitlines()))


def print_json(value: Any) -> None:
    """Prints JSON as RFC 8259 has it: numbers that are not finite become null."""
    from senn_cli.runs.jsonl import to_json

    typer.echo(json.dumps(to_json(value), indent=2, ensure_ascii=True, allow_nan=False))


def _printable(text: str, encoding: str) -> str:
    from senn_cli.report.words import printable

    return printable(text, encoding)


def _result(row: Listed) -> str:
    if row.figure is None:
        return ""
    if row.value is None:
        text = "not finite"
    else:
        text = f"{row.value:.2%}" if row.figure == "accuracy" else f"mse {row.value:.3g}"
    return text if row.part == "test" else f"{text} val."


def _steps(row: Listed) -> str:
    if row.steps is None or row.total_steps is None or row.steps == row.total_steps:
        return count(row.steps)
    return f"{row.steps:,}/{row.total_steps:,}"


def _spent(row: Listed) -> str:
    from senn_cli.report.words import duration

    return "" if row.seconds is None else duration(row.seconds)


def _name(row: Listed) -> str:
    """The spec's name, where the directory does not begin with it."""
    from senn_cli.runs.names import slug

    name = row.name or ""
    return "" if row.path.name.startswith(slug(name)) else name


def _moment(started: str | None) -> str:
    """A time in the zone of this machine, or as it is written."""
    from datetime import datetime

    if started is None:
        return ""
    try:
        return f"{datetime.fromisoformat(started).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError):
        return ""
