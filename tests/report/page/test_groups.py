from __future__ import annotations

import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from senn_cli.report.page.groups import PLACES, groups
from senn_cli.report.record import Record
from tests.handmade import record, row
from tests.report.page.browser import Browser
from tests.report.page.made import grown_run
from tests.report.page.test_browser import FAULTS, assert_quiet, click, opened

SPEC = {"name": "a", "network": {"hidden": [2]}}


def run(seed: int, losses: dict[int, float], width: int = 2, **spec: Any) -> Record:
    rows = [row(step, [width], train_loss=loss) for step, loss in losses.items()]
    known = SPEC | {"seed": seed} | spec
    return replace(record(metrics=rows), path=Path(f"/{seed}{spec}"), spec=known)


def test_seeds_of_one_setting_are_a_group() -> None:
    losses = [{10: 4.0, 20: 2.0}, {10: 8.0, 20: 1.0}, {10: 3.0}]
    records = [
        run(0, losses[0], width=2),
        run(5, {10: 1.0}, lr=0.5),  # alone in its setting
        run(1, losses[1], width=6),
        run(2, losses[2], width=4),
        run(3, {}),  # has just started
    ]
    (found,) = groups(records)
    assert found["text"] == "A: a, seeds 0, 1, 2"
    assert found["runs"] == [0, 2, 3]
    assert (len(found["steps"]), found["steps"][-1]) == (PLACES, 20)
    assert list(found["curves"]) == ["train_loss", "neurons"]
    told = found["curves"]["train_loss"]
    at = {step: found["steps"].index(step) for step in (10, 20)}
    assert told["mean"][0] is None
    first = [loss[10] for loss in losses]
    assert [told[key][at[10]] for key in ("mean", "low", "high", "count")] == [
        statistics.mean(first), min(first), max(first), 3,
    ]  # fmt: skip
    # The third has not come so far.
    assert [told[key][at[20]] for key in ("mean", "low", "high", "count")] == [1.5, 1.0, 2.0, 2]
    neurons = found["curves"]["neurons"]
    assert [neurons[key][at[10]] for key in ("mean", "low", "high")] == [4, 2, 6]


def test_between_rows_the_last_one_holds() -> None:
    (found,) = groups([run(0, {4: 4.0, 8: 2.0}), run(1, {2: 8.0, 6: 6.0, 8: 0.5})])
    steps = np.array(found["steps"])
    a = np.where(steps < 4, np.nan, np.where(steps < 8, 4.0, 2.0))
    b = np.where(steps < 2, np.nan, np.where(steps < 6, 8.0, np.where(steps < 8, 6.0, 0.5)))
    known = ~np.isnan(b)
    told = found["curves"]["train_loss"]
    both = np.stack([a, b])[:, known]
    np.testing.assert_allclose(np.array(told["mean"], float)[known], np.nanmean(both, axis=0))
    np.testing.assert_allclose(np.array(told["low"], float)[known], np.nanmin(both, axis=0))
    np.testing.assert_allclose(np.array(told["high"], float)[known], np.nanmax(both, axis=0))
    assert set(told["count"]) == {0, 1, 2}


def test_bands_and_growth_side_by_side(browser: Browser, tmp_path: Path) -> None:
    opened(browser, tmp_path, grown_run(tmp_path / "a"), grown_run(tmp_path / "b"))
    spreads = "return document.querySelectorAll('#overview-groups .spread').length"
    assert browser.run(spreads) == 4
    click(browser, "#overview-groups button[data-key='0']")
    assert browser.run(spreads) == 0
    sides = "return [...document.querySelectorAll('#overview-growth figure')].map((f) => f.innerText.split('\\n')[0])"  # noqa: E501
    assert browser.run(sides) == ["a", "b"]
    for unit in ("epoch", "step"):
        click(browser, f"[data-value={unit}]")
        for width in (1280, 390):
            browser.view(width)
            assert browser.run(FAULTS) == []
    click(browser, "#overview-growth figure:nth-child(2) button")
    assert browser.run("return document.querySelector('h1').textContent") == "b"
    assert_quiet(browser)
