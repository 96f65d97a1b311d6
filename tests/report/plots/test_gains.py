from __future__ import annotations

from pathlib import Path

from senn_cli.report.plots import gains
from senn_cli.report.plots.options import Options
from senn_cli.report.record import Record
from tests.report.plots.made import event, legend_texts, lines, made_run, xy


def test_points(record: Record) -> None:
    figure = gains.draw([record], Options())
    (points,) = lines(figure, "gains-half")
    # From the losses 0.875, 0.75, 0.625 and 0.5 of the rounds at 20, 30, 40 and 50.
    assert [x for x, _ in xy(points)] == [0.2, 0.05, 0.1]
    assert [y for _, y in xy(points)] == [0.125, 0.125, 0.125]
    (before,) = lines(figure, "before-half")
    assert [x for x, _ in xy(before)] == [0.2, 0.05, 0.1]
    (equal,) = lines(figure, "equal")
    assert all(x == y for x, y in xy(equal))
    assert xy(equal)[-1][0] > 0.2
    axes = figure.axes[0]
    assert axes.get_xlabel() == r"predicted gain $\Delta\eta/2$ (nats)"
    assert axes.get_ylabel() == "realised gain (nats)"
    assert legend_texts(figure)[0] == "half: 3 rounds"  # no spread, so no correlation


def test_correlation_is_told_and_scales_fit(tmp_path: Path) -> None:
    losses = [4.0, 3.0, 2.9, 2.5, 2.6]  # gains 1, 0.1, 0.4 and -0.1
    history = [
        event(s, "add_neurons", [5 + s], layer=0, neurons=1, train_loss=v, predicted_gain=10.0**-s)
        for s, v in enumerate(losses)
    ]
    figure = gains.draw([made_run(tmp_path / "r", history=history, metrics=())], Options())
    axes = figure.axes[0]
    assert axes.get_xscale() == axes.get_yscale() == "symlog"
    # The ranks 4, 3, 2, 1 and 4, 2, 3, 1: 1 - 6 * 2 / (4 * 15).
    assert legend_texts(figure)[0] == "half: 4 rounds, 0.80 by rank"
    (points,) = lines(figure, "gains-r")
    for x, y in xy(points):
        assert axes.get_xlim()[0] <= x <= axes.get_xlim()[1]
        assert axes.get_ylim()[0] <= y <= axes.get_ylim()[1]
