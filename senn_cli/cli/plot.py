"""`senn plot`: to come."""

from __future__ import annotations

import typer


def plot() -> None:
    """Draw a figure from what runs recorded."""
