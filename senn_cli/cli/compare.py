"""`senn compare`: to come."""

from __future__ import annotations

import typer


def compare() -> None:
    """Compare runs."""
