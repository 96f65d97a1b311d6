from __future__ import annotations

import io
import sys

import pytest

from senn_cli.cli.inspection.screen import FULL, PLAIN, UNWRAPPED, Screen, write


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _no_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


def test_a_terminal_has_a_width_and_a_pipe_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "61")
    screen = Screen.of(Terminal())
    assert (screen.width, screen.terminal, screen.styled) == (61, True, True)
    screen = Screen.of(io.StringIO())
    assert (screen.width, screen.terminal, screen.styled) == (UNWRAPPED, False, False)
    monkeypatch.setenv("NO_COLOR", "1")
    assert Screen.of(Terminal()).styled is False


def test_signs_that_the_encoding_lacks_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Screen(80, "utf-8").glyphs is FULL
    for encoding in ("ascii", "latin-1", "cp437", "no such encoding"):
        assert Screen(80, encoding).glyphs is PLAIN
    assert "".join(vars(PLAIN).values()).isascii()
    monkeypatch.setenv("LC_ALL", "C")
    assert Screen.of(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")).encoding == "ascii"


def test_texts_of_users_cannot_steer_a_terminal() -> None:
    assert Screen(80, "utf-8").text("a\x1b[31m\nb é [x]") == "a?[31m?b é [x]"
    assert Screen(80, "ascii").text("é") == "\\xe9"


def test_lines_are_styled_where_the_screen_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for styled, expected in (
        (False, "head\nrest\n\nplain\n"),
        (True, "\x1b[1mhead\x1b[0m\n\x1b[2mrest\x1b[0m\n\nplain\n"),
    ):
        out = io.StringIO()
        monkeypatch.setattr(sys, "stdout", out)
        lines = [("head", "bold"), ("rest  ", "dim"), ("", "dim"), ("plain", "")]
        write(lines, Screen(80, "utf-8", styled))  # type: ignore[arg-type]
        assert out.getvalue() == expected


def test_no_lines_are_no_output(capsys: pytest.CaptureFixture[str]) -> None:
    write([], Screen(80, "utf-8"))
    assert capsys.readouterr().out == ""
