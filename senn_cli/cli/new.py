"""`senn new`: a commented spec to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from senn_cli.cli import completion
from senn_cli.errors import UsageError


def new(
    template: Annotated[
        str | None,
        typer.Argument(
            metavar="TEMPLATE", help="The template's name.", autocompletion=completion.templates
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write it to this file, which must not exist yet.",
        ),
    ] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="List the templates, each with what it is for.")
    ] = False,
) -> None:
    """Print a commented spec to start from, or write it to a file."""
    from senn_cli.spec.describe import alternatives, printable, quote
    from senn_cli.spec.suggest import closest
    from senn_cli.spec.template import template_text, templates

    known = templates()
    if show_list:
        width = max(map(len, known))
        for name, purpose in known.items():
            typer.echo(f"{name:<{width}}  {purpose}")
        return
    if template is None:
        raise UsageError(
            f"a template is missing: {alternatives(known)}",
            hint="`senn new --list` says what each is for.",
        )
    if template not in known:
        near = closest(template, known)
        raise UsageError(
            f"there is no template {quote(template)}; the templates are {alternatives(known)}",
            hint=f"Did you mean {near}?" if near else "`senn new --list` says what each is for.",
        )
    text = template_text(template)
    if output is None:
        typer.echo(text, nl=False)
        return
    name = printable(str(output))
    _write(output, text, name)
    typer.echo(f"wrote {name}; edit it, then run `senn validate {name}`")


def _write(path: Path, text: str, name: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(
            f"{name} exists already, and nothing is overwritten",
            hint="Give another file to `-o`, or move this one away.",
        ) from None
    except FileNotFoundError:
        raise UsageError(f"{name}: its directory does not exist") from None
    except OSError as error:
        raise UsageError(f"{name}: can't be written: {error.strerror}") from error
