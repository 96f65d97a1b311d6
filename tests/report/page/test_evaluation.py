from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from senn_cli.errors import RunError
from senn_cli.report.page.evaluation import MISTAKES, MOST_CLASSES, evaluation
from senn_cli.report.record import read_record
from tests.handmade import checkpoint, dense_run
from tests.report.page.browser import Browser
from tests.report.page.made import grown_run
from tests.report.page.test_browser import FAULTS, assert_quiet, opened

PIXELS = base64.b64encode(bytes([0, 64, 128, 255])).decode()
BIN = {"low": 0.8, "high": 1.0, "count": 9, "confidence": 0.9, "accuracy": 1.0}


def example(number: int, own: Any, said: Any, **more: Any) -> dict[str, Any]:
    return {"id": number, "true": own, "predicted": said, "confidence": 0.75} | more


def classified(names: list[str], **more: Any) -> dict[str, Any]:
    """An evaluation of a class an example, all right but for the first, taken for the last."""
    counts = [[int(i == j and i > 0) for j in range(len(names))] for i in range(len(names))]
    counts[0][-1] = 1
    image = {"size": [2, 2, 1], "pixels": PIXELS}
    return {
        "format": 1, "step": 50, "split": "test", "task": "classification",
        "examples": len(names), "loss": 0.5, "accuracy": 0.875, "top5_accuracy": None,
        "classes": [{"name": name} for name in names], "confusion": counts,
        "calibration": {"error": 0.125, "bins": [BIN, BIN | {"count": 0, "accuracy": None}]},
        "shown": {
            "columns": [], "more": 0, "wrong": [example(7, names[0], names[-1], **image)],
            "right": [example(8, names[1], names[1], **image)],
        },
        "notes": [],
    } | more  # fmt: skip


def regressed(targets: list[str]) -> dict[str, Any]:
    columns = [[0.5 * k for k in range(20)] for _ in targets]
    row = example(3, [1.0] * len(targets), [2.0] * len(targets), values=[0.5, "Rome", None])
    return {
        "format": 1, "step": 50, "split": "test", "task": "regression", "examples": 20,
        "loss": 0.5, "mse": 0.25, "rmse": 0.5, "mae": 0.375, "targets": [], "notes": [],
        "shown": {
            "columns": ["a", "city", "gap"], "more": 4, "furthest": [row], "nearest": [row],
            "points": {"targets": targets, "true": columns, "predicted": columns},
        },
    }  # fmt: skip


def kept(run: Path, value: Any, split: str = "test") -> Path:
    (run / f"evaluation-{split}.json").write_text(json.dumps(value))
    summary = json.loads((run / "summary.json").read_text())
    (run / "summary.json").write_text(json.dumps(summary | {"steps": 50}))
    return run


def test_without_a_file_the_command_is_told(tmp_path: Path) -> None:
    run = grown_run(tmp_path / "a b")
    assert evaluation(read_record(run)) == {"command": f"senn evaluate '{run}'", "found": None}


def test_the_test_part_comes_first_and_a_step_before_the_end_shows_none(tmp_path: Path) -> None:
    run = kept(grown_run(tmp_path / "r"), classified(["a", "b"], split="train"), "train")
    assert evaluation(read_record(run))["found"]["split"] == "train"
    kept(run, classified(["a", "b"]))
    found = evaluation(read_record(run))["found"]
    assert (found["split"], found["old"]) == ("test", False)
    assert found["measures"] == {"loss": 0.5, "accuracy": 0.875}
    assert found["calibration"]["count"] == [9]
    assert evaluation(read_record(run, 30))["found"] is None
    place = checkpoint(run, 30, [(2, 8), (3, 8)])
    assert evaluation(read_record(place))["found"] is None


def test_of_many_classes_the_mistakes_are_listed(tmp_path: Path) -> None:
    names = [f"c{k}" for k in range(MOST_CLASSES + 1)]
    value = classified(names)
    for i in range(MISTAKES + 5):
        value["confusion"][i][(i + 1) % len(names)] = 2 + i
    run = kept(grown_run(tmp_path / "r"), value)
    found = evaluation(read_record(run))["found"]
    assert found["confusion"] is None
    assert found["mistakes"][0] == (f"c{MISTAKES + 4}", f"c{MISTAKES + 5}", MISTAKES + 6)
    assert len(found["mistakes"]) == MISTAKES


FAULTY: dict[str, Any] = {
    "no JSON": None,
    "no object": [],
    "no split": {"examples": 3},
    "other confusions": classified(["a", "b"], confusion=[[1, 2]]),
    "text for a count": classified(["a", "b"], confusion=[[1, "x"], [0, 1]]),
    "a huge image": classified(
        ["a", "b"],
        shown={
            "columns": [], "more": 0,
            "right": [example(1, "a", "a", size=[9000, 9000, 3], pixels="")],
        },
    ),
    "no bins": classified(["a", "b"], calibration={"error": 0.5}),
}  # fmt: skip


