"""The page in a real browser: it is used, looked at for overlaps, and asks for nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from senn_cli.report.page.assemble import page
from senn_cli.report.record import read_record
from tests.handmade import dense_run, event, inserted, row, run_directory
from tests.report.page.browser import Browser
from tests.report.page.made import grown_run, long_run
from tests.waiting import wait_until

# Texts of a chart that lie over one another or outside of the window, and a page that is too wide.
FAULTS = """
const found = [];
const wide = document.documentElement.scrollWidth;
if (wide > innerWidth) found.push(`the page is ${wide} wide in a window of ${innerWidth}`);
for (const chart of document.querySelectorAll(".chart svg")) {
  const name = chart.getAttribute("aria-label");
  const all = [...chart.querySelectorAll("text")];
  const texts = all.map((text) => [text.textContent, text.getBoundingClientRect()]);
  texts.forEach(([text, a], k) => {
    if (a.left < 0 || a.right > innerWidth) found.push(`${name}: ${text} is cut off`);
    for (const [other, b] of texts.slice(k + 1)) {
      // Boxes of texts have room above and below the letters.
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && down > 4) found.push(`${name}: ${text} lies over ${other}`);
    }
  });
}
return found;
"""
READY = """
const log = document.querySelector(".log");
return document.readyState === "complete" && (!log || document.querySelector(".log tbody tr"))
  ? true : false;
