"""Pages of many runs with odd names, and of a very long one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from senn_cli.report.page.run import run_data
from senn_cli.report.record import read_record
from tests.handmade import added, event, row, run_directory
from tests.report.page.browser import Browser
from tests.report.page.made import long_run
from tests.report.page.test_assemble import data_of, page_of
from tests.report.page.test_browser import FAULTS, assert_quiet, opened

NAMES = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    '"><img src=x onerror=alert(3)>',
    'it\'s "quoted" & <b>bold</b>',
    "very long " * 60,
    "nobreak" * 60,
    "\u202eright to left",
    "سلام دنیا",
    "emoji 😀👩‍👩‍👧‍👦",
    "<!--",
    "$title ${data} %s {0}",
    "__proto__",
]


def hundred(place: Path) -> list[Path]:
    """A hundred runs, every name several times with other seeds and options, some without rows."""
    paths = []
    for k in range(100):
        name = NAMES[k % len(NAMES)]
        history = [
            event(5, [2], reason=f"{name} is no reason"),
            added(10, [3 + k % 4], 0, 0.1, site=name, reason=name, neurons=1 + k % 4),
        ]
        metrics = [row(step, [2], train_loss=1 / step + 0.01 * k) for step in range(1, 20)]
        path = run_directory(
            place / f"{k:03d}",
            name=json.dumps(name, ensure_ascii=False),
            metrics=metrics if k % 10 else [],
            history=history if k % 7 else [],
        )
        spec = (path / "spec.yaml").read_text().replace("seed: 3", f"seed: {k // len(NAMES)}")
        (path / "spec.yaml").write_text(spec + f"note: {json.dumps(name, ensure_ascii=False)}\n")
        paths.append(path)
    return paths


@pytest.mark.parametrize("width", [1280, 390])
def test_a_hundred_runs_of_odd_names(browser: Browser, tmp_path: Path, width: int) -> None:
    opened(browser, tmp_path, *hundred(tmp_path))
    browser.view(width)
    assert browser.run("return document.querySelector('h1').textContent") == "100 runs"
    assert browser.run(FAULTS) == []
    assert browser.run("return document.querySelectorAll('#overview-growth figure').length") == 12
    browser.run("document.querySelector('#overview-growth > button').click()")
    assert browser.run("return document.querySelectorAll('#overview-growth figure').length") == 24
    assert browser.run("return document.querySelectorAll('#overview-groups .legend *').length") > 0
    choose = (
        "const list = document.querySelector('#tab-list'); list.value = arguments[0];"
        "list.dispatchEvent(new Event('change'));"
        "return document.querySelector('.log .reason, .log td.reason')?.textContent"
    )
    for k, name in enumerate(NAMES, start=1):
        reason = browser.run(choose, str(k))
        if (k - 1) % 7:
            assert reason == f"{name} is no reason"
        assert browser.run(FAULTS) == []
    inert = "return document.querySelectorAll('img, b, #page script').length"
    assert browser.run(inert) == 0
    assert_quiet(browser)


def test_a_hundred_runs_are_a_small_page(tmp_path: Path) -> None:
    text = page_of(*hundred(tmp_path))
    assert len(text.encode()) < 1_500_000
    assert len(data_of(text)["runs"]) == 100


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 20,000 rows and as many decisions, with one loss far below and one far above."""
    run = long_run(tmp_path_factory.mktemp("long") / "r", 20_000)
    path = run / "metrics.jsonl"
    rows: list[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()]
    rows[7_777]["train_loss"], rows[13_131]["train_loss"] = 0.5, 7.5
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return run


@pytest.mark.slow
def test_twenty_thousand_rows_are_thinned_out_but_for_extremes(long: Path) -> None:
    text = page_of(long)
    assert len(text.encode()) < 6_000_000
    (run,) = data_of(text)["runs"]
    assert run["totals"] == {"rows": 20_000, "decisions": 20_000, "rounds": 2_000}
    curves = run["curves"]
    assert len(curves["step"]) < 6_100
    told = dict(zip(curves["step"], curves["train_loss"], strict=True))
    assert (told[7_778], told[13_132]) == (0.5, 7.5)
    assert (curves["step"][0], curves["step"][-1]) == (1, 20_000)


@pytest.mark.slow
def test_of_many_long_runs_each_has_less(long: Path) -> None:
    run = run_data(read_record(long), 10)
    assert len(run["decisions"]["step"]) <= 2_000
    assert sum(run["decisions"]["accepted"]) > 1_900
    assert len(run["curves"]["step"]) < 700
    told = dict(zip(run["curves"]["step"], run["curves"]["train_loss"], strict=True))
    assert (told[7_778], told[13_132]) == (0.5, 7.5)


@pytest.mark.slow
def test_twenty_thousand_rows_are_drawn(browser: Browser, tmp_path: Path, long: Path) -> None:
    opened(browser, tmp_path, long)
    assert browser.run(FAULTS) == []
    assert "Of 20,000 rows" in browser.run("return document.querySelector('#curves').innerText")
    box = browser.run(
        "const box = document.querySelector('#curves path.curve').getBBox(); return box.height"
    )
    assert box > 150  # the two extremes are there
    browser.run(
        "const slider = document.querySelector('.replay input'); slider.value = 1000;"
        "slider.dispatchEvent(new Event('input'))"
    )
    width = "return document.querySelector('.network [data-feature=\"layer 0\"]').dataset.width"
    assert browser.run(width) == str(2 + 1000)
    assert browser.run("return document.querySelectorAll('*').length") < 3000
    assert_quiet(browser)
