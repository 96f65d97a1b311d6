"""What a process of a sweep does: `senn train` and `senn transfer`, one member after another."""

from __future__ import annotations

import sys

from typer.main import get_command

from senn_cli.cli.app import app
from senn_cli.sweep.process import serve


def train_members(descriptor: int) -> None:
    """Trains what a sweep hands out; `sweep/process.py` says how.

    Args:
      descriptor: of a socket to the sweep.
    """
    command = get_command(app)

    def train(words: list[str]) -> int:
        sys.argv[1:] = words  # which runs and their locks name
        try:
            command.main(words, prog_name="senn")
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else int(end.code is not None)
        return 0

    serve(descriptor, train)
