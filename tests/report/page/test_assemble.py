from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from senn_cli.report.page.assemble import LIVE, SCRIPTS, embedded, page
from senn_cli.report.record import read_record
from tests.counting import calls, documents_read
from tests.handmade import added, event, inserted, row, run_directory
from tests.report.page.made import grown_run, long_run

MADE = datetime(2025, 1, 2, 3, 4, tzinfo=UTC)


def page_of(*runs: Path) -> str:
    return page([read_record(run) for run in runs], MADE)


def data_of(text: str) -> dict[str, Any]:
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text)
    value: dict[str, Any] = json.loads(found)
    return value


def test_the_data_of_one_run(tmp_path: Path) -> None:
    data = data_of(page_of(grown_run(tmp_path / "r")))
    (run,) = data["runs"]
    assert (run["name"], run["status"], data["comparison"]) == ("made", "finished", None)
    assert [layer["name"] for layer in run["layers"]] == ["layer 0", "layer 1"]
    assert len(run["decisions"]["step"]) == 6
    assert run["spec"] == (tmp_path / "r/spec.yaml").read_text()
    assert data["made"].startswith("2025-01-02 03:04")


def test_several_runs_are_compared(tmp_path: Path) -> None:
    data = data_of(page_of(grown_run(tmp_path / "a"), grown_run(tmp_path / "b")))
    assert [run["label"] for run in data["runs"]] == ["a", "b"]
    assert [line[0] for line in data["comparison"]["rows"]] == ["a", "b"]


def test_texts_of_users_stay_texts(tmp_path: Path) -> None:
    name = "</script><script>alert(1)</script><!-- $style & é"
    run = run_directory(
        tmp_path / "r",
        name=json.dumps(name),
        history=[added(10, [3], 0, 0.1, reason="</SCRIPT ><b>")],
        metrics=[row(10, [2])],
    )
    text = page_of(run)
    assert text.count("</script>") == 2  # those of the template
    assert "alert(1)</script>" not in text
    title = re.search(r"<title>(.*)</title>", text)
    assert title is not None
    assert title[1].startswith(
        "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;!-- $style &amp; é"
    )
    data = data_of(text)
    assert data["runs"][0]["name"] == name
    assert data["runs"][0]["decisions"]["reason"] == ["</SCRIPT ><b>"]


def test_json_in_a_script_element() -> None:
    text = embedded({"a": "<!--<script></script>", "b": float("nan"), "c": "\ud800"})
    assert "<" not in text
    assert json.loads(text) == {"a": "<!--<script></script>", "b": None, "c": "?"}
    text.encode("utf-8")


def test_nothing_is_loaded_from_elsewhere(tmp_path: Path) -> None:
    text = page_of(grown_run(tmp_path / "r"))
    assert "default-src 'none'" in text
    assert not re.search(r"(src|href)=\"(?!data:)", text)
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|import\(", text)
    addresses = set(re.findall(r"https?://[^\s\"'<]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, never asked for


def test_all_scripts_are_part_of_the_page() -> None:
    place = resources.files("senn_cli.report.page") / "js"
    files = {item.name for item in place.iterdir()}
    assert files == {f"{name}.js" for name in (*SCRIPTS, *LIVE)}
    for name in (*SCRIPTS, *LIVE):
        assert "</" not in (place / f"{name}.js").read_text()


def test_a_small_run_is_a_small_page(tmp_path: Path) -> None:
    assert len(page_of(grown_run(tmp_path / "r")).encode()) < 130_000


def test_the_work_is_proportional_to_the_decisions(tmp_path: Path) -> None:
    few, many = (long_run(tmp_path / f"{n}", n) for n in (1_000, 2_000))
    page_of(few)  # what is done once is done
    assert calls(lambda: page_of(many)) < 2.1 * calls(lambda: page_of(few))


def test_ten_thousand_decisions_are_read_once_and_small(tmp_path: Path) -> None:
    run = long_run(tmp_path / "r", 10_000)
    with documents_read() as read:
        text = page_of(run)
    assert len(read) == sum(
        len((run / name).read_text().splitlines()) for name in ("history.jsonl", "metrics.jsonl")
    )
    assert len(text) < 3_000_000
    (shown,) = data_of(text)["runs"]
    assert len(shown["decisions"]["step"]) == 10_000
    assert len(shown["curves"]["step"]) < 6_100


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"metrics": [row(10, [2], train_loss=1.0)]},
        {"history": [event(10, [2])]},
        {"hidden": [], "history": [inserted(10, [2], 0, 0.1)]},
        {"metrics": [row(10, [2])], "summary": {"status": "diverged"}},
    ],
)
def test_runs_with_little_in_them(tmp_path: Path, content: dict[str, Any]) -> None:
    (run,) = data_of(page_of(run_directory(tmp_path / "r", **content)))["runs"]
    assert len(run["decisions"]["step"]) == len(content.get("history", ()))


def test_a_page_needs_no_jax(tmp_path: Path) -> None:
    run = grown_run(tmp_path / "r")
    code = (
        "import sys\nfrom datetime import datetime\nfrom pathlib import Path\n"
        "from senn_cli.report.page.assemble import page\n"
        "from senn_cli.report.record import read_record\n"
        "page([read_record(Path(sys.argv[1]))], datetime.now())\n"
        "print(sorted({'jax', 'flax', 'optax', 'orbax', 'matplotlib', 'rich'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, run],
        capture_output=True,
        text=True,
        env=dict(os.environ),
        check=False,
    )
    assert (result.stdout, result.stderr) == ("[]\n", "")
