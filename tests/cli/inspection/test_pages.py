from __future__ import annotations

from pathlib import Path

import pytest

from senn_cli.cli.inspection import pages
from senn_cli.cli.inspection.pages import MOST_ROWS
from senn_cli.cli.inspection.screen import Line, Screen
from senn_cli.report.record import read_record
from tests.handmade import added, checkpoint, dense_run, event, row, run_directory

WIDE = Screen(1000, "utf-8")


def texts(lines: list[Line]) -> list[str]:
    return [text.rstrip() for text, _ in lines]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    history = []
    for index in range(60):
        site = f"layer {index % 2}"
        history.append(added(10 * index, [3 + index, 2], index % 2, 0.1, site=site, ratio=1.5))
        history.append(event(10 * index, [3 + index, 2], site=site, reason="a long reason " * 5))
    rows = [row(10, [2, 2], train_loss=3.0, eta=0.1, validation_accuracy=0.5), row(600, [62, 2])]
    resumed = [
        {"step": 10, "time": "2026-01-01", "overrides": ["a=b"], "branched_from": "/runs/one"}
    ]
    path = run_directory(
        tmp_path / "a [bold] é", name="'[red]é'", metrics=rows, history=history, resumed=resumed
    )
    checkpoint(path, 600, [(62, 8 * 8), (2, 8)])
    return path


@pytest.mark.parametrize("width", [40, 60, 80, 100])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("rejected", [False, True])
def test_nothing_is_wider_than_the_terminal(
    run: Path, width: int, encoding: str, rejected: bool
) -> None:
    screen = Screen(width, encoding, terminal=True)
    found = read_record(run)
    for lines in (
        pages.overview(found, screen, rejected=rejected),
        pages.history(found, screen, rejected=rejected),
        pages.architecture(found, screen),
        pages.live(found, screen, rejected=rejected),
    ):
        body = [screen.text(text) for text, _ in lines]
        # A path or a sentence about the run may be longer: a terminal wraps it.
        body = [t for t in body if not t.startswith(("directory", "resumed", "status", "step 6"))]
        assert max(map(len, body)) <= width
        if encoding == "ascii":
            assert "".join(body).isascii()


def test_the_overview_leaves_out_rows_in_the_middle_and_says_so(run: Path) -> None:
    lines = texts(pages.overview(read_record(run), WIDE))
    (index,) = [i for i, line in enumerate(lines) if "36 more: senn inspect history" in line]
    assert lines[index - 1].split()[0] == "70"  # the first 8
    assert lines[index + 1].split()[0] == "440"  # the last 16 of 60
    assert len([line for line in lines if "+1 neuron" in line]) == MOST_ROWS
    whole = texts(pages.history(read_record(run), WIDE))
    assert len([line for line in whole if "+1 neuron" in line]) == 60


@pytest.mark.parametrize("height", [5, 12, 24, 50])
def test_a_followed_run_fits_the_terminal(run: Path, height: int) -> None:
    lines = texts(pages.live(read_record(run), Screen(80, "utf-8", height=height)))
    assert len(lines) < height
    if height >= 24:  # the newest event is there
        assert lines[-1].split()[0] == "590"


def test_a_run_without_growth_says_why_not_on_request(tmp_path: Path) -> None:
    run = run_directory(tmp_path / "a", metrics=[row(10, [2])], history=[event(10, [2])])
    assert "History: nothing has grown; --rejected shows why nothing was accepted" in texts(
        pages.overview(read_record(run), WIDE)
    )
    lines = texts(pages.overview(read_record(run), WIDE, rejected=True))
    assert "History: 0 accepted of 1 decisions" in lines
    assert [line for line in lines if line.endswith("because")]
    static = run_directory(tmp_path / "b", metrics=[row(10, [2])])
    assert texts(pages.history(read_record(static), WIDE)) == ["History: nothing has grown"]


def test_room_is_no_decision_of_its_own(tmp_path: Path) -> None:
    lines = texts(pages.overview(read_record(dense_run(tmp_path / "dense")), WIDE))
    # Channels, a layer and two prunings; two rejections; not the enlarged capacity.
    assert "History: 4 accepted of 6 decisions" in lines
    assert any(line.startswith("made by") and "dormant proposals" in line for line in lines)
    (row,) = [line for line in lines if line.lstrip().startswith("80  block 1 layer 1")]
    assert row.split()[5:9] == ["-1", "channel", "0.0625", "-0.002"]
