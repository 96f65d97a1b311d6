"""Following a live run until it ends: redrawn on a terminal, lines that are appended elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from senn_cli.cli.inspection.screen import Line, Screen, write
from senn_cli.cli.inspection.sections import tested
from senn_cli.report.record import Record, read_record, run_of
from senn_cli.report.words import grown, measures, rounds
from senn_cli.runs.growing import GrowingRun
from senn_cli.words import plural

INTERVAL = 1.0
"""Seconds between two looks."""

_BUSY = 10.0  # reading a long history shall take at most this part of the time

Page = Callable[[Record, Screen], list[Line]]


def changes(path: Path, sleep: Callable[[float], None] = time.sleep) -> Iterator[Record]:
    """The run in `path`, now and whenever it has changed, until it ends.

    The last one is as the run has ended. A run that has ended already is given once.
    """
    before: object = None
    directory = GrowingRun(run_of(path)[0])
    while True:
        started = time.monotonic()
        record = read_record(path, known=directory)
        if record.status != "running":
            # It may have ended while its files were read; now they are as they will stay.
            yield read_record(path, known=directory)
            return
        known = (record.metrics[-1:], record.history[-1:], len(record.history))
        if known != before:
            yield record
            before = known
        sleep(max(INTERVAL, _BUSY * (time.monotonic() - started)))


def follow(path: Path, page: Page, live: Page, *, rejected: bool) -> None:
    """Shows `page` of a run, then what is new, until it ends; on a terminal `live`, redrawn.

    Raises:
      SennError: there is no run, or a file in it is damaged.
    """
    screen = Screen.of(sys.stdout)
    if screen.terminal:
        _redraw(path, page, live)
    else:
        _append(path, page, screen, rejected)


def _redraw(path: Path, page: Page, live: Page) -> None:
    from rich.live import Live
    from rich.text import Text

    from senn_cli.cli import console

    output, last = console.stdout(), None
    # `transient`: the whole page follows when the run has ended.
    with Live(console=output, auto_refresh=False, transient=True) as view:
        for last in changes(path):
            if last.status != "running":
                break
            screen = Screen.of(sys.stdout)
            shown = Text(no_wrap=True, overflow="crop")
            for text, style in live(last, screen):
                shown.append(screen.text(text) + "\n", style=style or None)
            shown.rstrip()
            view.update(shown, refresh=True)
    if last is not None:
        screen = Screen.of(sys.stdout)
        write(page(last, screen), screen)


def _append(path: Path, page: Page, screen: Screen, rejected: bool) -> None:
    before: Record | None = None
    for record in changes(path):
        if before is None:
            write(page(record, screen), screen)
            if record.status == "running":
                write([("", "")], screen)
        else:
            lines = news(before, record, rejected=rejected, encoding=screen.encoding)
            write([(line, "") for line in lines], screen)
        before = record


def news(
    before: Record, now: Record, *, rejected: bool = False, encoding: str = "utf-8"
) -> list[str]:
    """What has come since `before` as a line each: rows, rounds, an end, in their order.

    Where a resumption has cut rows away, that is said, and what replaced them is new.
    """
    rows, cut_rows = _added(before.metrics, now.metrics)
    events, cut_events = _added(before.history, now.history)
    lines = []
    if cut_rows or cut_events:
        cut = plural(cut_rows + cut_events, "row was", "rows were")
        lines.append(f"{cut} cut away: the run was resumed before that")
    # Of one step, the evaluation comes before growth.
    found = [(int(row["step"]), 0, _row(row, encoding)) for row in rows]
    for round_ in rounds(events):
        line, step = grown(round_), int(round_[0]["step"])
        found += [] if line is None else [(step, 1, line)]
        for event in round_ if rejected else []:
            if not event.get("accepted"):
                found.append((step, 1, f"not grown: step {step}, {event.get('reason')}"))
    lines += [text for _, _, text in sorted(found, key=lambda item: item[:2])]
    if now.status != "running":
        figures = [tested(now.summary)] if now.summary else []
        lines.append(", ".join([f"end: {now.status}", *(f"test {text}" for text in figures)]))
    return lines


def _added(
    before: tuple[dict[str, Any], ...], now: tuple[dict[str, Any], ...]
) -> tuple[tuple[dict[str, Any], ...], int]:
    """The rows behind those that are in both, and how many of the earlier ones are gone."""
    if now[: len(before)] == before:
        return now[len(before) :], 0
    same = 0
    while same < min(len(before), len(now)) and before[same] == now[same]:
        same += 1
    return now[same:], len(before) - same


def _row(row: dict[str, Any], encoding: str) -> str:
    epoch = [f"epoch {row['epoch']:.4g}"] if row.get("epoch") is not None else []
    return ", ".join([f"step {row.get('step')}", *epoch, *measures(row, encoding)])
