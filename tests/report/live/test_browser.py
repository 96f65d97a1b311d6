"""The page of `senn watch` in a real browser: it follows a run and leaves its reader alone."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from senn_cli.report.live import feed
from senn_cli.report.live.feed import Feed
from senn_cli.report.live.server import Server
from senn_cli.runs.holder import Holder
from tests.handmade import added, row, run_directory
from tests.report.page.browser import Browser
from tests.report.page.test_browser import CELLS, READY
from tests.waiting import wait_until

TEXT = "return document.querySelector(arguments[0]).innerText"


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Server]]:
    """A run that goes on in a folder that is watched, looked at all the time."""
    monkeypatch.setattr(feed, "INTERVAL", 0.05)
    run = run_directory(
        tmp_path / "r",
        metrics=[row(10 * k, [2], train_loss=1 / k) for k in (1, 2, 3)],
        history=[added(10, [3], 0, 0.5), added(20, [4], 0, 0.25)],
    )
    (run / "lock.json").write_text(json.dumps(asdict(Holder.current())))
    with Server(Feed([tmp_path])) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield run, server
        server.shutdown()
        thread.join()


def opened(browser: Browser, server: Server) -> None:
    browser.leave()
    browser.view(1280)
    browser.visit(server.address)
    wait_until(lambda: browser.run(READY))


def append(path: Path, *rows: dict[str, object]) -> None:
    with path.open("a") as file:
        file.write("".join(json.dumps(each) + "\n" for each in rows))


def test_what_comes_is_shown(browser: Browser, live: tuple[Path, Server]) -> None:
    run, server = live
    opened(browser, server)
    assert browser.run(TEXT, ".live").endswith("1 run going on.")
    assert browser.run(CELLS, "step") == ["10", "20"]
    append(run / "history.jsonl", added(30, [5], 0, 0.125))
    append(run / "metrics.jsonl", row(40, [5], train_loss=0.03125))
    wait_until(lambda: browser.run(CELLS, "step") == ["10", "20", "30"])
    wait_until(lambda: "0.03125" in browser.run(TEXT, ".facts"))
    (run / "lock.json").unlink()
    wait_until(lambda: browser.run(TEXT, ".status").endswith("interrupted"))
    assert browser.messages() == []
    asked = {address.split("?")[0] for address in browser.requests()} - {"data:,"}
    assert asked == {server.address, f"{server.address}data"}


def test_what_a_reader_has_chosen_stays(browser: Browser, live: tuple[Path, Server]) -> None:
    run, server = live
    opened(browser, server)
    browser.run(
        "document.querySelector('#decisions [data-value=accepted]').click();"
        "document.querySelector('.log th[data-key=step] button').click();"
        "document.querySelector('.log th[data-key=step] button').click();"
        "const words = document.querySelector('[type=search]');"
        "words.focus(); words.value = 'Layer 0'; words.dispatchEvent(new Event('input'));"
        "words.setSelectionRange(1, 3); scrollTo(0, 700)"
    )
    append(run / "history.jsonl", added(30, [5], 0, 0.125))
    wait_until(lambda: browser.run(CELLS, "step") == ["30", "20", "10"])
    state = browser.run(
        "const words = document.activeElement;"
        "return [words.type, words.value, words.selectionStart, words.selectionEnd, scrollY]"
    )
    assert state == ["search", "Layer 0", 1, 3, 700]
    pressed = "[data-value=accepted][aria-pressed=true]"
    assert browser.run("return document.querySelectorAll(arguments[0]).length", pressed) == 1


def test_the_slider_stays_where_it_was_put(browser: Browser, live: tuple[Path, Server]) -> None:
    run, server = live
    opened(browser, server)
    slider = "document.querySelector('.replay input')"
    width = "return document.querySelector('.network [data-feature=\"layer 0\"]').dataset.width"
    assert browser.run(width) == "4"
    append(run / "history.jsonl", added(30, [5], 0, 0.125))
    wait_until(lambda: browser.run(width) == "5")  # at the end it follows
    browser.run(f"{slider}.value = 1; {slider}.dispatchEvent(new Event('input')); {slider}.focus()")
    assert browser.run(width) == "3"
    append(run / "history.jsonl", added(40, [6], 0, 0.125))
    wait_until(lambda: browser.run(f"return {slider}.max") == "4")
    assert browser.run(width) == "3"
    assert browser.run(f"return document.activeElement === {slider}") is True
    assert browser.messages() == []


def test_a_reader_of_a_chart_is_not_disturbed(browser: Browser, live: tuple[Path, Server]) -> None:
    run, server = live
    opened(browser, server)
    browser.run(
        "const chart = document.querySelector('#growth .chart svg'); chart.focus();"
        "chart.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))"
    )
    append(run / "history.jsonl", added(30, [5], 0, 0.125))
    wait_until(lambda: "There is news" in browser.run(TEXT, ".live"))
    assert browser.run(CELLS, "step") == ["10", "20"]
    browser.run("document.activeElement.blur()")
    wait_until(lambda: browser.run(CELLS, "step") == ["10", "20", "30"])


def test_runs_come_and_go(browser: Browser, live: tuple[Path, Server]) -> None:
    run, server = live
    opened(browser, server)
    run_directory(run.parent / "s", name="second", metrics=[row(10, [2], train_loss=1.0)])
    tabs = "return [...document.querySelectorAll('[role=tab]')].map((tab) => tab.textContent)"
    wait_until(lambda: browser.run(tabs) == ["Overview", "made", "second"])
    shutil.rmtree(run)
    wait_until(lambda: "deleted" in browser.run(TEXT, "#overview-table"))
    browser.run("document.querySelector('#tab-1').click()")
    assert "no longer there" in browser.run(TEXT, "header")
    assert browser.run(TEXT, ".live").endswith("No run is going on.")
    assert browser.messages() == []


def test_a_server_that_has_ended_is_said_so(browser: Browser, tmp_path: Path) -> None:
    run = run_directory(tmp_path / "r", metrics=[row(10, [2], train_loss=1.0)])
    with Server(Feed([run])) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        opened(browser, server)
        server.shutdown()
        thread.join()
    wait_until(lambda: "does not answer" in browser.run(TEXT, ".live"))
    assert browser.run(TEXT, "h1") == "made"
