"""`senn report`: to come."""

from __future__ import annotations

import typer


def report() -> None:
    """Write one self-contained HTML page about runs."""
