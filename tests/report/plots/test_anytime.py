from __future__ import annotations

from pathlib import Path

import pytest

from senn_cli.report.plots import anytime
from senn_cli.report.plots.options import Options
from senn_cli.report.record import Record
from tests.report.plots.made import HISTORY, METRICS, legend_texts, lines, made_run, xy


def test_total_sizes(record: Record) -> None:
    assert anytime.total_sizes(record) == ([0, 20, 30, 40, 50, 60], [0, 2, 3, 6, 5, 5])


def test_two_seeds_and_their_mean(record: Record, tmp_path: Path) -> None:
    rows = [dict(row, validation_accuracy=0.5) for row in METRICS if row["step"] != 30]
    other = made_run(tmp_path / "r", seed=1, history=HISTORY[:2], metrics=rows)
    figure = anytime.draw([record, other], Options())
    sizes, measure = figure.axes
    assert xy(sizes.lines[0]) == [(0, 0), (20, 2), (30, 3), (40, 6), (50, 5), (60, 5)]
    assert [y for _, y in xy(measure.lines[0])] == pytest.approx([55, 60, 65, 70, 75, 80])
    total, accuracy = lines(figure, "mean")
    assert xy(total) == [(0, 0), (20, 2), (30, 2.5), (40, 4), (50, 3.5), (60, 3.5)]
    assert [x for x, _ in xy(accuracy)] == [10, 20, 40, 50, 60]  # where both were evaluated
    assert [y for _, y in xy(accuracy)] == pytest.approx([52.5, 55, 60, 62.5, 65])
    assert legend_texts(figure) == ["seed 0", "seed 1", "mean"]
    assert measure.get_ylabel() == "validation\naccuracy (%)"
    assert measure.get_xlabel() == "mini-batches"


def test_other_experiments_have_no_mean(record: Record, tmp_path: Path) -> None:
    other = made_run(tmp_path / "r", name="other")
    assert lines(anytime.draw([record, other], Options()), "mean") == []


def test_several_experiments_are_means_and_bands(record: Record, tmp_path: Path) -> None:
    rows = [dict(row, validation_accuracy=0.5) for row in METRICS]
    other = made_run(tmp_path / "r", seed=1, history=HISTORY[:2], metrics=rows)
    alone = made_run(tmp_path / "s", name="other")
    figure = anytime.draw([record, other, alone], Options())
    assert legend_texts(figure) == ["half (2)", "other (1)"]
    sizes, measure = figure.axes
    assert xy(sizes.lines[0]) == [(0, 0), (20, 2), (30, 2.5), (40, 4), (50, 3.5), (60, 3.5)]
    corners = measure.collections[0].get_paths()[0].vertices
    known = {(float(step), end) for step in range(10, 70, 10) for end in (50.0, 50 + step / 2)}
    assert {(float(step), round(float(end), 6)) for step, end in corners} == known
