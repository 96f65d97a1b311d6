"""`senn inspect`: a run's architecture, how it came about, and whether the score told the truth."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from senn_cli.cli import completion
from senn_cli.cli.help import Verbs

if TYPE_CHECKING:
    from senn_cli.report.record import Record

DEFAULT = "overview"
_T = TypeVar("_T")


class _Inspect(Verbs):
    """Takes what is no subcommand for the run whose overview is wanted."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts the subcommand's name in front where it was left out."""
        if args and args[0] not in (*self.commands, "--help", "-h") and not self._misspelt(args):
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Subcommands, and runs, whose overview is wanted."""
        found: list[Any] = super().shell_complete(ctx, incomplete)
        overview = self.commands[DEFAULT]
        return [*found, *overview.params[0].shell_complete(ctx, incomplete)]

    def _misspelt(self, args: list[str]) -> bool:
        """`histroy RUN`: Typer then says which subcommand was meant."""
        two = len(args) > 1 and not any(text.startswith("-") for text in args[:2])
        return two and not Path(args[0]).exists()


app = typer.Typer(
    cls=_Inspect,
    help="Show a run: its architecture, its history and the score's audit.\n\n"
    "`senn inspect RUN` is the overview. RUN is a run directory, one of its checkpoints "
    "(RUN/checkpoints/STEP) or RUN/weights; one that is called like a subcommand is ./history.",
    no_args_is_help=True,
    subcommand_metavar="[overview|architecture|history] RUN",
)

RunArgument = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        help="A run directory, or a checkpoint in one.",
        autocompletion=completion.runs,
    ),
]
StepOption = Annotated[
    int | None,
    typer.Option(
        "--step", metavar="N", min=0, help="As of step N, by its checkpoint or else by the history."
    ),
]
RejectedOption = Annotated[
    bool, typer.Option("--rejected", help="Decisions against growth too, with all reasons.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print strict JSON.")]
FollowOption = Annotated[
    bool, typer.Option("--follow", "-f", help="Show what comes until the run ends.")
]


@app.command(DEFAULT)
def overview(
    run: RunArgument,
    step: StepOption = None,
    rejected: RejectedOption = False,
    as_json: JsonOption = False,
    follow: FollowOption = False,
) -> None:
    """Show everything at a glance (the default)."""
    _require_sense(run, step, as_json, follow)
    if as_json:
        from senn_cli.report.overview import document

        _show_json(run, step, lambda record: document(record, rejected=rejected))
        return
    from senn_cli.cli.inspection import pages

    _show(run, step, follow, lambda *to: pages.overview(*to, rejected=rejected), rejected)


@app.command()
def history(
    run: RunArgument,
    step: StepOption = None,
    rejected: RejectedOption = False,
    as_json: JsonOption = False,
    follow: FollowOption = False,
) -> None:
    """Show every edit in a row: score against threshold, predicted and realised gain."""
    _require_sense(run, step, as_json, follow)
    if as_json:
        from senn_cli.report.overview import history_document

        _show_json(run, step, lambda record: history_document(record, rejected=rejected))
        return
    from senn_cli.cli.inspection import pages

    _show(run, step, follow, lambda *to: pages.history(*to, rejected=rejected), rejected)


@app.command()
def architecture(run: RunArgument, step: StepOption = None, as_json: JsonOption = False) -> None:
    """Show the sites of the network: widths, capacities, parameters."""
    if as_json:
        from senn_cli.report.overview import architecture_document

        _show_json(run, step, architecture_document)
        return
    from senn_cli.cli.inspection import pages

    _show(run, step, False, pages.architecture)


def _require_sense(run: Path, step: int | None, as_json: bool, follow: bool) -> None:
    """UsageError where options exclude each other."""
    from senn_cli.errors import UsageError
    from senn_cli.report.record import run_of

    if follow and (as_json or step is not None or run_of(run)[1] is not None):
        raise UsageError(
            "--follow goes with neither --json, nor --step, nor a checkpoint",
            hint="Name the run directory, and nothing but --rejected beside --follow.",
        )


def _show(
    run: Path, step: int | None, follow: bool, page: Callable[..., Any], rejected: bool = False
) -> None:
    """Writes the lines that `page` makes of the run's record and the screen."""
    import sys

    from senn_cli.cli.inspection import pages
    from senn_cli.cli.inspection.follow import follow as follow_run
    from senn_cli.cli.inspection.screen import Line, Screen, write
    from senn_cli.report.record import read_record, run_of

    def lines(record: Record, screen: Screen) -> list[Line]:
        found: list[Line] = _sound(record, lambda: page(record, screen))
        return found

    def live(record: Record, screen: Screen) -> list[Line]:
        return _sound(record, lambda: pages.live(record, screen, rejected=rejected))

    if follow:
        follow_run(run_of(run)[0], lines, live, rejected=rejected)
    else:
        with _no_collection():
            screen = Screen.of(sys.stdout)
            write(lines(read_record(run, step), screen), screen)


def _show_json(run: Path, step: int | None, document: Callable[[Record], dict[str, Any]]) -> None:
    from senn_cli.report.record import read_record

    with _no_collection():
        record = read_record(run, step)
        _print_json(_sound(record, lambda: document(record)))


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Python looks for no cycles, a tenth of the time with ten thousand rows; there are none."""
    import gc

    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _sound(record: Record, action: Callable[[], _T]) -> _T:
    """What `action` makes of a record; a line that lacks what it should have is an error."""
    from senn_cli.errors import RunError

    try:
        return action()
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise RunError(
            f"a line of {record.path / 'history.jsonl'} or metrics.jsonl is not as senn writes "
            f"it: {type(error).__name__}: {error}"
        ) from error


def _print_json(document: dict[str, Any]) -> None:
    """Prints a document with a line for every item of a list of objects."""
    parts = []
    for key, value in document.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            items = ",\n    ".join(map(_strict, value))
            parts.append(f'"{key}": [\n    {items}\n  ]')
        else:
            parts.append(f'"{key}": {_strict(value)}')
    typer.echo("{\n  " + ",\n  ".join(parts) + "\n}")


def _strict(value: Any) -> str:
    """JSON as RFC 8259 has it: numbers that are not finite become null."""
    import json

    from senn_cli.runs.jsonl import to_json

    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(to_json(value), allow_nan=False)
