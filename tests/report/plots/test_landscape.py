from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from senn_cli.errors import UsageError
from senn_cli.report.plots import landscape
from senn_cli.report.plots.options import DOUBLE, Options
from senn_cli.report.plots.recordings import landscapes
from senn_cli.report.record import Record
from tests.report.plots.made import (
    assert_readable,
    legend_texts,
    lines,
    made_run,
    save_landscape,
    xy,
)


def titles(record: Record, *steps: int) -> list[str]:
    figure = landscape.draw([record], Options(width=DOUBLE, steps=steps))
    return [axes.get_title() for axes in figure.axes if axes.get_title()]


def test_the_key_moments(recorded: Record) -> None:
    assert titles(recorded) == ["before step 20", "after step 20", "before step 30", "end, step 60"]


def test_steps_can_be_chosen(recorded: Record) -> None:
    assert titles(recorded, 30) == ["before step 30", "after step 30"]


def test_a_run_with_one_addition(record: Record) -> None:
    for when in ("before", "after"):
        save_landscape(record.path, 20, when)
    assert titles(record) == ["before step 20", "after step 20"]
    save_landscape(record.path, 60, "end")
    assert titles(record) == ["before step 20", "after step 20", "end, step 60"]


def test_a_run_that_never_grew(record: Record) -> None:
    save_landscape(record.path, 60, "end")
    assert titles(record) == ["end, step 60"]


def test_too_many_panels(tmp_path: Path) -> None:
    record = made_run(tmp_path / "r")
    steps = tuple(range(10, 100, 10))
    for step in steps:
        save_landscape(tmp_path / "r", step, "before")
    with pytest.raises(UsageError, match="9 landscapes were recorded at these steps, at most 8"):
        landscape.draw([record], Options(steps=steps))


def test_what_is_drawn(recorded: Record) -> None:
    figure = landscape.draw([recorded], Options(width=DOUBLE, steps=(60,)))
    (shown,) = (each for each in landscapes(recorded) if each.moment.when == "end")
    (function,), (target,), (samples,) = (
        lines(figure, name) for name in ("function", "target", "samples")
    )
    assert xy(function) == list(zip(shown.line_x, shown.line_y, strict=True))
    assert xy(target) == list(zip(shown.target_x, shown.target_y, strict=True))
    assert xy(samples) == list(zip(shown.train_x, shown.train_y, strict=True))
    assert (function.get_color(), function.get_linestyle()) == ("#000000", "-")
    assert target.get_linestyle() == "--"
    # A vertical line in both panels; the other neuron is at infinity.
    assert [line.get_xdata()[0] for line in lines(figure, "neuron")] == [-1.0, -1.0]
    (accepted,) = lines(figure, "accepted")
    assert xy(accepted) == [(0.5, 1.0)]
    assert lines(figure, "rejected") == []
    assert legend_texts(figure)[:3] == ["network", "target", "samples"]
    _, below, bar = figure.axes
    assert (below.get_xlabel(), below.get_ylabel()) == (
        "location (input units)",
        "scale (input units)",
    )
    assert below.get_yscale() == "log"
    assert r"\Delta\eta$′" in bar.get_ylabel()


def test_proposals_outside_stand_at_the_edge(record: Record) -> None:
    places = [[-3.0, 1.0], [5.0, 1.0], [0.0, 0.01], [0.0, 99.0], [0.0, 0.5], [np.inf, 1.0]]
    save_landscape(record.path, 60, "end", rejected=np.array(places))
    figure = landscape.draw([record], Options())
    assert [(*xy(line)[0], line.get_marker()) for line in lines(figure, "rejected")] == [
        (-2, 1, "<"),
        (2, 1, ">"),
        (0, pytest.approx(0.1), "v"),
        (0, pytest.approx(10), "^"),
        (0, 0.5, "x"),
    ]
    assert legend_texts(figure)[-1] == "beyond the edge"
    assert_readable(figure)


def test_the_line_at_tau_goes_where_the_score_is_tau(recorded: Record) -> None:
    figure = landscape.draw([recorded], Options(width=DOUBLE, steps=(60,)))
    (contour,) = (c for c in figure.axes[1].collections if hasattr(c, "levels"))
    points = np.concatenate([path.vertices for path in contour.get_paths()])
    # 10 exp(-((x - 0.5) / 0.5)^2 - 4 log10(s)^2) = 1; the grid is coarse.
    score = 10 * np.exp(-(((points[:, 0] - 0.5) / 0.5) ** 2) - 4 * np.log10(points[:, 1]) ** 2)
    assert np.abs(np.log(score)).max() < 0.2


def test_scores_that_are_zero_or_not_finite(record: Record) -> None:
    ratio = np.zeros((21, 41))
    ratio[0, 0], ratio[1, 1], ratio[2, 2] = np.nan, np.inf, -1.0
    save_landscape(record.path, 60, "end", ratio=ratio)
    figure = landscape.draw([record], Options())
    shades = figure.axes[1].collections[0].get_array()
    assert shades is not None and np.isfinite(shades).all()
