from __future__ import annotations

import json
from pathlib import Path

import pytest

from senn_cli.errors import RunError
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.report import flops
from senn_cli.report.plots import cost
from senn_cli.report.plots.options import DOUBLE, Options
from senn_cli.report.record import Record, read_record
from tests.handmade import checkpoint, row, run_directory
from tests.report.plots.made import legend_texts, lines, xy


def made(path: Path, seed: int, accuracy: float, parameters: int) -> Record:
    """Ten steps with 26 parameters and ten with 30, and a network of 2 inputs, 5 units, 2 outputs.

    It has 2 * 5 + 5 and 5 * 2 + 2 weights and biases: 27.
    """
    rows = [row(10, [4], parameters=26), row(20, [5], parameters=30)]
    summary = {
        "status": "finished", "test_accuracy": accuracy, "hidden": [5], "parameters": parameters,
        "seconds": {"total": 2.0 * (1 + seed)},
    }  # fmt: skip
    run_directory(path, metrics=rows)
    (path / "summary.json").write_text(json.dumps(summary))
    spec = (path / "spec.yaml").read_text().replace("seed: 3", f"seed: {seed}")
    (path / "spec.yaml").write_text(f"{spec}training: {{batch_size: 8}}\n")
    checkpoint(path, 20, [(5, 8)])
    return read_record(path)


def test_operations_are_counted_by_units_in_use(tmp_path: Path) -> None:
    record = made(tmp_path / "a", 0, 0.5, 30)
    assert isinstance(record.architecture, MlpArchitecture)
    assert flops.forward(record.architecture) == 2 * 27
    # A forward pass and two more, of 10 steps at 26/30 of the final network and 10 of that.
    assert flops.training(record) == pytest.approx(3 * 2 * 27 * (10 * 26 / 30 + 10))


def test_a_mark_a_run_and_the_mean_of_a_setting(tmp_path: Path) -> None:
    records = [made(tmp_path / "a", 0, 0.5, 10), made(tmp_path / "b", 1, 0.7, 30)]
    figure = cost.draw(records, Options(width=DOUBLE))
    assert [xy(lines(figure, f"mean-A-{place}")[0]) for place in (0, 1)] == [
        [(20, pytest.approx(60))],
        [(3, pytest.approx(60))],
    ]
    ((operations, _),) = xy(lines(figure, "mean-A-2")[0])
    assert operations == pytest.approx(8 * 3 * 2 * 27 * (10 * 26 / 30 + 10))
    assert legend_texts(figure) == ["A: made (2)"]


def test_runs_without_a_result(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    record = read_record(run_directory(tmp_path / "a", metrics=[row(10, [2])]))
    with pytest.raises(RunError, match="no run has finished with a test accuracy"):
        cost.draw([record], Options())
