"""What a person sees of a running training on a terminal: a few lines that are redrawn in place.

Everything goes to the console that is given (standard error, so that standard output stays free
for results). Growth rounds are printed above the view and stay.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.segment import Segment
from rich.text import Text

from senn_cli.cli.console import encoding_of
from senn_cli.cli.doing import Doing
from senn_cli.cli.log import Plain
from senn_cli.cli.remaining import Remaining
from senn_cli.report.spark import ASCII, BLOCKS, resample, spark
from senn_cli.report.words import duration, grown, measures, opening, printable, score_sign
from senn_cli.training.observer import Observer, Start
from senn_cli.words import hidden_units, plural

if TYPE_CHECKING:
    from senn_cli.training.snapshot import Moment

MOST_ROWS = 8
"""Lines of bars at most; more layers than that stand side by side."""

_FEWEST = 8  # columns of a bar or a sparkline; with fewer there is none


def make_view(console: Console) -> Observer:
    """The view that suits `console`: `Terminal` where it can redraw lines, else `Plain`."""
    # Asking the file too: FORCE_COLOR has rich take every file for a terminal, a log included.
    isatty = getattr(console.file, "isatty", None)
    if console.is_interactive and not console.is_dumb_terminal and isatty and isatty():
        return Terminal(console)
    return Plain(console)


class Terminal(Observer):
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
        self._encoding = encoding_of(console.file)
        self._clock = clock
        self._began = clock()
        self._start: Start | None = None
        self._row: Mapping[str, Any] = {}
        self._scores: list[tuple[float, float | None]] = []
        self._doing, self._remaining = Doing(clock), Remaining(clock)
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
        self._closed = False

    def start(self, start: Start) -> None:
        """Shows the heading and what is known of the network."""
        self._began = self._clock()
        self._start = start
        self._row = {"step": start.step, "hidden": start.hidden}
        self._doing.programs, self._doing.kept = start.programs, start.kept
        self._remaining.start(start.step, start.total_steps, start.steps_per_epoch)
        for line in opening(start):
            self._print(line, style="bold")
        self._open()

    def phase(self, name: str, what: str = "") -> None:
        """Shows what the run is doing.

        Nothing is redrawn yet during the import, where a signal ends the process at once: it would
        leave the terminal without its cursor.
        """
        self._doing.phase(name, what)
        self._remaining.phase(name)
        if name == "import":
            self._print(self._doing.words, style="dim")
        elif not self._closed:
            self._open()

    def boundary(self, moment: Moment) -> None:
        """Moves the bar."""
        step = moment.step
        self._remaining.reached(step)
        self._row = {**self._row, "step": step}

    def metrics(self, row: Mapping[str, Any]) -> None:
        """Shows the newest numbers; what a row does not tell stays as it was."""
        news = {key: value for key, value in row.items() if value is not None}
        self._row = {**self._row, **news}
        if news.get("eta") is not None:
            self._scores.append((int(self._row["step"]), news["eta"]))
        self._refresh()

    def round(self, events: Sequence[Mapping[str, Any]], before: Moment, after: Moment) -> None:
        """Prints what a growth round has changed above the view."""
        line = grown(events)
        if line is not None:
            self._print(line, style="green")
        for event in events:
            if event.get("accepted") and event.get("hidden") is not None:
                self._row = {**self._row, "hidden": event["hidden"]}

    def note(self, text: str) -> None:
        """Prints a sentence above the view."""
        self._print(text, style="yellow")

    def interrupted(self) -> None:
        """Says when the run will stop."""
        self.note(self._doing.stopping)

    def end(self, summary: Mapping[str, Any]) -> None:
        """Removes the view; the summary is printed elsewhere."""
        self.close()

    def close(self) -> None:
        """Removes the view."""
        self._closed = True
        self._live.stop()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draws the view in the width that the terminal has at this moment."""
        width, total = options.max_width, self._start.total_steps if self._start else None
        step = int(self._row.get("step") or 0)
        if total:
            # rich draws the bar with `-` where the encoding has no line characters.
            yield ProgressBar(total=total, completed=min(step, total), width=width)
            yield Segment.line()
        lines = pack(self._fields(step, total), width)
        for line in [*lines, *self._bars(width), *self._spark(width, step)]:
            yield Text(printable(line, self._encoding), no_wrap=True, overflow="crop")

    def _fields(self, step: int, total: int | None) -> list[str]:
        if self._start is None:
            return [self._doing.words]
        row = self._row
        fields = [f"epoch {row['epoch']:.4g}"] if row.get("epoch") is not None else []
        fields.append(f"step {step}/{total}" if total else f"step {step}")
        fields += measures({**row, "hidden": None, "eta": None})
        fields.append(f"{duration(self._clock() - self._began)} spent")
        left = self._remaining.left()
        if left is not None:
            fields.append(f"{duration(left)} left")
        return [*fields, self._doing.words]

    def _bars(self, width: int) -> list[str]:
        """The width of every layer as a bar; side by side where there are many."""
        hidden = list(self._row.get("hidden") or ())
        if not hidden:
            return []
        columns = -(-len(hidden) // MOST_ROWS)
        names = [f"layer {index}" for index in range(len(hidden))]
        unit = self._start.unit if self._start else "neuron"
        counts = [plural(n, unit) if columns == 1 else str(n) for n in hidden]
        cell = (width + 2) // columns - 2
        bar = cell - 2 - max(map(len, names)) - max(map(len, counts))
        if bar < _FEWEST:
            return [hidden_units(hidden, unit)]
        sign = "█" if printable("█", self._encoding) == "█" else "#"
        cells = [
            f"{name.ljust(max(map(len, names)))} {sign * max(1, n * bar // max(hidden))} {count}"
            for name, n, count in zip(names, hidden, counts, strict=True)
        ]
        rows = -(-len(cells) // columns)
        lines = [[text.ljust(cell) for text in cells[row::rows]] for row in range(rows)]
        return ["  ".join(line).rstrip() for line in lines]

    def _spark(self, width: int, step: int) -> list[str]:
        """The score over the steps so far, with its newest value."""
        if not self._scores:
            return []
        name, value = score_sign(self._encoding), f"{self._scores[-1][1]:.3g}"
        bars = min(width - len(name) - len(value) - 2, 10 * len(self._scores))
        if bars < _FEWEST:
            return [f"{name} {value}"]
        levels = BLOCKS if printable(BLOCKS, self._encoding) == BLOCKS else ASCII
        first = self._start.step if self._start else 0
        values = resample(list(self._scores), first, max(step, first + 1), bars)
        return [f"{name} {spark(values, levels=levels)} {value}"]

    def _print(self, line: str, style: str) -> None:
        self._console.print(Text(printable(line, self._encoding), style=style))

    def _open(self) -> None:
        self._closed = False
        if self._live.is_started:
            self._refresh()
        else:
            self._live.start(refresh=True)

    def _refresh(self) -> None:
        if self._live.is_started and not self._live.auto_refresh:
            self._live.refresh()


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
