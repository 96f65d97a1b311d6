"""The specs that come with senn: in the installed package, or in the checkout beside it."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path


def shipped(name: str) -> Path:
    """Where a file of `specs/` is, such as `quickstart.yaml`."""
    package = Path(str(files("senn_cli")))
    installed = package / "specs"
    return (installed if installed.is_dir() else package.parent / "specs") / name


def header(path: Path) -> dict[str, str]:
    """What the comment at the head of a spec says, by its words: `Shows`, `Time` and others.

    A line `# Time:    a minute` begins a text, which goes on in the lines that are indented.
    """
    found: dict[str, str] = {}
    word = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        start = re.match(r"# (\w+): +(.*)", line)
        if start:
            word = start[1]
            found[word] = start[2]
        elif word and line.startswith("#   "):
            found[word] += f" {line[1:].strip()}"
        else:
            word = ""
    return found
