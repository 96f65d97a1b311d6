"""Following a run from the command line: progress, summary, and what is said when it ends early."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from senn_cli.cli.quiet import hush_late_ends
from senn_cli.errors import DivergedError, UsageError
from senn_cli.training.observer import Observer, Observers, Start

if TYPE_CHECKING:
    from senn_cli.spec import Duration
    from senn_cli.training.run import Run

UntilOption = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="DURATION",
        help="Stop there with a checkpoint, before the end: `10 epochs` or `300 steps`, counted "
        "from the beginning of the run.",
    ),
]
QuietOption = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="Show no progress and no summary; print the run directory alone."
    ),
]


def until_of(text: str | None) -> Duration | None:
    """The duration that `--until` names.

    Raises:
      UsageError: it names none, or one in minutes.
    """
    if text is None:
        return None
    from pydantic import ValidationError

    from senn_cli.spec import Duration

    try:
        found = Duration.model_validate(text)
    except ValidationError:
        found = None
    if found is None or found.minutes is not None:
        raise UsageError(
            f"--until should be a number of steps or epochs, such as `10 epochs`, found {text!r}"
        )
    return found


def write(content: bytes) -> None:
    """Writes bytes to standard output as they are."""
    stdout = typer.get_binary_stream("stdout")
    stdout.write(content)
    stdout.flush()


def follow(action: Callable[[Observer], Run], *, quiet: bool, silent: bool = False) -> None:
    """Runs `action` under a live view and prints the summary, or with `quiet` the directory.

    The view says its first word before anything is imported that `action` imports: JAX takes
    seconds.

    Raises:
      SennError: as `action` does; a divergence also names the run directory.
    """
    from senn_cli.cli import console
    from senn_cli.cli.live import make_view
    from senn_cli.cli.summary import print_summary
    from senn_cli.report.words import printable
    from senn_cli.runs.directory import how_to_go_on
    from senn_cli.words import quoted

    place = _Place()
    watch = Observers([place] if quiet or silent else [place, make_view(console.stderr())])
    watch.phase("import")
    try:
        run = action(watch)
    except DivergedError as error:
        hints = [error.hint, place.directory and f"run directory: {place.directory}"]
        raise DivergedError(
            error.message, title=error.title, hint="\n".join(filter(None, hints))
        ) from error
    except KeyboardInterrupt:  # before signals are listened to, or after
        watch.close()
        left = f"; the run so far is in {place.directory}" if place.directory else ""
        console.stderr().print(f"Interrupted{printable(left)}", soft_wrap=True)
        raise typer.Exit(130) from None
    finally:
        watch.close()
    if silent:  # another process tells of the run
        return
    if quiet:
        write(os.fsencode(run.path) + b"\n")
        return
    if run.summary["status"] == "finished":
        print_summary(run.summary, console.stdout())
        for verb in ("inspect", "report"):
            watch.note(f"next: senn {verb} {quoted(run.path)}")
    else:
        to = console.stdout()
        text = f"Stopped at step {run.summary['steps']}. {how_to_go_on(run.path)}"
        to.print(printable(text, to.encoding), soft_wrap=True)


class _Place(Observer):
    """Remembers where the run writes.

    Attributes:
      directory: the run directory; empty as long as nothing is written.
    """

    directory = ""

    def start(self, start: Start) -> None:
        """Remembers it."""
        hush_late_ends()  # before the first save
        self.directory = start.run_directory
