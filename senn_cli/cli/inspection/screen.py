"""Where `senn inspect` writes: how wide it is, and which letters and styles it has."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TextIO

import typer

from senn_cli.cli.console import encoding_of, is_styled, is_terminal
from senn_cli.report.spark import ASCII, BLOCKS
from senn_cli.report.words import printable

Style = Literal["", "bold", "dim", "green", "yellow"]
Line = tuple[str, Style]
"""A line and how it is styled as a whole."""

UNWRAPPED = 1000
"""Columns where there is no terminal: more than any line needs."""


@dataclass(frozen=True)
class Glyphs:
    """Signs that not every terminal has."""

    score: str
    ratio: str
    tau: str
    arrow: str
    levels: str
    gap: str


FULL = Glyphs("η", "Δη/η", "τ", "→", BLOCKS, "…")
PLAIN = Glyphs("score", "ratio", "tau", "->", ASCII, "...")


@dataclass(frozen=True)
class Screen:
    """A terminal, a file or a pipe.

    Attributes:
      width: columns.
      encoding: what can be written to it.
      styled: whether it may get escape sequences.
      terminal: whether a person watches it.
      height: lines of a terminal.
    """

    width: int
    encoding: str
    styled: bool = False
    terminal: bool = False
    height: int = 24

    @classmethod
    def of(cls, stream: TextIO) -> Screen:
        """The screen behind `stream`, as it is at this moment."""
        terminal = is_terminal(stream)
        size = shutil.get_terminal_size()
        width = max(20, size.columns) if terminal else UNWRAPPED
        return cls(width, encoding_of(stream), is_styled(stream), terminal, size.lines)

    @property
    def glyphs(self) -> Glyphs:
        """The signs that the encoding has."""
        try:
            "".join(vars(FULL).values()).encode(self.encoding)
        except (UnicodeEncodeError, LookupError):
            return PLAIN
        return FULL

    def text(self, text: str) -> str:
        """`text` in one line that the screen can show."""
        if text.isascii() and text.isprintable():
            return text
        return printable(text, self.encoding)


def write(lines: Iterable[Line], screen: Screen) -> None:
    """Writes lines to standard output at once; thousands of them take no time."""
    parts = []
    for text, style in lines:
        text = screen.text(text.rstrip())
        parts.append(_styled(text, style) if screen.styled and style and text else text)
    if parts:
        # As bytes of the stream's encoding: what it lacks is escaped already.
        sys.stdout.write("\n".join(parts) + "\n")
        sys.stdout.flush()


def _styled(text: str, style: Style) -> str:
    if style in ("green", "yellow"):
        return typer.style(text, fg=style)
    return typer.style(text, bold=style == "bold" or None, dim=style == "dim" or None)
