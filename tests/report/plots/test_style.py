from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import pytest
from matplotlib.lines import Line2D
from PIL import Image

from senn_cli.errors import RunError, UsageError
from senn_cli.report.plots import style
from tests.report.plots.made import assert_readable


def test_nothing_outside_is_changed() -> None:
    with matplotlib.rc_context():
        matplotlib.rcParams["font.size"] = 33
        with style.styled():
            assert matplotlib.rcParams["font.size"] == 8
        assert matplotlib.rcParams["font.size"] == 33


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    with pytest.raises(UsageError) as caught, style.styled():
        pass
    assert caught.value.hint == "Run `pip install 'senn-cli[plot]'`."
    assert "plots need matplotlib" in caught.value.message


def test_plain_texts() -> None:
    assert style.plain("cost $5") == r"cost \$5"
    assert style.plain("a\nb\x1b[0m") == "a?b?[0m"
    assert style.plain("_hidden") == " _hidden"


def test_colours_are_different() -> None:
    for number in (1, 2, 7, 8, 30):
        assert len(set(style.colours(number))) == number


@pytest.mark.parametrize("number", [1, 2, 5, 9])
def test_a_legend_never_leaves_the_figure(number: int) -> None:
    figure = style.new_figure(3.3, 3.0)
    figure.subplots().set_xlabel("x")
    style.legend(figure, [Line2D([], [], label=f"a name of line {n}") for n in range(number)])
    assert_readable(figure)


def test_no_legend() -> None:
    figure = style.new_figure(3.3, 2.0)
    style.legend(figure, [])
    assert figure.legends == []


def test_sizes_in_print(tmp_path: Path) -> None:
    figure = style.new_figure(3.3, 2.0)
    figure.subplots()
    style.save(figure, tmp_path / "a.png", dpi=300)
    with Image.open(tmp_path / "a.png") as image:
        assert image.size == (990, 600)
    style.save(figure, tmp_path / "a.pdf")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot be written"):
        style.save(style.new_figure(3.3, 2.0), tmp_path / "none" / "a.svg")


def test_few_decades_have_plain_numbers() -> None:
    figure = style.new_figure(3.3, 2.0)
    axes = figure.subplots()
    axes.plot([0, 1], [0.2, 8])
    style.log_axis(axes)
    figure.canvas.draw()
    low, high = axes.get_ylim()
    labels = [t.get_text() for t in axes.get_yticklabels() if low <= t.get_position()[1] <= high]
    assert labels == ["0.2", "0.5", "1", "2", "5"]
