"""What the command line shows: consoles for stdout and stderr, panels and tables.

Nothing is styled unless the stream is a terminal and NO_COLOR is unset, so that a log or a pipe
never gets an escape sequence. There, lines aren't wrapped either: `grep` and editors want whole
ones.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING, Literal, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from senn_cli.errors import SennError

_UNWRAPPED = 1000  # columns where there is no terminal: more than any line needs


def is_terminal(stream: TextIO) -> bool:
    """Whether a person watches the stream."""
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def is_styled(stream: TextIO) -> bool:
    """Whether the stream may get colours and other escape sequences."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def encoding_of(stream: IO[str]) -> str:
    """What the stream can show."""
    # There Python writes UTF-8 all the same, but a terminal would not show it.
    if os.environ.get("LC_ALL") in ("C", "POSIX"):
        return "ascii"
    return getattr(stream, "encoding", None) or "utf-8"


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    terminal = is_terminal(stream)
    styled = is_styled(stream)
    return Console(
        file=stream,
        force_terminal=terminal,
        color_system="auto" if styled else None,
        no_color=not styled,
        highlight=False,
        markup=False,
        emoji=False,
        width=None if terminal else _UNWRAPPED,
    )


def stdout() -> Console:
    """A console on the present standard output; texts are printed as they are, without markup."""
    return _console(sys.stdout)


def stderr() -> Console:
    """A console on the present standard error; texts are printed as they are, without markup."""
    return _console(sys.stderr)


def show_panel(console: Console, title: str, message: str, *, style: str = "none") -> None:
    """Prints a box around a message.

    Args:
      console: where to.
      title: the heading, printed as it is.
      message: one or more lines; what could steer the terminal is replaced.
      style: of the border, such as `red`.
    """
    from rich.panel import Panel
    from rich.text import Text

    from senn_cli.report.words import printable, printable_lines

    body = Text(printable_lines(message, console.encoding), overflow="fold")
    head = Text(printable(title, console.encoding))
    wide = console.is_terminal
    console.print(Panel(body, title=head, title_align="left", border_style=style, expand=wide))


def show_error(error: SennError) -> None:
    """Prints an error as one panel on stderr: what is wrong, then what to do about it."""
    message = error.message if error.hint is None else f"{error.message}\n\n{error.hint}"
    show_panel(stderr(), error.title, message, style="red")


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str = "") -> Table:
    """A plain table, for `Console.print`.

    Args:
      columns: the headings.
      rows: one value a column; numbers stand on the right. In texts, what could steer the terminal
        is replaced.
      title: a heading above all.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from senn_cli.report.words import printable

    listed = [list(row) for row in rows]
    made = Table(box=box.SIMPLE_HEAD, title=Text(title) if title else None, title_justify="left")
    for index, name in enumerate(columns):
        numbers = bool(listed) and all(isinstance(row[index], int | float) for row in listed)
        side: Literal["left", "right"] = "right" if numbers else "left"
        made.add_column(Text(printable(name)), justify=side, overflow="fold")
    for row in listed:
        made.add_row(*(Text(printable(str(value))) for value in row))
    return made


def plain_help() -> None:
    """Makes Typer's own help and usage errors obey the rule above, also where CI forces colours."""
    from typer import rich_utils

    styled = is_styled(sys.stdout) and is_styled(sys.stderr)
    rich_utils.COLOR_SYSTEM = "auto" if styled else None
    rich_utils.FORCE_TERMINAL = None if styled else False
