"""What a person sees of a fit: nothing, a view that is redrawn in place, or lines of a log."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from senn_cli.report.words import duration, grown, measures, opening
from senn_cli.training.observer import Observer, Start

if TYPE_CHECKING:
    from senn_cli.training.snapshot import Moment

SHOWN = 12
"""Growth rounds that the view of a notebook lists at most, the newest ones."""

INTERVAL = 0.25
"""Least number of seconds between two updates of a notebook's view."""


def view(verbose: int) -> list[Observer]:
    """The views of a fit.

    Args:
      verbose: 0 for none; 1 for one in place, on a terminal or in a notebook, and else for dated
        lines; 2 for dated lines wherever it is.
    """
    if verbose <= 0:
        return []
    if verbose == 1 and (show := notebook()) is not None:
        return [Notebook(show)]
    from senn_cli.cli import console
    from senn_cli.cli.live import make_view
    from senn_cli.cli.log import Plain

    return [Plain(console.stderr()) if verbose > 1 else make_view(console.stderr())]


def notebook() -> Callable[[str], None] | None:
    """Shows HTML in the cell that runs, in place of what it showed before; None elsewhere."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if not hasattr(shell, "kernel"):
        return None
    from IPython.display import HTML, DisplayHandle

    handle: Any = DisplayHandle()  # type: ignore[no-untyped-call]
    shown: list[str] = []

    def show(text: str) -> None:
        page: Any = HTML(text)  # type: ignore[no-untyped-call]
        (handle.update if shown else handle.display)(page)
        shown[:] = [text]

    return show


class Notebook(Observer):
    """The view of a notebook: how far the run is, and its growth rounds. It needs no widgets.

    Args:
      show: shows HTML in place of what was shown before.
      clock: seconds that only ever increase.
    """

    def __init__(
        self, show: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._show, self._clock = show, clock
        self._began = clock()
        self._shown: float | None = None
        self._start: Start | None = None
        self._step, self._row = 0, ""
        self._phase = ""
        self._lines: list[str] = []

    def start(self, start: Start) -> None:
        """Shows what is about to run."""
        self._start, self._step = start, start.step
        self._update(now=True)

    def phase(self, name: str, what: str = "") -> None:
        """Shows what takes long."""
        self._phase = f"compiling {what}" if name == "compile" else name
        self._update()

    def metrics(self, row: Mapping[str, Any]) -> None:
        """Shows the newest numbers."""
        self._row = ", ".join(measures(row))
        self._update()

    def round(self, events: Sequence[Mapping[str, Any]], before: Moment, after: Moment) -> None:
        """Lists what a growth round has changed."""
        line = grown(events)
        if line is not None:
            self._lines.append(line)
            self._update()

    def boundary(self, moment: Moment) -> None:
        """Moves on."""
        self._step = moment.step
        self._update()

    def note(self, text: str) -> None:
        """Lists a sentence."""
        self._lines.append(text)
        self._update(now=True)

    def end(self, summary: Mapping[str, Any]) -> None:
        """Shows how it ended."""
        self._phase = str(summary.get("status", "finished"))

    def close(self) -> None:
        """Shows the last numbers."""
        self._update(now=True)

    def _update(self, *, now: bool = False) -> None:
        moment = self._clock()
        if not now and self._shown is not None and moment - self._shown < INTERVAL:
            return
        self._shown = moment
        total = self._start.total_steps if self._start else None
        place = f"step {self._step}/{total}" if total else f"step {self._step}"
        spent = f"{duration(moment - self._began)} spent"
        status = ", ".join(filter(None, [place, self._row, spent, self._phase]))
        head = [] if self._start is None else opening(self._start)[1:]
        left_out = len(self._lines) - SHOWN
        more = [f"... {left_out} more"] if left_out > 0 else []
        lines = [*head, *more, *self._lines[-SHOWN:], status]
        bar = f'<progress max="{total}" value="{self._step}"></progress>' if total else ""
        self._show(f"<pre>{html.escape(chr(10).join(lines))}</pre>{bar}")