"""
CELLS = """
const heads = [...document.querySelectorAll(".log th")];
const place = heads.findIndex((head) => head.dataset.key === arguments[0]);
const lines = [...document.querySelectorAll(".log tbody tr")];
return lines.map((line) => line.cells[place].textContent);
"""
LOADS = "return document.querySelectorAll('#page section').length"


def opened(browser: Browser, place: Path, *runs: Path, still: bool = True) -> None:
    """Opens a page about the runs, for a reader who prefers reduced motion unless not `still`."""
    file = place / "page é.html"
    file.write_text(page([read_record(run) for run in runs], datetime.now(UTC)), encoding="utf-8")
    browser.leave()
    browser.view(1280, still=still)
    browser.open(file)
    wait_until(lambda: browser.run(READY))


def assert_quiet(browser: Browser) -> None:
    """No message in the console, and nothing asked for but the file and texts within it."""
    assert browser.messages() == []
    asked = browser.requests()
    assert any(address.startswith("file:") for address in asked)
    assert [a for a in asked if not (a.startswith("file:") and a.endswith(".html"))] == []


def click(browser: Browser, selector: str) -> None:
    browser.run("document.querySelector(arguments[0]).click()", selector)


def test_the_table_is_sorted_and_filtered(browser: Browser, tmp_path: Path) -> None:
    opened(browser, tmp_path, grown_run(tmp_path / "r"))
    steps = ["10", "20", "30", "40", "40", "50"]
    assert browser.run(CELLS, "step") == steps
    head = ".log th[data-key=ratio]"
    sort = "return document.querySelector(arguments[0]).getAttribute('aria-sort')"
    assert browser.run(sort, head) == "none"
    click(browser, f"{head} button")
    assert browser.run(sort, head) == "ascending"
    assert browser.run(CELLS, "ratio") == ["0.125", "0.25", "1", "2", "4", "9"]
    click(browser, f"{head} button")
    assert browser.run(sort, head) == "descending"
    assert browser.run(CELLS, "step") == ["30", "20", "40", "40", "10", "50"]
    click(browser, "[data-value=rejected]")
    assert browser.run(CELLS, "step") == ["10", "50"]
    click(browser, "[data-value=accepted]")
    assert browser.run(CELLS, "ratio") == ["9", "4", "2", "1"]
    click(browser, "[data-value=all]")
    find = "const i = document.querySelector('[type=search]'); i.value = arguments[0];"
    browser.run(find + "i.dispatchEvent(new Event('input'))", "TOO LOW")
    assert browser.run(CELLS, "step") == ["50"]
    assert_quiet(browser)


def test_a_layer_is_switched_off_and_on(browser: Browser, tmp_path: Path) -> None:
    opened(browser, tmp_path, grown_run(tmp_path / "r"))
    button = "#growth button[data-key='layer 1']"
    state = (
        "return [document.querySelector(arguments[0]).getAttribute('aria-pressed'),"
        "[...document.querySelectorAll('#growth [data-layer]')].map((b) => b.dataset.layer)]"
    )
    assert browser.run(state, button) == ["true", ["layer 0", "layer 1"]]
    click(browser, button)
    assert browser.run(state, button) == ["false", ["layer 0"]]
    click(browser, "#growth button[data-key='layer 0']")
    assert browser.run(state, button) == ["false", []]
    click(browser, button)
    assert browser.run(state, button) == ["true", ["layer 1"]]
    assert_quiet(browser)


def test_bands_are_as_high_as_layers_are_wide(browser: Browser, tmp_path: Path) -> None:
    opened(browser, tmp_path, grown_run(tmp_path / "r"))
    heights = browser.run(
        "const bands = [...document.querySelectorAll('#growth [data-layer]')];"
        "return bands.map((band) => band.getBBox().height)"
    )
    widest = (2, 5)  # the second layer also rises by the width of the first one
    assert heights[1] / heights[0] == pytest.approx(sum(widest) / widest[0], rel=0.01)


def test_a_round_tells_what_was_added_and_why(browser: Browser, tmp_path: Path) -> None:
    opened(browser, tmp_path, grown_run(tmp_path / "r"))
    key = (
        "const chart = document.querySelector('#growth .chart svg'); chart.focus();"
        "chart.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}));"
        "return document.querySelector('.tooltip').innerText"
    )
    first = browser.run(key, "ArrowRight")
    assert "step 20, epoch 2" in first
    assert "added 1 neuron at layer 0 (layer 1 at the end)" in first
    assert "4 against τ = 0.5" in first and "why: because" in first
    assert "predicted gain in loss 0.5" in first and "realised up to step 30: 0.25" in first
    assert "inserted a layer of 2 neurons" in browser.run(key, "ArrowRight")
    hidden = "return document.querySelector('.tooltip').hidden"
    assert browser.run(hidden) is False
    browser.run(key, "Escape")
    assert browser.run(hidden) is True


def test_equal_curves_do_not_hide_each_other(browser: Browser, tmp_path: Path) -> None:
    opened(browser, tmp_path, grown_run(tmp_path / "a"), grown_run(tmp_path / "b"))
    dashes = (
        "return [...document.querySelectorAll('#overview-curves path.curve')]"
        ".map((path) => path.style.strokeDasharray !== '')"
    )
    assert browser.run(dashes) == [False, True] * 4
    text = browser.run("return document.querySelector('#overview-curves').innerText")
    assert "b is the same as a: drawn in dashes." in text
    assert_quiet(browser)


def test_the_pointer_finds_a_round(browser: Browser, tmp_path: Path) -> None:
    opened(browser, tmp_path, grown_run(tmp_path / "r"))
    x, y = browser.run(
        "const sign = document.querySelector('[data-mark=layer]'); sign.scrollIntoView();"
        "const box = sign.getBoundingClientRect();"
        "return [box.left + box.width / 2, box.top + box.height / 2]"
    )
    browser.devtools("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y + 60)
    assert "step 30" in browser.run("return document.querySelector('.tooltip').innerText")


def test_epochs_along_x(browser: Browser, tmp_path: Path) -> None:
    opened(browser, tmp_path, grown_run(tmp_path / "r"))
    titles = "return [...document.querySelectorAll('.chart .axis-title')].map((t) => t.textContent)"
    assert browser.run(titles).count("training step") == 4
    click(browser, "[data-value=epoch]")
    assert browser.run(titles).count("epoch") == 4
    assert_quiet(browser)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_no_text_lies_over_another(
    browser: Browser, tmp_path: Path, width: int, dark: bool
) -> None:
    opened(browser, tmp_path, grown_run(tmp_path / "a"), grown_run(tmp_path / "b"))
    browser.view(width, dark=dark)
    for tab in (0, 1):
        click(browser, f"#tab-{tab}")
        assert browser.run("return document.querySelectorAll('.chart svg').length") > 3
        assert browser.run(FAULTS) == []
    paper = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") is not dark
    assert_quiet(browser)


def test_several_runs_have_tabs(browser: Browser, tmp_path: Path) -> None:
    opened(browser, tmp_path, grown_run(tmp_path / "a"), grown_run(tmp_path / "b"))
    head = "return document.querySelector('h1').textContent"
    assert browser.run(head) == "2 runs"
    click(browser, "#tab-2")
    assert browser.run(head) == "b"
    selected = "return document.querySelector('[aria-selected=true]').textContent"
    assert browser.run(selected) == "b"
    assert_quiet(browser)


RUNS: dict[str, dict[str, Any]] = {
    "just started": {},
    "without growth": {"metrics": [row(k, [2], train_loss=1.0) for k in (1, 2)]},
    "only rejections": {"history": [event(10, [2])], "metrics": [row(10, [2])]},
    "linear": {"hidden": [], "metrics": [row(10, [], train_loss=0.0)]},
    "one layer, no metrics": {"hidden": [], "history": [inserted(10, [2], 0, 0.1)]},
    "many layers": {"hidden": [3] * 12, "metrics": [row(10, [3] * 12, validation_mse=1e-7)]},
    "diverged": {"metrics": [row(10, [2], train_loss=None)], "summary": {"status": "diverged"}},
}


@pytest.mark.parametrize("content", RUNS.values(), ids=RUNS.keys())
def test_pages_of_runs_with_little_in_them(
    browser: Browser, tmp_path: Path, content: dict[str, Any]
) -> None:
    opened(browser, tmp_path, run_directory(tmp_path / "r", **content))
    assert browser.run(LOADS) == 10
    browser.view(390)
    assert browser.run(FAULTS) == []
    assert_quiet(browser)


def test_texts_of_users_are_no_markup(browser: Browser, tmp_path: Path) -> None:
    name = "'<img src=x onerror=alert(1)></script><b>é'"
    opened(browser, tmp_path, run_directory(tmp_path / "r", name=name))
    assert browser.run("return document.querySelector('h1').textContent") == name.strip("'")
    assert browser.run("return document.querySelectorAll('img, b').length") == 0
    assert_quiet(browser)


def test_ten_thousand_decisions_are_shown_in_pages(browser: Browser, tmp_path: Path) -> None:
    opened(browser, tmp_path, long_run(tmp_path / "r", 10_000))
    assert len(browser.run(CELLS, "step")) == 50
    click(browser, ".log th[data-key=reason] button")
    total = "return document.querySelector('.pager').textContent"
    assert browser.run(total).endswith("1–50 of 10,000")
    browser.run("document.querySelectorAll('.pager button')[1].click()")
    assert browser.run(total).endswith("51–100 of 10,000")
    assert browser.run("return document.querySelectorAll('*').length") < 3000
    assert_quiet(browser)


@pytest.mark.parametrize("width", [1280, 390])
def test_a_densenet_that_grew_and_was_pruned(browser: Browser, tmp_path: Path, width: int) -> None:
    opened(browser, tmp_path, dense_run(tmp_path / "dense"))
    browser.view(width)
    assert browser.run(FAULTS) == []
    keys = "return [...document.querySelectorAll(arguments[0])].map((each) => each.dataset.key)"
    names = ["block 0 layer 0", "block 1 layer 0", "block 1 layer 1"]
    assert browser.run(keys, "#growth .legend button") == names
    # Nothing was proposed for the inserted layer; the others keep their colours.
    assert browser.run(keys, "#scores .legend button") == [names[0], names[2]]
    colours = "return document.querySelector(arguments[0]).getAttribute('style')"
    for place in ("#growth", "#scores"):
        shown = browser.run(colours, f"{place} .legend [data-key='{names[2]}'] rect")
        assert shown == "fill:var(--c2)"
    text = "return document.querySelector(arguments[0]).textContent"
    assert "did not measure the loss" in browser.run(text, "#gains")
    assert "tracking curvature" in browser.run(text, "#seconds")
    assert browser.run(CELLS, "what").count("pruned 1 channel") == 2
    last = browser.run(
        "const chart = document.querySelector('#growth .chart svg'); chart.focus();"
        "const key = {key: 'ArrowRight', bubbles: true};"
        "for (let k = 0; k < 3; k++) chart.dispatchEvent(new KeyboardEvent('keydown', key));"
        "return document.querySelector('.tooltip').innerText"
    )
    assert "predicted change of the loss +0.002, came to +0.003" in last
    assert "came to +0.0005" in last
    assert_quiet(browser)
