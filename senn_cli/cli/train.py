"""`senn train`: a spec in, a grown network out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from senn_cli.cli.validate import SetOption
from senn_cli.errors import DivergedError, UsageError

if TYPE_CHECKING:
    from senn_cli.spec import Spec
    from senn_cli.training.listener import Listener, Start


def train(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="The spec file.")],
    overrides: SetOption = None,
    run_dir: Annotated[
        Path | None,
        typer.Option(
            "--run-dir",
            metavar="DIR",
            help="Write the run into DIR, which must be new or empty, instead of making a "
            "directory of its own in the runs root.",
        ),
    ] = None,
    runs_root: Annotated[
        Path,
        typer.Option(
            "--runs-root",
            metavar="DIR",
            envvar="SENN_RUNS",
            help="Where run directories are made.",
        ),
    ] = Path("runs"),
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Short for `--set seed=N`.")
    ] = None,
    print_spec: Annotated[
        bool,
        typer.Option(
            "--print-spec",
            help="Print the spec with every default, which can be run again, and stop.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Load the data, print layers, steps and memory, and stop; nothing is written.",
        ),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", help="Show no progress and no summary; print the run directory alone."
        ),
    ] = False,
) -> None:
    """Train a network that grows as SPEC describes, and leave a run directory.

    Progress goes to standard error, the summary to standard output.
    The exit code is 3 if the run diverges and 130 after Ctrl-C.
    """
    from senn_cli.spec import load_spec

    if print_spec and dry_run:
        raise UsageError("--print-spec and --dry-run exclude each other")
    seeds = [] if seed is None else [f"seed={seed}"]
    loaded = load_spec(spec, [*(overrides or ()), *seeds])
    if print_spec:
        _print_spec(loaded)
    elif dry_run:
        _print_plan(loaded)
    else:
        _train(loaded, runs_root, run_dir, quiet=quiet)


def _print_spec(spec: Spec) -> None:
    from senn_cli.spec import dump_spec

    # As UTF-8 whatever the terminal: a file that it is directed to is a spec.
    _write(dump_spec(spec).encode("utf-8"))


def _write(content: bytes) -> None:
    stdout = typer.get_binary_stream("stdout")
    stdout.write(content)
    stdout.flush()


def _print_plan(spec: Spec) -> None:
    from senn_cli.cli import console
    from senn_cli.cli.plan import print_plan
    from senn_cli.data.registry import load_dataset
    from senn_cli.training.plan import make_plan

    dataset = load_dataset(spec.data, spec.seed)
    print_plan(spec, make_plan(spec, dataset), console.stdout())


def _train(spec: Spec, root: Path, run_directory: Path | None, *, quiet: bool) -> None:
    from senn_cli.cli import console
    from senn_cli.cli.live import make_listener
    from senn_cli.cli.summary import print_summary
    from senn_cli.cli.words import printable
    from senn_cli.training.run import train_run

    view = None if quiet else make_listener(console.stderr())
    watch = _Watch(view)
    try:
        run = train_run(spec, root=root, run_directory=run_directory, listener=watch)
    except DivergedError as error:
        hints = [error.hint, watch.directory and f"run directory: {watch.directory}"]
        raise DivergedError(
            error.message, title=error.title, hint="\n".join(filter(None, hints))
        ) from error
    except KeyboardInterrupt:
        if view is not None:
            view.close()
        left = f"; the run so far is in {watch.directory}" if watch.directory else ""
        console.stderr().print(f"Interrupted{printable(left)}", soft_wrap=True)
        raise typer.Exit(130) from None
    finally:
        if view is not None:
            view.close()
    if quiet:
        _write(os.fsencode(run.path) + b"\n")
    else:
        print_summary(run.summary, console.stdout())


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
        self.directory = start.run_directory
        self._view.start(start)

    def phase(self, name: str) -> None:
        """Passed on."""
        self._view.phase(name)

    def metrics(self, row: Mapping[str, Any]) -> None:
        """Passed on."""
        self._view.metrics(row)

    def event(self, event: Mapping[str, Any]) -> None:
        """Passed on."""
        self._view.event(event)

    def end(self, summary: Mapping[str, Any]) -> None:
        """Passed on."""
        self._view.end(summary)
