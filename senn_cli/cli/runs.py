"""`senn runs`: to come."""

from __future__ import annotations

import typer


def runs() -> None:
    """List runs."""
