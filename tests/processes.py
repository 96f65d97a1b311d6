"""`senn` in processes of their own: with another environment, or to see what it imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_COMMANDS = """
import json, sys
from senn_cli.cli.app import app
words = iter(sys.argv[1:])
while command := [*iter(lambda: next(words, ";"), ";")]:
    try:
        app(command)
    except SystemExit as ended:
        assert not ended.code, command
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def senn(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """What a command does under these variables of the environment."""
    return python("-m", "senn_cli", *arguments, **environment)


def python(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """What the interpreter does with these arguments and variables of the environment."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
    )


def imported(*commands: Sequence[str | Path], **environment: str) -> tuple[list[str], set[str]]:
    """The lines that these commands print, and all packages that one process imports for them.

    The commands run in turn and must end well without a word on standard error.
    """
    words = (word for command in commands for word in (*command, ";"))
    done = python("-c", _COMMANDS, *words, **environment)
    assert (done.returncode, done.stderr) == (0, b"")
    *lines, modules = done.stdout.decode().splitlines()
    return lines, set(json.loads(modules))
