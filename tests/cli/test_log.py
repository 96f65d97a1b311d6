"""What a log gets of a training: dated lines, never silent for long."""

from __future__ import annotations

import io
import re
import threading
from dataclasses import replace

import pytest
from rich.console import Console

from senn_cli.cli.log import INTERVAL, Plain
from tests.cli.test_live import (
    ACCEPTED,
    AROUND,
    REJECTED,
    ROW,
    START,
    SUMMARY,
    Clock,
    ascii_file,
    at,
    content,
    noon,
)

SILENCE = 15.0  # seconds without a line at most


def plain(clock: Clock) -> tuple[Plain, io.StringIO]:
    file = io.StringIO()
    return Plain(Console(file=file), clock=clock, now=noon, tick=0), file


def test_a_log_holds_dated_lines_at_most_every_ten_seconds() -> None:
    clock = Clock()
    view, file = plain(clock)
    view.start(START)
    for second in range(26):
        clock.time = 100.0 + second
        view.phase("train")
        view.boundary(at(second))
        view.metrics({**ROW, "step": second})
    lines = file.getvalue().splitlines()
    assert lines[0] == "2025-01-02 12:00:00 device: CPU (2 cores)"
    assert [line for line in lines if "step" in line] == [
        f"2025-01-02 12:00:00 step {step}/120, epoch 5, loss 0.25, validation accuracy 95.00%, "
        "hidden 10, η 0.02" + left
        for step, left in ((0, ""), (10, ", 1:50 left"), (20, ", 1:40 left"))
    ]
    view.end(SUMMARY)
    assert [line[20:31] for line in file.getvalue().splitlines()[-2:]] == [
        "step 25/120",
        "end: finish",
    ]
    assert all(
        re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", line) for line in file.getvalue().splitlines()
    )
    assert not set(file.getvalue()) & {"\x1b", "\r"}


def test_a_last_row_is_written_once() -> None:
    view, file = plain(Clock())
    view.start(START)
    view.metrics(ROW)
    view.end(SUMMARY)
    view.close()
    assert file.getvalue().count("step 30/120") == 1


def test_a_log_holds_every_accepted_event_and_no_rejection() -> None:
    view, file = plain(Clock())
    for events in ([ACCEPTED], [REJECTED], [ACCEPTED, REJECTED]):
        view.round(events, *AROUND)
    lines = file.getvalue().splitlines()
    assert lines == [
        "2025-01-02 12:00:00 grown: step 30, layer 0 +2, now 12",
    ] * len(lines)
    assert len(lines) == 2


def test_a_name_cannot_steer_the_log() -> None:
    view, file = plain(Clock())
    view.round([{**ACCEPTED, "site": "a\r\n\x1b[2J"}], *AROUND)
    assert file.getvalue().count("\n") == 1
    assert not set(file.getvalue()) & {"\x1b", "\r"}


def test_a_log_in_ascii() -> None:
    file = ascii_file()
    view = Plain(Console(file=file), now=noon, tick=0)
    view.start(START)
    assert "run: gr\\xf6\\xdfe [bold]x, in runs/a" in content(file)


def gaps(view: Plain, file: io.StringIO, clock: Clock, seconds: int) -> list[str]:
    """Lets time pass, second by second; the lines that were written, none too late."""
    before, last = file.getvalue(), clock.time
    for _ in range(seconds):
        clock.time += 1
        known = file.getvalue()
        view.tick()
        if file.getvalue() != known:
            last = clock.time
        assert clock.time - last <= SILENCE
    return [line[20:] for line in file.getvalue()[len(before) :].splitlines()]


def test_a_log_is_never_silent_for_long() -> None:
    clock = Clock()
    view, file = plain(clock)
    view.phase("import")
    assert file.getvalue() == "2025-01-02 12:00:00 importing JAX\n"
    assert gaps(view, file, clock, 25) == [f"importing JAX, for {n} s" for n in (10, 20)]
    view.phase("compile", "evaluate")
    assert gaps(view, file, clock, 12) == ["compiling evaluate, for 5 s"]
    view.start(replace(START, programs=17, kept=True))
    view.phase("compile", "train")
    told = "step 0/120, compiling train, 2 of about 17, first run only"
    assert gaps(view, file, clock, 21) == [f"{told}, for {n} s" for n in (10, 20)]
    view.phase("train")
    view.boundary(at(3))
    assert gaps(view, file, clock, 9) == ["step 3/120, training, for 9 s"]
    view.phase("score")
    assert gaps(view, file, clock, 10) == ["step 3/120, scoring, for 10 s"]


def test_a_row_that_was_held_back_is_not_held_for_long() -> None:
    clock = Clock()
    view, file = plain(clock)
    view.start(START)
    view.metrics(ROW)
    clock.time += 1
    view.metrics({**ROW, "step": 36})
    view.phase("score")
    line, told = gaps(view, file, clock, 2 * int(INTERVAL))
    assert line.startswith("step 36/120, epoch 5")
    assert told == "step 36/120, scoring, for 19 s"


def test_a_thread_breaks_the_silence_of_a_busy_main_thread() -> None:
    written = threading.Event()

    class File(io.StringIO):
        def write(self, text: str) -> int:
            if threading.current_thread() is not threading.main_thread():
                written.set()
            return super().write(text)

    clock, file = Clock(), File()
    view = Plain(Console(file=file), clock=clock, now=noon, tick=0.001)
    view.phase("compile", "train")
    clock.time += INTERVAL
    assert written.wait(60)
    view.close()
    assert "compiling train, for 10 s\n" in file.getvalue()
    view._ticking.join(60)
    assert not view._ticking.is_alive()


@pytest.mark.parametrize(
    ("phase", "text"),
    [
        ("compile", "stopping after this compilation; again to quit now"),
        ("train", "stopping after these steps; again to quit now"),
        ("data", "stopping as soon as the data are loaded; again to quit now"),
        ("something new", "stopping soon; again to quit now"),
    ],
)
def test_a_first_signal_is_answered_in_the_words_of_the_phase(phase: str, text: str) -> None:
    view, file = plain(Clock())
    view.phase(phase)
    view.interrupted()
    assert file.getvalue().splitlines()[-1][20:] == text
