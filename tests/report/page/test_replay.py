"""The diagram of the network and its slider in a real browser."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.handmade import added, checkpoint, dense_run, inserted, row, run_directory
from tests.report.page.browser import Browser
from tests.report.page.made import grown_run
from tests.report.page.test_browser import FAULTS, assert_quiet, click, opened
from tests.waiting import wait_until

WIDTHS = """
const shown = [...document.querySelectorAll(".network [data-feature]")];
return shown.map((each) => [each.dataset.feature, each.dataset.width]);
"""
BANDS = "return [...document.querySelectorAll('.network [data-band]')].map((b) => b.dataset.band)"
TEXT = "return document.querySelector('.replay output').textContent"
SLIDER = ".replay input[type=range]"


def move(browser: Browser, to: int) -> None:
    """Moves the slider, as a reader does."""
    script = (
        "const slider = document.querySelector(arguments[0]); slider.value = arguments[1];"
        "slider.dispatchEvent(new Event('input'))"
    )
    browser.run(script, SLIDER, to)


def press(browser: Browser, key: str) -> None:
    for kind in ("keyDown", "keyUp"):
        code = {"ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35}[key]
        browser.devtools("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code)


def test_the_diagram_has_the_widths_of_every_moment(browser: Browser, tmp_path: Path) -> None:
    run = grown_run(tmp_path / "r")
    checkpoint(run, 10, [(2, 8)], inputs=4, outputs=3)
    opened(browser, tmp_path, run)
    ends = (["inputs", "4"], ["outputs", "3"])
    moments = [
        ("step 0, epoch 0: 2, the start", [["layer 1", "2"]]),
        ("step 20, epoch 2: 3; added 1 neuron", [["layer 1", "3"]]),
        ("step 30, epoch 3: 2-3; inserted", [["layer 0", "2"], ["layer 1", "3"]]),
        ("step 40, epoch 4: 2-5; added 2 neurons", [["layer 0", "2"], ["layer 1", "5"]]),
        ("step 50, epoch 5: 2-5, the end", [["layer 0", "2"], ["layer 1", "5"]]),
    ]
    assert browser.run(f"return document.querySelector('{SLIDER}').max") == "4"
    for place, (text, widths) in enumerate(moments):
        move(browser, place)
        assert browser.run(WIDTHS) == [ends[0], *widths, ends[1]]
        assert browser.run(TEXT).startswith(text)
        # As many dots as neurons: a dot is an arc there and back.
        path = "return document.querySelector('.network [data-feature=\"layer 1\"] path')"
        dots = browser.run(path + ".getAttribute('d').split('M').length - 1")
        assert dots == int(widths[-1][1])
        assert browser.run(FAULTS) == []
    move(browser, 1)
    assert browser.run(BANDS) == ["inputs>layer 1", "layer 1>outputs"]
    move(browser, 2)
    assert browser.run(BANDS) == ["inputs>layer 0", "layer 0>layer 1", "layer 1>outputs"]
    assert_quiet(browser)


def test_the_slider_is_moved_by_keys_and_says_where_it_is(browser: Browser, tmp_path: Path) -> None:
    opened(browser, tmp_path, grown_run(tmp_path / "r"))
    browser.run(f"document.querySelector('{SLIDER}').focus()")
    spoken = f"return document.querySelector('{SLIDER}').getAttribute('aria-valuetext')"
    press(browser, "Home")
    wait_until(lambda: browser.run(spoken) == "step 0, epoch 0: 2, the start")
    press(browser, "ArrowRight")
    wait_until(lambda: browser.run(spoken).startswith("step 20"))
    assert ["layer 1", "3"] in browser.run(WIDTHS)
    press(browser, "End")
    wait_until(lambda: browser.run(spoken).endswith("the end"))


def test_it_plays_by_itself_unless_its_reader_prefers_no_motion(
    browser: Browser, tmp_path: Path
) -> None:
    run = grown_run(tmp_path / "r")
    opened(browser, tmp_path, run)  # by a reader who does
    assert browser.run("return document.querySelectorAll('.replay button').length") == 0
    opened(browser, tmp_path, run, still=False)
    click(browser, ".replay button")
    assert browser.run("return document.querySelector('.replay button').textContent") == "Pause"
    wait_until(lambda: browser.run(TEXT).startswith("step 20"))
    wait_until(lambda: browser.run(TEXT).endswith("the end"))
    wait_until(
        lambda: browser.run("return document.querySelector('.replay button').textContent") == "Play"
    )
    assert_quiet(browser)


@pytest.mark.parametrize("width", [1280, 390])
def test_a_densenet_reads_all_layers_before(browser: Browser, tmp_path: Path, width: int) -> None:
    opened(browser, tmp_path, dense_run(tmp_path / "r"))
    browser.view(width)
    assert browser.run(WIDTHS)[1:-1] == [
        ["block 0 layer 0", "7"], ["block 1 layer 0", "4"], ["block 1 layer 1", "9"],
    ]  # fmt: skip
    assert "block 0 layer 0>block 1 layer 1" in browser.run(BANDS)
    assert browser.run(FAULTS) == []
    move(browser, 1)
    assert ["block 1 layer 1", "10"] in browser.run(WIDTHS)
    assert "block 0 layer 0>block 1 layer 1" in browser.run(BANDS)
    assert "block 1 layer 0" not in dict(browser.run(WIDTHS))
    assert browser.run(FAULTS) == []
    assert_quiet(browser)


@pytest.mark.parametrize("width", [1280, 390])
def test_many_wide_layers_have_room(browser: Browser, tmp_path: Path, width: int) -> None:
    hidden = [10 * k for k in range(1, 31)]
    later = [*hidden[:-1], 1000]
    run = run_directory(
        tmp_path / "r", hidden=hidden, history=[added(5, later, 29, 0.1, neurons=700)]
    )
    checkpoint(run, 5, [(w, w) for w in later], inputs=100_000, outputs=1000)
    opened(browser, tmp_path, run)
    browser.view(width)
    for place in (0, 1):
        move(browser, place)
        assert browser.run(FAULTS) == []
    boxes = browser.run(
        "return [...document.querySelectorAll('.network [data-feature]')].map((each) => {"
        "const box = each.getBoundingClientRect(); return [box.left, box.right, box.height]})"
    )
    assert len(boxes) == 32
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(boxes))
    assert max(height for _, _, height in boxes) < 230


def test_a_linear_network_becomes_one_with_a_layer(browser: Browser, tmp_path: Path) -> None:
    run = run_directory(
        tmp_path / "r", hidden=[], history=[inserted(10, [2], 0, 0.1)], metrics=[row(20, [2])]
    )
    opened(browser, tmp_path, run)
    move(browser, 0)
    assert browser.run(BANDS) == ["inputs>outputs"]
    assert browser.run(TEXT) == "step 0, epoch 0: no hidden layer, the start"
    move(browser, 1)
    assert browser.run(BANDS) == ["inputs>layer 0", "layer 0>outputs"]
