"""The command `senn`: one verb a file, and every error that a user can cause shown as a panel."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from senn_cli.cli import (
    bench,
    compare,
    console,
    data,
    demo,
    doctor,
    evaluate,
    explain,
    export,
    import_,
    inspect,
    launch,
    new,
    plot,
    predict,
    report,
    reproduce,
    resume,
    runs,
    schema,
    sweep,
    train,
    transfer,
    validate,
    watch,
)
from senn_cli.cli.help import Verb, Verbs
from senn_cli.errors import OutputError, SennError, UsageError
from senn_cli.report.words import printable_lines


@contextmanager
def _printable_usage() -> Iterator[None]:
    """Typer's own errors quote the command line: what could steer the terminal is replaced."""
    try:
        yield
    except Exception as error:
        # Their class has no public name.
        if hasattr(error, "format_message") and isinstance(getattr(error, "message", None), str):
            error.message = printable_lines(error.message)  # type: ignore[attr-defined]
        raise


def _unnameable(error: UnicodeEncodeError) -> UsageError:
    """A path with letters that the locale's encoding lacks."""
    return UsageError(
        f"{error.object} cannot be named in this locale, whose encoding is {error.encoding}",
        hint="Set the environment variable PYTHONUTF8=1, or LC_ALL=C.UTF-8.",
    )


class _Group(Verbs):
    """Turns errors into a panel and an exit code, for `senn` as for tests that call the app."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Parses the arguments and runs the command."""
        console.plain_help()
        try:
            try:
                return super().main(*args, **kwargs)
            finally:
                if sys.stdout is not None:
                    sys.stdout.flush()  # what cannot be written is an error while we can tell it
        except OutputError as error:
            if not error.gone:
                console.show_error(error)
            sys.exit(error.exit_code)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parses the arguments before the verb."""
        with _printable_usage():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Runs the command."""
        try:
            with _printable_usage():
                return super().invoke(ctx)
        except OutputError:
            raise
        except SennError as error:
            console.show_error(error)
            raise typer.Exit(error.exit_code) from error
        except UnicodeEncodeError as error:
            # A path that a file of UTF-8 names, where paths are not UTF-8. Elsewhere it is a bug.
            if error.encoding != sys.getfilesystemencoding() or error.encoding == "utf-8":
                raise
            console.show_error(_unnameable(error))
            raise typer.Exit(UsageError.exit_code) from error
        except KeyboardInterrupt:
            console.stderr().print("Interrupted.")
            raise typer.Exit(130) from None


app = typer.Typer(
    name="senn",
    cls=_Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# The verbs, in the order of the help. Their modules import no JAX; their bodies may.
for _name, _verb in (
    ("demo", demo.demo),
    ("train", train.train),
    ("resume", resume.resume),
    ("sweep", sweep.sweep),
    ("reproduce", reproduce.reproduce),
    ("transfer", transfer.transfer),
    ("launch", launch.launch),
    ("runs", runs.runs),
    ("compare", compare.compare),
    ("report", report.report),
    ("watch", watch.watch),
    ("plot", plot.plot),
    ("evaluate", evaluate.evaluate),
    ("predict", predict.predict),
    ("export", export.export),
    ("import", import_.import_),
    ("new", new.new),
    ("validate", validate.validate),
    ("explain", explain.explain),
    ("schema", schema.schema),
    ("bench", bench.bench),
    ("doctor", doctor.doctor),
):
    app.command(_name, cls=Verb)(_verb)
for _name, _verbs in (("inspect", inspect.app), ("data", data.app)):
    for _command in _verbs.registered_commands:
        _command.cls = Verb
    app.add_typer(_verbs, name=_name)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            found = version("senn-cli")
        except PackageNotFoundError:
            found = "(not installed)"
        typer.echo(f"senn {found}")
        raise typer.Exit


@app.callback()
def _senn(
    _show_version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Train neural networks that grow: a YAML spec in, a grown network out."""


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    try:
        app(prog_name="senn")
    except KeyboardInterrupt:  # before or after the command itself
        sys.exit(130)
