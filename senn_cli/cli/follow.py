"""Following a run from the command line: progress, summary, and what is said when it ends early."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from senn_cli.cli.quiet import hush_late_ends
from senn_cli.errors import DivergedError, UsageError

if TYPE_CHECKING:
    from senn_cli.spec import Duration
    from senn_cli.training.listener import Listener, Start
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


def follow(action: Callable[[Listener], Run], *, quiet: bool) -> None:
    """Runs `action` under a live view and prints the summary, or with `quiet` the directory.

    The view says its first word before anything is imported that `action` imports: JAX takes
    seconds.

    Raises:
      SennError: as `action` does; a divergence also names the run directory.
    """
    from senn_cli.cli import console
    from senn_cli.cli.live import make_listener
    from senn_cli.cli.summary import print_summary
    from senn_cli.report.words import printable
    from senn_cli.runs.directory import how_to_go_on
    from senn_cli.words import quoted

    view = None if quiet else make_listener(console.stderr())
    watch = _Watch(view)
    watch.phase("import")
    try:
        run = action(watch)
    except DivergedError as error:
        hints = [error.hint, watch.directory and f"run directory: {watch.directory}"]
        raise DivergedError(
            error.message, title=error.title, hint="\n".join(filter(None, hints))
        ) from error
    except KeyboardInterrupt:  # before signals are listened to, or after
        watch.close()
        left = f"; the run so far is in {watch.directory}" if watch.directory else ""
        console.stderr().print(f"Interrupted{printable(left)}", soft_wrap=True)
        raise typer.Exit(130) from None
    finally:
        watch.close()
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


class _Watch:
    """Passes everything on to a view, if there is one, and remembers the run directory.

    Attributes:
      directory: where the run writes; empty as long as nothing is written.
    """

    def __init__(self, view: Listener | None) -> None:
        from senn_cli.training.listener import Silent

        self._view: Listener = view if view is not None else Silent()
        self.directory = ""

    def start(self, start: Start) -> None:
        """Remembers the run directory."""
        hush_late_ends()  # before the first save
        self.directory = start.run_directory
        self._view.start(start)

    def phase(self, name: str, what: str = "") -> None:
        """Passed on."""
        self._view.phase(name, what)

    def step(self, step: int) -> None:
        """Passed on."""
        self._view.step(step)

    def metrics(self, row: Mapping[str, Any]) -> None:
        """Passed on."""
        self._view.metrics(row)

    def round(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Passed on."""
        self._view.round(events)

    def note(self, text: str) -> None:
        """Passed on."""
        self._view.note(text)

    def interrupted(self) -> None:
        """Passed on."""
        self._view.interrupted()

    def end(self, summary: Mapping[str, Any]) -> None:
        """Passed on."""
        self._view.end(summary)

    def close(self) -> None:
        """Passed on."""
        self._view.close()
