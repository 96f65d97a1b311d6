from __future__ import annotations

from pathlib import Path

import pytest

from senn_cli.errors import RunError
from senn_cli.report.plots import series
from senn_cli.report.record import Record
from tests.report.plots.made import METRICS, made_run


def test_gaps_are_left_out(tmp_path: Path) -> None:
    rows = [{"step": 1, "a": 2.0}, {"step": 2, "a": None}, {"step": 3}, {"step": 4, "a": 5.0}]
    record = made_run(tmp_path / "r", history=(), metrics=rows)
    assert series.series(record, "a") == ([1.0, 4.0], [2.0, 5.0])
    assert series.series(record, "a", by="epoch") == ([], [])


def test_figures_of_merit(record: Record, tmp_path: Path) -> None:
    regression = made_run(tmp_path / "r", metrics=[{"step": 1, "validation_mse": 0.5}], summary={})
    assert series.shown(record, "test") == ("test_accuracy", 100.0, "test accuracy (%)")
    assert series.shown(regression, "test") == ("test_mse", 1.0, "test mean squared error")
    assert series.loss_label(record) == "loss (nats)"
    assert series.loss_label(regression, "gain") == "gain (half squared error)"


def test_without_validation_the_spec_option_is_named(tmp_path: Path) -> None:
    rows = [{"step": 1, "train_loss": 1.0}]
    record = made_run(tmp_path / "r", metrics=rows, data={"validation": 0.0})
    with pytest.raises(RunError) as caught:
        series.require_validation([record])
    assert caught.value.message == (
        f"{tmp_path / 'r'} has no row with a validation accuracy: its data.validation is 0.0"
    )
    assert "--set data.validation=0.1" in (caught.value.hint or "")


def test_steps_of_an_epoch(record: Record, tmp_path: Path) -> None:
    assert series.per_epoch(record) == 5.0
    assert series.per_epoch(made_run(tmp_path / "r", history=(), metrics=())) == 1.0


def test_names_tell_runs_apart(tmp_path: Path) -> None:
    def run(folder: str, name: str, seed: int) -> Record:
        return made_run(tmp_path / folder, name=name, seed=seed)

    a0, a1, b0, again = run("1", "a", 0), run("2", "a", 1), run("3", "b", 0), run("4", "a", 0)
    assert series.names([a0]) == ["a"]
    assert series.names([a0, a1]) == ["seed 0", "seed 1"]
    assert series.names([a0, b0]) == ["a", "b"]
    assert series.names([a0, a1, b0]) == ["a, seed 0", "a, seed 1", "b, seed 0"]
    assert series.names([a0, again]) == ["1", "4"]


def test_experiments_differ_in_more_than_the_seed(tmp_path: Path) -> None:
    runs = [
        made_run(tmp_path / "1", seed=0),
        made_run(tmp_path / "2", seed=0, training={"epochs": 2}),
        made_run(tmp_path / "3", seed=1),
    ]
    groups = [[run.path.name for run in group] for group in series.experiments(runs)]
    assert groups == [["1", "3"], ["2"]]


def test_what_is_shown_of_one_run_up_to_a_step(tmp_path: Path) -> None:
    from senn_cli.report.record import read_record

    made_run(tmp_path / "r")
    record = read_record(tmp_path / "r", step=30)
    assert series.series(record, "train_loss")[0] == [10.0, 20.0, 30.0]
    assert len(METRICS) == 6
