"""The help of commands: paragraphs that fill their lines, and examples at the end."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

from senn_cli.cli.examples import EXAMPLES


def unwrapped(text: str | None) -> str | None:
    """A docstring's paragraphs each in one line, for the terminal to wrap at its own width."""
    if text is None:
        return None
    paragraphs = [paragraph.splitlines() for paragraph in text.split("\n\n")]
    return "\n\n".join(" ".join(line.strip() for line in lines) for lines in paragraphs)


def print_examples(command: str) -> None:
    """Prints the examples of the command of these words in a panel, as Typer prints options."""
    from rich.console import Console
    from rich.panel import Panel
    from rich.text import Text
    from typer import rich_utils

    lines = Text()
    for example, what in EXAMPLES.get(command, ()):
        lines.append(("\n" if lines else "") + example, style="bold cyan")
        lines.append(f"\n    {what}", style="dim")
    if lines:
        console = Console(
            color_system=rich_utils.COLOR_SYSTEM,
            force_terminal=rich_utils.FORCE_TERMINAL,
            width=rich_utils.MAX_WIDTH,
        )
        console.print(
            Panel(
                lines,
                title="Examples",
                title_align="left",
                border_style=rich_utils.STYLE_OPTIONS_PANEL_BORDER,
            )
        )


class _Helpful:
    """What commands and groups of them have in common; before the class of Typer."""

    help: str | None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.help = unwrapped(self.help)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes the help, then the examples."""
        super().format_help(ctx, formatter)  # type: ignore[misc]
        print_examples(ctx.command_path.partition(" ")[2])


class Verb(_Helpful, TyperCommand):
    """A command."""


class Verbs(_Helpful, TyperGroup):
    """A group of commands."""
