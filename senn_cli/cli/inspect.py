"""`senn inspect`: to come."""

from __future__ import annotations

import typer

app = typer.Typer(help="Show a run's architecture and its history.", invoke_without_command=True)
