"""`senn explain`: what an option of a spec means, takes, trades, and where the paper has it."""

from __future__ import annotations

import json
import shutil
from typing import Annotated

import typer

from senn_cli.cli.completion import options
from senn_cli.errors import UsageError


def explain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="[NAME]",
            help="An option or a section by its keys, such as expansion.threshold.",
            autocompletion=options,
        ),
    ] = "",
    kind: Annotated[
        str,
        typer.Option("--kind", metavar="KIND", help="Under this choice alone, such as adam."),
    ] = "",
    everything: Annotated[
        bool, typer.Option("--all", help="Write the reference of all options, as Markdown.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print it as JSON on standard output.")
    ] = False,
) -> None:
    """Explain an option of a spec: what it is, takes and trades, and where the paper has it.

    Without a name all sections are listed.
    """
    from senn_cli.spec.explain import entries, explained
    from senn_cli.spec.reference import as_list, as_markdown, as_text

    if everything and name:
        raise UsageError(f"--all is of all options, and {name} is one", hint="Leave one out.")
    if kind and not name:
        raise UsageError("--kind is of one section, and none is named", hint="Name one, or none.")
    if as_json:
        chosen = [explained(name, kind)] if name else list(entries().values())
        told = [entry.as_dict() for entry in chosen]
        typer.echo(json.dumps(told[0] if name else told, indent=2, ensure_ascii=True))
    elif everything:
        typer.echo(as_markdown(), nl=False)
    elif name:
        typer.echo(as_text(explained(name, kind), _width(), kind), nl=False)
    else:
        typer.echo(as_list(_width()))


def _width() -> int:
    return min(100, max(40, shutil.get_terminal_size((100, 24)).columns))
