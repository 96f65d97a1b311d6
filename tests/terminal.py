"""Commands on a terminal of their own."""

from __future__ import annotations

import errno
import os
import pty
import subprocess
import sys
from pathlib import Path


def on_terminal(*arguments: str | Path, **environment: str) -> str:
    """What `senn` with these arguments writes to a terminal; it must end well."""
    leader, follower = pty.openpty()
    # Whatever the surroundings say of colours, as CI does.
    plain = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    child = subprocess.Popen(
        [sys.executable, "-m", "senn_cli", *map(str, arguments)],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=plain | {"TERM": "xterm"} | environment,
    )
    os.close(follower)
    chunks = []
    while True:
        try:
            chunk = os.read(leader, 65536)
        except OSError as error:  # Linux says so when the other side has closed
            assert error.errno == errno.EIO
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(leader)
    assert child.wait() == 0
    return b"".join(chunks).decode().replace("\r\n", "\n")
