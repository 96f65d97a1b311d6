from __future__ import annotations

from pathlib import Path

import pytest

from senn_cli.report.plots import loss
from senn_cli.report.plots.options import Options
from senn_cli.report.record import Record
from tests.report.plots.made import legend_texts, made_run, xy


def test_losses_and_accuracy(record: Record) -> None:
    figure = loss.draw([record], Options())
    _, losses, accuracy = figure.axes
    train, validation = (line for line in losses.lines if len(line.get_xdata()) == 6)
    steps = [10, 20, 30, 40, 50, 60]
    assert xy(train) == list(zip(steps, [0.9, 0.8, 0.7, 0.6, 0.5, 0.45], strict=True))
    assert [y for _, y in xy(validation)] == pytest.approx([1.0, 0.9, 0.8, 0.7, 0.6, 0.5])
    assert validation.get_linestyle() == "--"
    (measured,) = (line for line in accuracy.lines if len(line.get_xdata()) == 6)
    assert [y for _, y in xy(measured)] == pytest.approx([55, 60, 65, 70, 75, 80])
    assert losses.get_ylabel() == "loss (nats)"
    assert accuracy.get_ylabel() == "validation\naccuracy (%)"
    assert legend_texts(figure) == ["training", "validation"]
    assert losses.get_yscale() == "linear"


def test_insertions_are_marked(record: Record) -> None:
    figure = loss.draw([record], Options())
    marks = [line.get_xdata()[0] for line in figure.axes[1].lines if line.get_linestyle() == ":"]
    assert marks == [20, 40]


def test_several_runs_without_events(tmp_path: Path) -> None:
    runs = [made_run(tmp_path / str(seed), seed=seed) for seed in range(3)]
    figure = loss.draw(runs, Options())
    assert len(figure.axes) == 2
    assert len(figure.axes[0].lines) == 6
    assert legend_texts(figure)[:3] == ["seed 0", "seed 1 = seed 0", "seed 2 = seed 0"]


def test_a_falling_loss_gets_a_logarithmic_axis(tmp_path: Path) -> None:
    rows = [{"step": s, "train_loss": 10.0 ** (1 - s), "hidden": [4]} for s in (1, 2, 3, 4, 5)]
    figure = loss.draw([made_run(tmp_path / "r", history=(), metrics=rows)], Options())
    assert [axes.get_yscale() for axes in figure.axes] == ["log"]
