from __future__ import annotations

from pathlib import Path

import pytest

from senn_cli.report.plots import widths
from senn_cli.report.plots.options import Options
from senn_cli.report.record import Record
from senn_cli.report.tracks import Track, tracks
from tests.report.plots.made import assert_readable, legend_texts, made_run, xy


def test_a_line_is_a_track_over_epochs(record: Record) -> None:
    figure = widths.draw([record], Options())
    accuracy, panel = figure.axes
    for line, track in zip(panel.lines, tracks(record), strict=True):
        assert [x * 5 for x, _ in xy(line)] == list(track.steps)
        assert [y for _, y in xy(line)] == list(track.widths)
        assert line.get_drawstyle() == "steps-post"
    assert [y for _, y in xy(accuracy.lines[0])] == pytest.approx([55, 60, 65, 70, 75, 80])
    assert accuracy.get_ylabel() == "validation\naccuracy (%)"
    assert panel.get_xlabel() == "epoch"
    assert panel.get_ylabel() == "neurons"


def test_without_validation_the_training_loss_is_shown(tmp_path: Path) -> None:
    rows = [{"step": 10, "epoch": 2, "train_loss": 0.5, "hidden": [4]}]
    figure = widths.draw([made_run(tmp_path / "r", history=(), metrics=rows)], Options())
    assert figure.axes[0].get_ylabel() == "training\nloss (nats)"


def test_a_panel_a_block(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    found = tuple(
        Track(f"layer {n}", 0, (0, 60), (8 + n, 9 + n), group=f"block {n // 3}") for n in range(8)
    )
    monkeypatch.setattr(widths, "tracks", lambda _: found)
    figure = widths.draw([record], Options())
    assert [len(axes.lines) for axes in figure.axes] == [1, 3, 3, 2]
    assert [axes.get_ylabel() for axes in figure.axes[1:]] == [
        f"block {block}\nneurons" for block in range(3)
    ]
    assert legend_texts(figure) == [f"layer {n} of a block" for n in (0, 1, 2)]
    assert_readable(figure)
