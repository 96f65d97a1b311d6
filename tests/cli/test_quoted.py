"""Every command and flag that a message, a help text or a template quotes exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

import senn_cli.cli
from senn_cli.cli.app import app

PACKAGE = Path(senn_cli.cli.__file__).parents[1]
QUOTED = re.compile(r"`(senn(?: [^`]*)?|--?[a-z][^`]*)`")
IN_A_LINE = re.compile(r"\bsenn ((?:[a-z]+)(?: [^`#]*)?)$")
FLAG = re.compile(r"(?<![\w-])--?[a-z][\w-]*")


def commands(command: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], set[str]]:
    """The flags of each command, by its words."""
    flags = {"--help", "-h"}
    for parameter in command.params:
        flags |= {*parameter.opts, *parameter.secondary_opts}
    found = {path: flags}
    for name, inner in getattr(command, "commands", {}).items():
        found |= commands(inner, (*path, name))
    return found


def texts(source: str) -> Iterator[str]:
    """All texts in a module, what is put into them replaced by X."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    formatted = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    inside = {id(part) for node in formatted for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "X" for part in node.values]
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and type(node.value) is str and id(node) not in inside:
            yield node.value


def quotes() -> list[tuple[str, str]]:
    """What is quoted, each with the file it stands in."""
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        name = str(file.relative_to(PACKAGE))
        for text in texts(file.read_text(encoding="utf-8")):
            found += [(name, " ".join(quote.split())) for quote in QUOTED.findall(text)]
    for file in sorted(PACKAGE.rglob("templates/*.yaml")):
        for line in file.read_text(encoding="utf-8").splitlines():
            comment = line.partition("#")[2]
            found += [(file.name, quote) for quote in QUOTED.findall(comment)]
            if "`" not in comment and (match := IN_A_LINE.search(comment)):
                found.append((file.name, f"senn {match[1]}"))
    return found


def wrong(quote: str, known: dict[tuple[str, ...], set[str]]) -> str | None:
    """What does not exist in a quoted command or flag, or None."""
    if not quote.startswith("senn"):
        flag = quote.split("=")[0].split()[0]
        return None if any(flag in flags for flags in known.values()) else flag
    words = quote.split()[1:]
    path: tuple[str, ...] = ()
    while words and (*path, words[0]) in known:
        path = (*path, words.pop(0))
    group = any(len(other) == len(path) + 1 and other[: len(path)] == path for other in known)
    if group and words and re.fullmatch(r"[a-z]+", words[0]):
        return " ".join((*path, words[0]))
    for flag in FLAG.findall(" ".join(words)):
        if flag not in known[path]:
            return flag
    return None


def test_what_is_quoted_exists() -> None:
    known = commands(typer.main.get_command(app))
    found = quotes()
    assert len(found) > 10
    assert any(name.endswith(".yaml") for name, _ in found)
    missing = [
        f"{name}: `{quote}`: no {what}" for name, quote in found if (what := wrong(quote, known))
    ]
    assert missing == []


def test_the_check_itself() -> None:
    known = {
        (): {"--version"},
        ("new",): {"--list", "-o"},
        ("data",): set(),
        ("data", "list"): set(),
    }
    right = ["senn", "senn new X -o FILE", "senn new --list", "senn data list", "--list", "senn X"]
    assert [quote for quote in right if wrong(quote, known) is not None] == []
    assert wrong("senn newer", known) == "newer"
    assert wrong("senn data lost", known) == "data lost"
    assert wrong("senn new --lists", known) == "--lists"
    assert wrong("--verbose=3", known) == "--verbose"
