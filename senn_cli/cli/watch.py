"""`senn watch`: the page about runs, served on this machine while they go on."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from senn_cli.cli import completion
from senn_cli.errors import UsageError


def watch(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN...",
            help="Run directories, or checkpoints in them; a folder stands for the runs in it, "
            "also for those that come later. Without any: runs.",
            autocompletion=completion.runs,
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option(
            "--port", metavar="N", min=0, max=65535, help="The port; by default any free one."
        ),
    ] = 0,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the page in a browser, too.")
    ] = False,
) -> None:
    """Serve the page of `senn report` on this machine, and keep it up to date while runs go on.

    It prints the address and goes on until Ctrl-C. Nobody else can read the page: it is served to
    this machine alone, under an address with a random token.
    """
    from senn_cli.cli.browse import browse
    from senn_cli.report.live.feed import Feed
    from senn_cli.report.live.server import Server

    places = runs or [Path("runs")]
    for place in places:
        if not place.exists():
            raise UsageError(
                f"{place} does not exist",
                hint="Name a run, or a folder that holds runs; `senn runs` lists them.",
            )
    with Server(Feed(places), port) as server, tempfile.TemporaryDirectory() as folder:
        typer.echo(server.address)
        if open_page:
            # By a file: the address on a command line would be seen by all who use this machine.
            page = Path(folder, "senn.html")
            page.touch(mode=0o600)
            refresh = f'<meta http-equiv="refresh" content="0; url={server.address}">'
            page.write_text(f"<!doctype html>{refresh}", encoding="utf-8")
            browse(page)
        server.serve_forever()
