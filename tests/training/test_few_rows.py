"""As few examples as there can be: they train, or are refused with a word on what is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import senn_cli
from senn_cli.data.check import check_dataset
from senn_cli.data.registry import load_dataset
from senn_cli.errors import DataError, UsageError
from senn_cli.spec import parse_spec
from senn_cli.use.evaluation import evaluate_run

GROWING = (
    "expansion={depth: false, every: {steps: 1}, width: {proposals: 2, polished: 1, steps: 1}}"
)


def train(folder: Path, rows: int, *overrides: str) -> dict[str, object]:
    x = np.arange(2.0 * (rows + 2)).reshape(-1, 2)
    np.savez(folder / "train.npz", x=x[:rows], y=x[:rows, 0] ** 2)
    np.savez(folder / "test.npz", x=x[rows:], y=x[rows:, 0] ** 2)
    spec = {
        "data": {
            "source": "npz",
            "path": folder / "train.npz",
            "test_path": folder / "test.npz",
            "validation": 0,
            "task": "regression",
        },
        "network": {"kind": "mlp", "hidden": [1], "activation": "tanh"},
        "training": {"steps": 3},
    }
    run = senn_cli.train(spec, overrides=overrides, run_directory=folder / "run")
    return run.summary


def test_one_example_is_refused_where_growth_needs_two(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="growth needs two training examples at least") as caught:
        train(tmp_path, 1, GROWING)
    assert caught.value.hint is not None and "policy: none" in caught.value.hint
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("rows", "overrides"),
    [
        (1, ("expansion=none",)),
        (1, (GROWING, "expansion.score_on=searched")),
        (2, (GROWING,)),
        (3, (GROWING, "expansion.prune=true")),
    ],
)
def test_very_few_examples_train(tmp_path: Path, rows: int, overrides: tuple[str, ...]) -> None:
    summary = train(tmp_path, rows, *overrides)
    assert (summary["status"], summary["steps"]) == ("finished", 3)
    loss = summary["test_loss"]
    assert isinstance(loss, float) and np.isfinite(loss)


@pytest.mark.parametrize(
    ("rows", "data", "message"),
    [
        (1, "test: 20%", "data.test takes 1 of 1 examples"),
        (2, "test: 1, validation: 1", "data.validation takes 1 of 1 examples"),
        (3, "test: 3", "data.test takes 3 of 3 examples"),
        (3, "test: 1, subset: 5", "data.subset asks for 5 examples"),
    ],
)
def test_nothing_left_to_train_on_is_refused(
    tmp_path: Path, rows: int, data: str, message: str
) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(1.0 * rows), y=np.arange(1.0 * rows))
    path = tmp_path / "a.npz"
    text = f"data: {{source: npz, path: {path}, task: regression, {data}}}\nnetwork: mlp\n"
    spec = parse_spec(text)
    with pytest.raises(DataError, match=message):
        load_dataset(spec.data, 0)


def test_without_a_test_part_all_examples_are_learned_from(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(8.0), y=np.arange(8.0) ** 2)
    spec = {
        "data": {"source": "npz", "path": tmp_path / "a.npz", "task": "regression", "test": 0}
        | {"validation": 0},
        "network": {"kind": "mlp", "hidden": [1], "activation": "tanh"},
        "expansion": "none",
        "training": {"steps": 3},
    }
    run = senn_cli.train(spec, run_directory=tmp_path / "run")
    assert not any(key.startswith("test_") for key in run.summary)
    loaded = senn_cli.load_spec(run.path / "spec.yaml")
    dataset = load_dataset(loaded.data, loaded.seed)
    assert (len(dataset.train), dataset.validation, len(dataset.test)) == (8, None, 0)
    assert list(dataset.parts) == ["train"]
    with pytest.raises(UsageError, match="have no test part, only train"):
        evaluate_run(run.path)
    assert "none measures the result" in " ".join(check_dataset(dataset).warnings)
