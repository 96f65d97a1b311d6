"""Showing a page on the disk in the user's browser."""

from __future__ import annotations

from pathlib import Path


def browse(path: Path) -> None:
    """Opens the file in a browser, or says on standard error that there is none."""
    import webbrowser

    from senn_cli.cli import console

    if not webbrowser.open(path.absolute().as_uri()):
        console.stderr().print("No browser could be opened.")
