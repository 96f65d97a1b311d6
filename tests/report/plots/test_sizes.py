from __future__ import annotations

from pathlib import Path

import pytest

from senn_cli.errors import RunError
from senn_cli.report.plots import sizes
from senn_cli.report.plots.options import Options
from senn_cli.report.record import Record
from tests.report.plots.made import HISTORY, SPEC, lines, made_run, xy


def of(place: Path, subset: float | None, seed: int, events: int) -> Record:
    """A run that ends after so many of `HISTORY`'s events: with 0, 2, 3, 6 and 5 neurons."""
    data = {"data": SPEC["data"] | {"subset": subset}}  # type: ignore[operator]
    path = place / f"{subset}-{seed}"
    return made_run(path, seed=seed, history=HISTORY[:events], metrics=(), **data)


def test_the_mean_and_the_range_of_every_share(tmp_path: Path) -> None:
    runs = [of(tmp_path, None, 0, 4), of(tmp_path, None, 1, 3), of(tmp_path, 0.1, 0, 2)]
    assert sizes.final_sizes(runs) == {0.1: [2], 1.0: [6, 3]}
    figure = sizes.draw(runs, Options())
    (mean,) = lines(figure, "mean")
    assert xy(mean) == [(10, 2), (100, 4.5)]
    marks = [point for line in lines(figure, "run") for point in xy(line)]
    assert sorted(marks) == [(10, 2), (100, 3), (100, 6)]
    (band,) = figure.axes[0].collections
    assert {tuple(map(float, point)) for point in band.get_paths()[0].vertices} == {
        (10, 2), (100, 3), (100, 6)
    }  # fmt: skip
    assert figure.axes[0].get_xlabel() == "share of the training data (%)"


def test_numbers_of_examples_are_told_as_such(tmp_path: Path) -> None:
    figure = sizes.draw([of(tmp_path, 500, 0, 2), of(tmp_path, 2000, 0, 4)], Options())
    assert xy(lines(figure, "mean")[0]) == [(500, 2), (2000, 6)]
    assert figure.axes[0].get_xlabel() == "training examples"
    with pytest.raises(RunError, match=r"a number of examples: 500, 0\.1"):
        sizes.draw([of(tmp_path, 500, 1, 2), of(tmp_path, 0.1, 0, 4)], Options())
