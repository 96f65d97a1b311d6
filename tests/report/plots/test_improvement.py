from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from senn_cli.errors import UsageError
from senn_cli.report.plots import improvement
from senn_cli.report.plots.options import Options
from senn_cli.report.record import Record
from tests.report.plots.made import legend_texts, made_run, xy


def run(
    path: Path, values: dict[float, float], test: float | None, key: str = "accuracy", **spec: Any
) -> Record:
    rows = [{"step": e, "epoch": e, f"validation_{key}": v} for e, v in values.items()]
    summary = None if test is None else {f"test_{key}": test}
    return made_run(path, history=(), metrics=rows, summary=summary, **spec)


def test_the_mean_over_seeds_against_the_mean_of_the_baseline(tmp_path: Path) -> None:
    runs = [
        run(tmp_path / "1", {1: 0.6, 2: 0.66, 3: 0.9}, 0.52, seed=0),
        run(tmp_path / "2", {1: 0.5, 2: 0.54}, 0.50, seed=1),
    ]
    controls = [
        run(tmp_path / "3", {1: 0.4, 2: 0.5, 3: 0.5}, 0.49, seed=0, name="static"),
        run(tmp_path / "4", {1: 0.6, 2: 0.7, 3: 0.5}, 0.51, seed=1, name="static"),
    ]
    found = improvement.improvement(runs, controls)
    assert found.epochs == (1, 2)  # what all have in common
    assert found.mean == pytest.approx((10, 0))
    assert found.low == pytest.approx((0, -10))
    assert found.high == pytest.approx((20, 10))
    assert found.test == pytest.approx(2)
    figure = improvement.draw(runs, Options(baseline=tuple(controls)))
    line, zero = figure.axes[0].lines
    assert [x for x, _ in xy(line)] == [1, 2]
    assert [y for _, y in xy(line)] == pytest.approx([10, 0])
    assert [y for _, y in xy(zero)] == [0, 0]
    assert legend_texts(figure) == ["half, 2 seeds; test +2.0%"]
    assert figure.axes[0].get_ylabel() == "relative improvement of\nvalidation accuracy (%)"
    assert figure.axes[0].get_xlabel() == "epoch"


def test_a_smaller_error_is_better(tmp_path: Path) -> None:
    better = run(tmp_path / "1", {1: 0.5}, 0.1, key="mse")
    control = run(tmp_path / "2", {1: 1.0}, 0.4, key="mse", name="static")
    found = improvement.improvement([better], [control])
    assert found.mean == (50,)
    assert found.test == pytest.approx(75)


def test_an_unfinished_run_has_no_test(tmp_path: Path) -> None:
    runs = [run(tmp_path / "1", {1: 0.5}, None)]
    control = run(tmp_path / "2", {1: 0.0, 2: 0.5}, 0.4, name="static")
    with pytest.raises(UsageError, match="never evaluated at the same epoch"):
        improvement.improvement(runs, [control])  # a baseline of 0 is no measure
    assert improvement.improvement([control], [control]).epochs == (2,)
    again = run(tmp_path / "3", {1: 0.25}, 0.4, name="static")
    found = improvement.improvement(runs, [again])
    assert (found.mean, found.test) == ((100,), None)
