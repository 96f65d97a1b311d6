from __future__ import annotations

from pathlib import Path

import pytest

from senn_cli.report.plots import seconds
from senn_cli.report.plots.options import Options
from senn_cli.report.record import Record
from tests.report.plots.made import legend_texts, made_run


def test_what_the_parts_leave_is_other(record: Record) -> None:
    assert seconds.parts(record) == {"train": 6.0, "score": 3.0, "other": pytest.approx(1.0)}


def test_rounding_is_no_part(tmp_path: Path) -> None:
    summary = {"seconds": {"train": 6.0, "total": 6.01}}
    assert seconds.parts(made_run(tmp_path / "r", summary=summary)) == {"train": 6.0}


def test_one_run(record: Record) -> None:
    axes = seconds.draw([record], Options()).axes[0]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([6, 3, 1])
    assert [text.get_text() for text in axes.texts] == ["6.0 s, 60%", "3.0 s, 30%", "1.0 s, 10%"]
    assert axes.get_xlabel() == "time (s)"


def test_several_runs(record: Record, tmp_path: Path) -> None:
    other = made_run(tmp_path / "r", seed=1, summary={"seconds": {"save": 2.0, "score": 4.0}})
    figure = seconds.draw([record, other], Options())
    axes = figure.axes[0]
    spans = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches]
    # Train, score, other and save, each for both runs.
    assert spans == [(0, 6), (0, 0), (6, 9), (0, 4), (9, 10), (4, 4), (10, 10), (4, 6)]
    assert legend_texts(figure) == ["train", "score", "other", "save"]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["seed 0", "seed 1"]
