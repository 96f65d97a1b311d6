"""`senn report`: one self-contained HTML page about runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senn_cli.cli import completion
from senn_cli.cli.named import named
from senn_cli.errors import RunError, UsageError

if TYPE_CHECKING:
    from senn_cli.report.record import Record

_NAME = "report.html"


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="Run directories, or checkpoints in them; a folder stands for the runs in it.",
            autocompletion=completion.runs,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write it, FILE.html; a page that is there is replaced. Without it "
            f"{_NAME} in the run's directory, for several runs in the present one.",
        ),
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open it in a browser, too.")] = False,
) -> None:
    """Write one HTML page about runs, and print its path.

    It is a single file that loads nothing: it opens from the disk, also in another place. It shows
    what was added when and why, losses and accuracy, the scores against the threshold,
    predicted and realised gains, the seconds, every decision, the spec and the environment.
    """
    from datetime import datetime

    from senn_cli.cli import console
    from senn_cli.report.page.assemble import page
    from senn_cli.report.record import read_record
    from senn_cli.report.words import printable

    path = _checked(output)
    records = named(runs, read_record)
    _require_different(records)
    if path is None:
        path = (records[0].path if len(records) == 1 else Path.cwd()) / _NAME
    write_page(path, page(records, datetime.now().astimezone()))
    out = console.stdout()
    out.print(printable(str(path), out.encoding), soft_wrap=True)
    if open_page:
        from senn_cli.cli.browse import browse

        browse(path)


def _checked(path: Path | None) -> Path | None:
    """The file that was named; checked before anything is read."""
    if path is None:
        return None
    if path.is_dir():
        raise UsageError(f"--output {path} is a directory; name a file")
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(
            f"--output {path}: a page's name ends with .html, not with {path.suffix or 'nothing'}",
            hint=f"For example `-o {path.stem or 'report'}.html`.",
        )
    if not path.absolute().parent.is_dir():
        raise UsageError(f"--output {path}: the directory {path.parent} does not exist")
    return path


def _require_different(records: Sequence[Record]) -> None:
    seen = set()
    for record in records:
        if (record.path, record.step) in seen:
            raise UsageError(f"{record.path} is named twice", hint="Name every run once.")
        seen.add((record.path, record.step))


def write_page(path: Path, text: str) -> None:
    """Writes a page; RunError where it cannot be written."""
    from senn_cli.runs.files import write_atomic

    try:
        write_atomic(path, text)
    except OSError as error:
        raise RunError(
            f"{path} cannot be written: {error.strerror or error}",
            hint="Name another place with -o.",
        ) from error
