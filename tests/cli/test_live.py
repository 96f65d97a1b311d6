from __future__ import annotations

import datetime
import io
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from senn_cli.cli.live import Terminal, make_view, pack
from senn_cli.cli.log import Plain
from senn_cli.training.observer import Start
from tests.waiting import wait_until

AROUND: Any = (None, None)  # moments that no view looks at
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
ACCEPTED |= {"site": "layer 0", "neurons": 2}
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


def terminal(width: int = 60, **options: object) -> tuple[Console, Tty]:
    file = Tty()
    settings = {"force_terminal": True, "width": width, "height": 24, "legacy_windows": False}
    return Console(file=file, **{**settings, **options}), file  # type: ignore[arg-type]


def drawn(view: Terminal, width: int) -> list[str]:
    """The lines of the view, without styles, as a terminal of that width shows them."""
    file = io.StringIO()
    Console(file=file, width=width).print(view)
    return file.getvalue().splitlines()


def at(step: int) -> Any:
    """A moment, as far as a view looks at it."""
    return SimpleNamespace(step=step)


def test_a_terminal_gets_the_live_view(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    assert isinstance(make_view(terminal()[0]), Terminal)


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(make_view(terminal()[0]), Plain)


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "TTY_COMPATIBLE"])
def test_a_log_gets_lines_even_with_forced_colours(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "1")
    file = io.StringIO()
    view = make_view(Console(file=file))
    assert isinstance(view, Plain)
    view.start(START)
    view.round([ACCEPTED], *AROUND)
    view.end(SUMMARY)
    assert "\x1b" not in file.getvalue()


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
    console, file = terminal(80)
    clock = Clock()
    view = Terminal(console, clock=clock, refresh=0)
    view.phase("import")
    assert "importing JAX" in file.getvalue()
    assert not view._live.is_started  # a signal may end the process, which has hidden no cursor
    view.phase("data")
    assert drawn(view, 80) == ["loading the data"]
    view.start(START)
    view.phase("train")
    clock.time += 10
    view.boundary(at(30))
    view.metrics(ROW)
    view.phase("score")
    bar, *lines = drawn(view, 80)
    view.close()
    assert bar == "━" * 20  # a quarter of the terminal; the rest shows in colours alone
    assert "  ".join(lines[:2]) == (
        # A quarter of the steps took 10 s, so the other three take 30 s.
        "epoch 5  step 30/120  loss 0.25  validation accuracy 95.00%  0:10 spent  0:30 left  "
        "scoring"
    )
    # 80 columns, less the name, the count and the gaps between them.
    assert lines[2:] == [f"layer 0 {'█' * 61} 10 neurons", "η ▄▄▄▄▄▄▄▄▄▄ 0.02"]


def test_widths_are_bars_of_the_whole_terminal() -> None:
    view = Terminal(terminal(60)[0], clock=Clock(), refresh=0)
    view.start(replace(START, total_steps=None, hidden=(8, 32, 1), unit="channel"))
    lines = drawn(view, 60)[1:]
    view.close()
    assert lines == [
        f"layer 0 {'█' * 10} 8 channels",
        f"layer 1 {'█' * 40} 32 channels",
        "layer 2 █ 1 channel",
    ]
    assert len(lines[1]) == 60


def test_many_layers_stand_side_by_side() -> None:
    view = Terminal(terminal(60)[0], clock=Clock(), refresh=0)
    view.start(replace(START, total_steps=None, hidden=(4,) * 10))
    lines = drawn(view, 60)[1:]
    view.close()
    assert len(lines) == 5
    assert lines[0] == f"layer 0 {'█' * 19} 4  layer 5 {'█' * 19} 4"
    assert max(map(len, lines)) <= 60


def test_the_score_is_a_sparkline_of_the_steps_so_far() -> None:
    view = Terminal(terminal(30)[0], clock=Clock(), refresh=0)
    view.start(replace(START, total_steps=None))
    for step in range(1, 25):
        view.metrics({"step": step, "eta": float(step)})
    line = drawn(view, 30)[-1]
    view.close()
    assert (line[:2], line[2], line[-4], line[-3:]) == ("η ", "▁", "█", " 24")
    assert len(line) == 30


def test_a_compilation_is_told_with_its_program() -> None:
    clock = Clock()
    view = Terminal(terminal(100)[0], clock=clock, refresh=0)
    view.start(replace(START, programs=17, kept=True))
    for name in ("train", "observe", "target", "score_depth"):
        view.phase("compile", name)
    clock.time += 2
    text = " ".join(drawn(view, 100))
    view.close()
    assert "compiling score_depth, 4 of about 17, first run only" in text


def test_a_first_signal_is_answered() -> None:
    console, file = terminal(100, color_system=None)
    view = Terminal(console, clock=Clock(), refresh=0)
    view.start(START)
    view.phase("compile", "train")
    view.interrupted()
    view.close()
    assert "stopping after this compilation; again to quit now\n" in file.getvalue()


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
    view.round([ACCEPTED], *AROUND)
    view.round([REJECTED], *AROUND)
    assert "12 neurons" in " ".join(drawn(view, 100))
    view.end(SUMMARY)
    view.close()
    assert file.getvalue().count("grown: step 30, layer 0 +2, now 12\n") == 1
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
    view.round([ACCEPTED], *AROUND)
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
    view.round([ACCEPTED], *AROUND)
    view.close()
    # A line character would raise UnicodeEncodeError.
    assert "----" in content(file)
    assert "####" in content(file)
    assert "score " in content(file)


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