@pytest.mark.parametrize("value", FAULTY.values(), ids=FAULTY.keys())
def test_a_damaged_file_is_named_with_what_mends_it(tmp_path: Path, value: Any) -> None:
    run = kept(grown_run(tmp_path / "r"), value)
    if value is None:
        (run / "evaluation-test.json").write_text("{")
    with pytest.raises(RunError, match=r"evaluation-test\.json is not as senn writes it") as caught:
        evaluation(read_record(run))
    assert caught.value.hint == f"Make it anew: senn evaluate {run}"


HOSTILE = ["<script>alert(1)</script>", '"><img src=x>', "ع" * 60, "long " * 80, "😀", "\u202eabc"]


@pytest.mark.parametrize("width", [1280, 390])
def test_confusions_examples_and_calibration_of_odd_names(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    run = kept(grown_run(tmp_path / "r"), classified(HOSTILE))
    opened(browser, tmp_path, run)
    browser.view(width)
    assert browser.run(FAULTS) == []
    section = "return document.querySelector('#evaluation').innerText"
    text = browser.run(section)
    assert "On 6 test examples: accuracy 87.50%, loss 0.5." in text
    assert "\u202eabc, not <script>alert(1)</script>" in text
    assert "calibration error is 0.125" in text
    assert browser.run("return document.querySelectorAll('#evaluation img').length") == 0
    shown = browser.run(
        "return [...document.querySelectorAll('#evaluation .cell')]"
        ".filter((cell) => cell.style.fillOpacity > 0).map((cell) => cell.dataset.cell)"
    )
    assert shown == ["0,5", "1,1", "2,2", "3,3", "4,4", "5,5"]
    grey = browser.run(
        "const canvas = document.querySelector('#evaluation canvas');"
        "return [...canvas.getContext('2d').getImageData(0, 0, 2, 2).data]"
    )
    assert grey == [v for p in (0, 64, 128, 255) for v in (p, p, p, 255)]
    said = browser.run(
        "const chart = document.querySelector('#evaluation .chart svg'); chart.focus();"
        "chart.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft', bubbles: true}));"
        "return document.querySelector('.tooltip').innerText"
    )
    assert said.startswith("\u202eabc recognised\n1 example, 100.00% of its 1")
    assert_quiet(browser)


@pytest.mark.parametrize("width", [1280, 390])
def test_predictions_of_several_targets(browser: Browser, tmp_path: Path, width: int) -> None:
    names = ["price", *HOSTILE[:5]]
    run = kept(grown_run(tmp_path / "r"), regressed(names))
    opened(browser, tmp_path, run)
    browser.view(width)
    assert browser.run(FAULTS) == []
    charts = "return document.querySelectorAll('#evaluation .predictions').length"
    assert browser.run(charts) == 4
    text = browser.run("return document.querySelector('#evaluation').innerText")
    assert "There are 2 more targets." in text
    assert "The first 3 columns; there are 4 more." in text
    row = browser.run("return document.querySelector('#evaluation tbody tr').innerText")
    assert row.split("\t")[-3:] == ["0.5", "Rome", "–"]
    assert_quiet(browser)


def test_every_label_has_its_figures(browser: Browser, tmp_path: Path) -> None:
    figures = {"accuracy": 0.75, "precision": None, "recall": 0.5, "f1": 0.25, "support": 1234}
    row = example(1, "<b>, sun", "none", confidence=None, values=[0.5])
    value = {
        "step": 50, "split": "test", "task": "multilabel", "examples": 20, "loss": 0.5,
        "accuracy": 0.75, "exact": 0.125, "f1": None, "labels": [{"name": "<b>"} | figures],
        "shown": {"columns": ["a"], "more": 0, "wrong": [row], "right": []},
    }  # fmt: skip
    opened(browser, tmp_path, kept(grown_run(tmp_path / "r"), value))
    text = browser.run("return document.querySelector('#evaluation').innerText")
    assert "accuracy 75.00%, all labels right 12.50%, loss 0.5." in text
    assert "<b>\t75.00%\t–\t50.00%\t25.00%\t1,234" in text
    assert "1\t<b>, sun\tnone\t0.5" in text
    assert_quiet(browser)


def test_without_an_evaluation_the_page_says_how_to_make_one(
    browser: Browser, tmp_path: Path
) -> None:
    opened(browser, tmp_path, dense_run(tmp_path / "r"))
    text = browser.run("return document.querySelector('#evaluation').innerText")
    assert f"senn evaluate {tmp_path / 'r'}" in text
    assert_quiet(browser)
