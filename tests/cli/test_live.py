from __future__ import annotations

import datetime
import io
import re

import pytest
from rich.console import Console

from senn_cli.cli.live import Plain, Terminal, make_listener, pack
from senn_cli.training.listener import Start
from tests.waiting import wait_until

START = Start(
    name="größe [bold]x",
    run_directory="runs/a",
    device="CPU (2 cores)",
    task="classification",
    train=1293,
    validation=144,
    test=360,
    steps_per_epoch=6,
    total_steps=120,
    step=0,
    hidden=(10,),
    parameters=760,
)
ROW = {
    "step": 30,
    "epoch": 5.0,
    "train_loss": 0.25,
    "validation_accuracy": 0.95,
    "hidden": [10],
    "eta": 0.02,
}
ACCEPTED = {"step": 30, "epoch": 5.0, "edit": "add_neurons", "accepted": True, "hidden": [12]}
REJECTED = {"step": 36, "epoch": 6.0, "edit": None, "accepted": False, "reason": "below tau"}
SUMMARY = {"status": "finished"}


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def ascii_file() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict")


def content(file: io.TextIOWrapper) -> str:
    file.flush()
    assert isinstance(file.buffer, io.BytesIO)
    return file.buffer.getvalue().decode("ascii")


def noon() -> datetime.datetime:
    return datetime.datetime(2025, 1, 2, 12, 0, 0)


def plain(clock: Clock) -> tuple[Plain, io.StringIO]:
    file = io.StringIO()
    return Plain(Console(file=file), clock=clock, now=noon), file


def terminal(width: int = 60, **options: object) -> tuple[Console, Tty]:
    file = Tty()
    settings = {"force_terminal": True, "width": width, "height": 24, "legacy_windows": False}
    return Console(file=file, **{**settings, **options}), file  # type: ignore[arg-type]


def drawn(view: Terminal, width: int) -> list[str]:
    """The lines of the view, without styles, as a terminal of that width shows them."""
    file = io.StringIO()
    Console(file=file, width=width).print(view)
    return file.getvalue().splitlines()


def test_a_terminal_gets_the_live_view(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    assert isinstance(make_listener(terminal()[0]), Terminal)


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(make_listener(terminal()[0]), Plain)


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "TTY_COMPATIBLE"])
def test_a_log_gets_lines_even_with_forced_colours(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "1")
    file = io.StringIO()
    listener = make_listener(Console(file=file))
    assert isinstance(listener, Plain)
    listener.start(START)
    listener.event(ACCEPTED)
    listener.end(SUMMARY)
    assert "\x1b" not in file.getvalue()


