"""`senn schema`: the JSON schema of specs, for editors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from senn_cli.errors import UsageError


def schema(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write it to this file."),
    ] = None,
) -> None:
    """Print the JSON schema of specs, from which editors complete and check them.

    An editor finds it through the first line of a spec:
    # yaml-language-server: $schema=spec.schema.json
    """
    from senn_cli.spec import json_schema
    from senn_cli.spec.describe import printable

    text = json.dumps(json_schema(), indent=2) + "\n"
    if output is None:
        typer.echo(text, nl=False)
        return
    name = printable(str(output))
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{name}: can't be written: {error.strerror}") from error
    typer.echo(f"wrote {name}")
