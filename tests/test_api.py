"""`senn_cli.train` and `senn_cli.load_spec`, as a program uses them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import senn_cli
from senn_cli.data.registry import load_dataset
from senn_cli.errors import SpecError
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.runs.weights import load_weights
from senn_cli.training.run import Run

SPEC: dict[str, Any] = {
    "data": {"source": "moons", "train": 100, "test": 50},
    "network": {"kind": "mlp", "hidden": [3, 4], "activation": "rational"},
    "optimizer": {"kind": "adam", "learning_rate": 1e-2},
    "expansion": {"policy": "none"},
    "training": {"epochs": 2, "batch_size": 30},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return senn_cli.train(SPEC, root=tmp_path_factory.mktemp("api"))


def forward(architecture: MlpArchitecture, params: Any, x: np.ndarray) -> np.ndarray:
    """The network in float64, unused neurons cut off, written down from the paper."""
    a = x.astype(np.float64)
    for index in range(len(architecture.hidden) + 1):
        kernel, bias = params[f"map_{index}"]["kernel"], params[f"map_{index}"]["bias"]
        z = a @ kernel[: a.shape[1]].astype(np.float64) + bias
        if index == len(architecture.hidden):
            break
        width = architecture.hidden[index].width
        z = z[:, :width]
        alpha, beta, gamma = params[f"activation_{index}"]["coefficients"][:, :width]
        a = alpha * z + (beta + gamma * z) / (1 + z**2)
    return z


def outputs(path: Path) -> tuple[Any, np.ndarray]:
    """The data set of a run and the outputs on its test part."""
    spec = senn_cli.load_spec(path / "spec.yaml")
    dataset = load_dataset(spec.data, spec.seed)
    architecture, params = load_weights(path / "weights")
    x = (dataset.test.x.astype(np.float64) - dataset.shift) * dataset.scale
    return dataset, forward(architecture, params, x.reshape(len(x), -1))


def test_the_finished_run(run: Run) -> None:
    assert run.path.is_dir()
    assert run.path.name.startswith("run-")
    assert run.summary["status"] == "finished"
    assert run.summary["steps"] == 6
    assert run.architecture.widths == (3, 4)
    assert isinstance(run.params["map_0"]["kernel"], np.ndarray)
    assert run.params["map_0"]["kernel"].shape == (2, run.architecture.capacities[0])


def test_the_weights_give_the_test_accuracy(run: Run) -> None:
    dataset, z = outputs(run.path)
    accuracy = np.mean(np.argmax(z, axis=1) == dataset.test.y)
    np.testing.assert_allclose(run.summary["test_accuracy"], accuracy, atol=1e-5)
    shifted = z - z.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    loss = -np.mean(log_p[np.arange(len(z)), dataset.test.y])
    np.testing.assert_allclose(run.summary["test_loss"], loss, rtol=1e-5)


def test_the_stored_weights_are_those_of_the_run(run: Run) -> None:
    architecture, params = load_weights(run.path / "weights")
    assert architecture == run.architecture
    for name, leaves in run.params.items():
        for symbol, array in leaves.items():
            np.testing.assert_array_equal(params[name][symbol], array)


def test_the_test_error_of_a_regression_is_in_the_users_units(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 2))
    y = 500 + 300 * x[:, 0] - 50 * x[:, 1] ** 2
    lines = [f"{a},{b},{c}" for (a, b), c in zip(x, y, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y", *lines]) + "\n")
    data = {"source": "csv", "path": str(tmp_path / "t.csv"), "target": "y", "task": "regression"}
    run = senn_cli.train(SPEC | {"data": data}, root=tmp_path)
    dataset, z = outputs(run.path)
    predicted = z / dataset.target_scale + dataset.target_shift
    error = np.mean((predicted - dataset.test.y) ** 2)
    assert error > 100
    np.testing.assert_allclose(run.summary["test_mse"], error, rtol=1e-5)


def test_a_file_with_overrides_and_a_directory(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_bytes((run.path / "spec.yaml").read_bytes())
    directory = tmp_path / "here"
    overrides = ["training.epochs=1", "name=other"]
    found = senn_cli.train(tmp_path / "mine.yaml", overrides=overrides, run_directory=directory)
    assert found.path == directory
    assert found.summary["steps"] == 3
    assert found.summary["name"] == "other"


def test_a_ready_spec(run: Run, tmp_path: Path) -> None:
    spec = senn_cli.load_spec(str(run.path / "spec.yaml"), ["training.epochs=1"])
    assert spec.training.epochs == 1
    assert senn_cli.train(spec, root=tmp_path).summary["steps"] == 3
    with pytest.raises(ValueError, match="overrides"):
        senn_cli.train(spec, overrides=["seed=1"], root=tmp_path)


def test_a_mapping_with_faults(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="did you mean learning_rate"):
        senn_cli.train(SPEC | {"optimizer": {"lerning_rate": 1}}, root=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_values_of_a_mapping_that_are_no_yaml(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "d.npz", x=rng.normal(size=(60, 2)), y=np.arange(60) % 2)
    data = {"source": "npz", "path": tmp_path / "d.npz"}
    spec = SPEC | {"data": data, "seed": np.int64(3), "name": "1e5", "training": {"steps": 1}}
    spec["training"]["batch_size"] = 20
    run = senn_cli.train(spec, root=tmp_path)
    assert (run.summary["name"], run.summary["seed"]) == ("1e5", 3)


def test_importing_costs_no_jax() -> None:
    code = "import sys, senn_cli; assert not {'jax', 'numpy', 'pydantic'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_run_is_made_longer(run: Run, tmp_path: Path) -> None:
    longer = senn_cli.resume(run.path, overrides=["training.epochs=3"], branch=tmp_path / "longer")
    assert longer.path == tmp_path / "longer"
    assert longer.summary["steps"] == 3 * run.summary["steps"] // 2
    assert senn_cli.resume(run.path).summary["steps"] == run.summary["steps"]
