from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from senn_cli.errors import RunError, UsageError
from senn_cli.report.plots import boundary
from senn_cli.report.plots.boundary import Phase
from senn_cli.report.plots.options import DOUBLE, Options
from senn_cli.report.record import Record
from tests.report.plots.made import (
    HISTORY,
    assert_readable,
    candidate,
    event,
    lines,
    made_run,
    save_boundary,
    xy,
)


def test_phases_end_with_a_layer(record: Record) -> None:
    assert boundary.phases(record) == (
        Phase((10, 20), (0.5, 4.0), True),
        Phase((30, 40), (-0.1, 8.0), True),
    )


def test_the_best_layer_of_a_round(tmp_path: Path) -> None:
    history = [
        event(
            5, "add_neurons", [3], layer=0, neurons=1,
            candidates=[candidate("width", 0, 9.0), candidate("depth", 0, 0.1)],
        ),
        event(5, None, [3], candidates=[candidate("depth", 1, 0.7), candidate("depth", 0, 0.2)]),
        event(10, None, [3], candidates=[candidate("depth", 0, None)]),
    ]  # fmt: skip
    assert boundary.phases(made_run(tmp_path / "r", history=history)) == (
        Phase((5,), (0.7,), False),
    )


def test_what_is_drawn(recorded: Record) -> None:
    figure = boundary.draw([recorded], Options(width=DOUBLE))
    assert [axes.get_title() for axes in figure.axes[:-1]] == [
        "step 20\nlinear",
        "step 40\nhidden 3-2",
        "step 60\nhidden 3-2",
    ]
    assert [xy(line) for line in lines(figure, "score")] == [
        [(10, 0.5), (20, 4.0)],
        [(30, -0.1), (40, 8.0)],
    ]
    (inserted,) = lines(figure, "inserted")
    assert xy(inserted) == [(20, 4.0), (40, 8.0)]
    (tau,) = lines(figure, "tau")
    assert set(tau.get_ydata()) == {1.0}
    axes = figure.axes[-1]
    assert axes.get_yscale() == "linear"  # one score is negative
    assert axes.get_xlabel() == "training step"
    assert r"\Delta\eta" in axes.get_ylabel()


def test_the_boundary_and_the_samples_lie_where_they_are(recorded: Record) -> None:
    axes = boundary.draw([recorded], Options()).axes[0]
    (line,) = (c for c in axes.collections if hasattr(c, "levels"))
    points = np.concatenate([path.vertices for path in line.get_paths()])
    np.testing.assert_allclose(points[:, 0], 0.25, atol=1e-3)
    (samples,) = (c for c in axes.collections if not hasattr(c, "levels"))
    left = np.asarray(samples.get_offsets())[:, 0] <= 0.25
    colours = samples.get_facecolor()
    assert len({tuple(c) for c in colours[left]}) == len({tuple(c) for c in colours[~left]}) == 1
    assert tuple(colours[0]) != tuple(colours[-1])
    # The plane has a class's colour, paler, on its own side: x grows to the right, y upwards.
    (image,) = axes.images
    plane = np.asarray(image.get_array())
    assert image.origin == "lower"
    near = np.abs(plane[15, 0] - colours[0][:3]).sum()
    assert near < np.abs(plane[15, -1] - colours[0][:3]).sum()


def test_three_classes(record: Record) -> None:
    parts = np.zeros((31, 41, 3))
    parts[:, :14, 0] = parts[:, 14:27, 1] = parts[:, 27:, 2] = 1.0
    save_boundary(record.path, 60, "end", probabilities=parts)
    axes = boundary.draw([record], Options()).axes[0]
    lines_x = {
        round(float(v[0]), 1)
        for c in axes.collections
        if hasattr(c, "levels")
        for path in c.get_paths()
        for v in path.vertices
    }
    assert lines_x <= {-0.4, -0.3, 0.3, 0.2} and len(lines_x) >= 2


def test_steps_can_be_chosen(recorded: Record) -> None:
    figure = boundary.draw([recorded], Options(steps=(0,)))
    assert [axes.get_title() for axes in figure.axes] == ["step 0\nlinear", ""]


def test_many_insertions_break_into_rows(tmp_path: Path) -> None:
    history = [
        event(
            step, "insert_layer", [2] * n, map=0, candidates=[candidate("depth", 0, 2.0 * n)]
        )
        for n, step in enumerate(range(1000, 12000, 1000), start=1)
    ]  # fmt: skip
    record = made_run(tmp_path / "r", history=history)
    for row in history:
        save_boundary(record.path, row["step"], "before", hidden=np.array(row["hidden"]))
    for width in (3.3, DOUBLE):
        figure = boundary.draw([record], Options(width=width))
        assert len(figure.axes) == 12
        assert_readable(figure)
    for step in (12000, 13000):
        save_boundary(record.path, step, "end")
    with pytest.raises(UsageError, match="13 decision boundaries do not fit"):
        boundary.draw([record], Options())


def test_without_a_search_for_layers(tmp_path: Path) -> None:
    history = [event(5, None, [3], candidates=[candidate("width", 0, 0.5)]), *HISTORY[5:]]
    record = made_run(tmp_path / "r", history=history)
    save_boundary(record.path, 60, "end")
    with pytest.raises(RunError, match="no score of a layer"):
        boundary.draw([record], Options())
