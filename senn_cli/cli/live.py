"""What a person sees of a running training: a live view on a terminal, plain lines elsewhere.

Everything goes to the console that is given (standard error, so that standard output stays free
for results). The live view is three or four lines that are redrawn in place; growth events are
printed above it and stay. A log gets one dated line now and then, without any control sequence.
"""

from __future__ import annotations

import datetime
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.segment import Segment
from rich.text import Text

from senn_cli.cli.words import duration, growth, measures, printable, widths
from senn_cli.training.listener import Listener, Start

PLAIN_INTERVAL = 10.0
"""Least number of seconds between two lines of metrics in a log."""


class View(Listener, Protocol):
    """A listener that occupies a terminal until it is closed."""

    def close(self) -> None:
        """Gives the terminal back; harmless when repeated. To be called on errors too."""


def make_listener(console: Console) -> View:
    """The view that suits `console`: `Terminal` where it can redraw lines, else `Plain`."""
    # Asking the file too: FORCE_COLOR has rich take every file for a terminal, a log included.
    isatty = getattr(console.file, "isatty", None)
    if console.is_interactive and not console.is_dumb_terminal and isatty and isatty():
        return Terminal(console)
    return Plain(console)


class Terminal:
    """The live view.

    Args:
      console: a terminal.
      clock: seconds that only ever increase.
      refresh: redraws a second; 0 redraws on news alone.
    """

    def __init__(
        self,
        console: Console,
        *,
        clock: Callable[[], float] = time.monotonic,
        refresh: float = 4.0,
    ) -> None:
        self._console = console
        self._clock = clock
        self._began = clock()
        self._start: Start | None = None
        self._row: Mapping[str, Any] = {}
        self._phase = ""
        # `transient`: nothing of the view stays, since the summary follows it.
        self._live = Live(
            self,
            console=console,
            auto_refresh=refresh > 0,
            refresh_per_second=refresh or 1.0,
            transient=True,
            # What others print to a piped standard output is theirs, not the terminal's.
            redirect_stdout=sys.stdout.isatty(),
        )

    def start(self, start: Start) -> None:
        """Shows the heading and starts redrawing."""
        self._began = self._clock()
        self._start = start
        self._row = {"step": start.step, "hidden": start.hidden}
        for line in opening(start):
            self._print(line, style="bold")
        self._live.start(refresh=True)

    def phase(self, name: str) -> None:
        """Shows what the loop is doing."""
        self._phase = name
        self._refresh()

    def metrics(self, row: Mapping[str, Any]) -> None:
        """Shows the newest numbers; what a row does not tell stays as it was."""
        news = {key: value for key, value in row.items() if value is not None}
        self._row = {**self._row, **news}
        self._refresh()

    def event(self, event: Mapping[str, Any]) -> None:
        """Prints an accepted growth event above the view."""
        if event.get("accepted"):
            self._print(growth(event), style="green")
            if event.get("hidden") is not None:
                self._row = {**self._row, "hidden": event["hidden"]}

    def note(self, text: str) -> None:
        """Prints a sentence above the view."""
        self._print(text, style="yellow")

    def end(self, summary: Mapping[str, Any]) -> None:
        """Removes the view; the summary is printed elsewhere."""
        self.close()

    def close(self) -> None:
        """Removes the view."""
        self._live.stop()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draws the view in at most the width that the terminal has at this moment."""
        if self._start is None:
            return
        width = min(options.max_width, 100)
        step, total = int(self._row.get("step") or 0), self._start.total_steps
        if total:
            # rich draws the bar with `-` where the encoding has no line characters.
            yield ProgressBar(total=total, completed=min(step, total), width=width)
            yield Segment.line()
        for line in pack(self._fields(step, total), width):
            yield Text(printable(line, console.encoding), no_wrap=True, overflow="crop")

    def _fields(self, step: int, total: int | None) -> list[str]:
        row, spent = self._row, self._clock() - self._began
        fields = [f"epoch {row['epoch']:.4g}"] if row.get("epoch") is not None else []
        fields.append(f"step {step}/{total}" if total else f"step {step}")
        fields += measures(row)
        fields.append(f"{duration(spent)} spent")
        left = self._left(step, total, spent)
        if left is not None:
            fields.append(f"{duration(left)} left")
        if self._phase:
            fields.append(self._phase)
        return fields

    def _left(self, step: int, total: int | None, spent: float) -> float | None:
        """Seconds to go at the pace so far, or None before there is one."""
        done = step - (self._start.step if self._start else 0)
        if not total or done <= 0:
            return None
        return spent * max(0, total - step) / done

    def _print(self, line: str, style: str) -> None:
        self._console.print(Text(printable(line, self._console.encoding), style=style))

    def _refresh(self) -> None:
        if self._live.is_started and not self._live.auto_refresh:
            self._live.refresh()


class Plain:
    """Dated lines for a log: at most one of metrics in ten seconds, and each accepted event.

    Args:
      console: gives the file and its encoding; nothing is coloured or wrapped.
      clock: seconds that only ever increase.
      now: the local time.
    """

    def __init__(
        self,
        console: Console,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime.datetime] = datetime.datetime.now,
    ) -> None:
        self._console = console
        self._clock = clock
        self._now = now
        self._last: float | None = None
        self._total: int | None = None
        self._waiting: str | None = None

    def start(self, start: Start) -> None:
        """Writes what is about to run."""
        self._total = start.total_steps
        for line in opening(start):
            self._write(line)

    def phase(self, name: str) -> None:
        """Says nothing: phases change too often for a log."""

    def metrics(self, row: Mapping[str, Any]) -> None:
        """Writes the first row, later ones at most every ten seconds, and the last at the end."""
        line = self._line(row)
        if self._last is None or self._clock() - self._last >= PLAIN_INTERVAL:
            self._last = self._clock()
            self._waiting = None
            self._write(line)
        else:
            self._waiting = line

    def event(self, event: Mapping[str, Any]) -> None:
        """Writes an accepted growth event."""
        if event.get("accepted"):
            self._write(growth(event))

    def note(self, text: str) -> None:
        """Writes a sentence."""
        self._write(text)

    def end(self, summary: Mapping[str, Any]) -> None:
        """Writes the last row, if it was held back, and that the run has ended."""
        self.close()
        self._write(f"end: {summary.get('status', 'finished')}")

    def close(self) -> None:
        """Writes the last row of metrics, if it was held back."""
        if self._waiting is not None:
            self._write(self._waiting)
            self._waiting = None

    def _line(self, row: Mapping[str, Any]) -> str:
        step = f"step {row.get('step')}" + (f"/{self._total}" if self._total else "")
        epoch = [f"epoch {row['epoch']:.4g}"] if row.get("epoch") is not None else []
        return ", ".join([step, *epoch, *measures(row)])

    def _write(self, line: str) -> None:
        # Not through rich, which wraps lines and, with FORCE_COLOR, colours them.
        file = self._console.file
        stamp = self._now().strftime("%Y-%m-%d %H:%M:%S")
        file.write(f"{stamp} {printable(line, self._console.encoding)}\n")
        file.flush()


def opening(start: Start) -> list[str]:
    """The first lines of every view: the device first, then the run and its data."""
    where = f", in {start.run_directory}" if start.run_directory else ""
    return [
        f"device: {start.device}",
        f"run: {start.name}{where}",
        f"examples: {start.train} training, {start.validation} validation, {start.test} test; "
        f"hidden {widths(start.hidden)}, {start.parameters} parameters",
    ]


def pack(fields: list[str], width: int, gap: str = "  ") -> list[str]:
    """Puts fields side by side into as few lines of at most `width` columns as their order allows.

    A field that is wider than a line stands alone and keeps its length.
    """
    lines: list[str] = []
    for field in fields:
        if lines and len(lines[-1]) + len(gap) + len(field) <= width:
            lines[-1] += gap + field
        else:
            lines.append(field)
    return lines