def test_a_log_holds_dated_lines_at_most_every_ten_seconds() -> None:
    clock = Clock()
    view, file = plain(clock)
    view.start(START)
    for second in range(26):
        clock.time = 100.0 + second
        view.phase("train")
        view.metrics({**ROW, "step": second})
    lines = file.getvalue().splitlines()
    assert lines[0] == "2025-01-02 12:00:00 device: CPU (2 cores)"
    assert [line for line in lines if "step" in line] == [
        f"2025-01-02 12:00:00 step {step}/120, epoch 5, loss 0.25, validation accuracy 95.00%, "
        "hidden 10, eta 0.02"
        for step in (0, 10, 20)
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
    for event in (ACCEPTED, REJECTED, ACCEPTED):
        view.event(event)
    lines = file.getvalue().splitlines()
    assert lines == [
        "2025-01-02 12:00:00 grown: step 30, epoch 5, added neurons, now 12",
    ] * len(lines)
    assert len(lines) == 2


def test_a_name_cannot_steer_the_log() -> None:
    view, file = plain(Clock())
    view.event({**ACCEPTED, "site": "a\r\n\x1b[2J"})
    assert file.getvalue().count("\n") == 1
    assert not set(file.getvalue()) & {"\x1b", "\r"}


def test_a_log_in_ascii() -> None:
    file = ascii_file()
    view = Plain(Console(file=file), now=noon)
    view.start(START)
    assert "run: gr\\xf6\\xdfe [bold]x, in runs/a" in content(file)


@pytest.mark.parametrize("width", [30, 60, 200])
def test_the_live_view_fits_its_terminal(width: int) -> None:
    console, _ = terminal(width)
    clock = Clock()
    view = Terminal(console, clock=clock, refresh=0)
    view.start(START)
    clock.time += 10
    view.metrics({**ROW, "hidden": list(range(100, 140))})
    view.phase("score")
    lines = drawn(view, width)
    view.close()
    assert max(len(line) for line in lines) <= width


def test_the_live_view_tells_everything() -> None:
    console, _ = terminal(60)
    clock = Clock()
    view = Terminal(console, clock=clock, refresh=0)
    view.start(START)
    clock.time += 10
    view.metrics(ROW)
    view.phase("score")
    bar, *lines = drawn(view, 60)
    view.close()
    assert set(bar.strip()) <= set("━╸╺")
    # A quarter of the steps took 10 s, so the other three take 30 s.
    assert "  ".join(lines) == (
        "epoch 5  step 30/120  loss 0.25  validation accuracy 95.00%  hidden 10  eta 0.02  "
        "0:10 spent  0:30 left  score"
    )


def test_time_left_counts_from_where_a_resumed_run_starts() -> None:
    console, _ = terminal(100)
    clock = Clock()
    view = Terminal(console, clock=clock, refresh=0)
    view.start(Start(**{**START.__dict__, "step": 60}))
    clock.time += 10
    view.metrics({"step": 90})
    assert "0:10 left" in " ".join(drawn(view, 100))
    view.close()


def test_a_run_of_given_minutes_has_no_bar() -> None:
    console, _ = terminal(100)
    view = Terminal(console, clock=Clock(), refresh=0)
    view.start(Start(**{**START.__dict__, "total_steps": None}))
    view.metrics(ROW)
    lines = drawn(view, 100)
    view.close()
    assert not set("".join(lines)) & set("━╸╺")
    assert lines[0].startswith("epoch 5  step 30  loss 0.25")
    assert "left" not in " ".join(lines)


def test_growth_stays_above_the_live_view() -> None:
    console, file = terminal(100, color_system=None)
    view = Terminal(console, clock=Clock(), refresh=0)
    view.start(START)
    view.event(ACCEPTED)
    view.event(REJECTED)
    assert "hidden 12" in " ".join(drawn(view, 100))
    view.end(SUMMARY)
    view.close()
    assert file.getvalue().count("grown: step 30, epoch 5, added neurons, now 12\n") == 1
    assert "below tau" not in file.getvalue()
    assert "run: größe [bold]x, in runs/a\n" in file.getvalue()
    # The cursor, hidden while the view stood, is shown again.
    assert file.getvalue().rfind("\x1b[?25h") > file.getvalue().rfind("\x1b[?25l") >= 0


def test_no_color_means_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    console, file = terminal()
    view = Terminal(console, clock=Clock(), refresh=0)
    view.start(START)
    view.event(ACCEPTED)
    view.metrics(ROW)
    view.close()
    codes = {
        code
        for sequence in re.findall(r"\x1b\[([0-9;]*)m", file.getvalue())
        for code in sequence.split(";")
    }
    assert not codes & {str(code) for code in (*range(30, 50), *range(90, 108))}


def test_a_terminal_in_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    file = ascii_file()
    console = Console(file=file, force_terminal=True, width=60, height=24)
    view = Terminal(console, clock=Clock(), refresh=0)
    view.start(START)
    view.metrics(ROW)
    view.event(ACCEPTED)
    view.close()
    assert "----" in content(file)  # would raise UnicodeEncodeError on a line character


def test_the_view_redraws_by_itself_and_can_be_closed_at_any_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    console, file = terminal()
    view = Terminal(console)
    view.close()
    assert file.getvalue() == ""
    view.start(START)
    drawn = len(file.getvalue())
    wait_until(lambda: len(file.getvalue()) > drawn)  # although there is no news
    view.close()
    closed = file.getvalue()
    assert "\x1b[?25h" in closed  # the cursor is shown again ...
    assert closed.endswith("\x1b[2K")  # ... and the last line of the view is removed
    view.close()
    assert file.getvalue() == closed


@pytest.mark.parametrize(
    ("fields", "width", "lines"),
    [
        ([], 10, []),
        (["abc", "def", "ghi"], 8, ["abc  def", "ghi"]),
        (["abc", "def"], 7, ["abc", "def"]),
        (["a" * 20, "b"], 8, ["a" * 20, "b"]),
    ],
)
def test_pack(fields: list[str], width: int, lines: list[str]) -> None:
    assert pack(fields, width) == lines
