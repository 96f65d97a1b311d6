"""A trained network as a callable: it answers as the run itself measured."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import senn_cli
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.data.registry import load_dataset
from senn_cli.errors import DataError, RunError, UsageError
from senn_cli.model import BLOCK
from senn_cli.nets.registry import outputs
from senn_cli.runs.weights import load_weights
from senn_cli.spec import parse_spec
from senn_cli.training.run import Run, train_run
from senn_cli.use.prediction import predict_files
from tests.resuming import DIGITS
from tests.use.made import forward_densenet, made_run

B = ((3, 2), (4,))

REGRESSION = """
name: line
data: {source: csv, path: line.csv, target: y, task: regression, test: 30}
network: {kind: mlp, hidden: [3], activation: tanh}
optimizer: {kind: adam, learning_rate: 1e-2}
expansion: {policy: none}
training: {epochs: 30, batch_size: 16}
"""


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train_run(parse_spec(DIGITS), run_directory=tmp_path_factory.mktemp("digits"))


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("line")
    x = np.random.default_rng(0).uniform(-3, 3, 200)
    rows = "\n".join(f"{v},{1000 * v + 5000}" for v in x)
    (folder / "line.csv").write_text(f"x,y\n{rows}\n")
    return train_run(parse_spec(REGRESSION, base_dir=folder), run_directory=folder / "run")


def test_the_accuracy_is_the_summarys(digits: Run) -> None:
    dataset = load_dataset(parse_spec(DIGITS).data, 0)
    model = senn_cli.load(digits.path)
    p = model(dataset.test.x)
    assert p.shape == (len(dataset.test), 10)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-5)
    hits = np.mean(p.argmax(axis=1) == dataset.test.y)
    assert hits == pytest.approx(digits.summary["test_accuracy"])


def test_there_is_no_spare_capacity(digits: Run) -> None:
    model = senn_cli.load(digits.path)
    assert model.architecture.capacities == model.architecture.widths == digits.architecture.widths
    assert (
        sum(a.size for leaves in model.params.values() for a in leaves.values())
        == (digits.summary["parameters"])
    )


def test_many_examples_are_answered_in_blocks_that_change_nothing(digits: Run) -> None:
    x = load_dataset(parse_spec(DIGITS).data, 0).test.x
    many = np.concatenate([x] * (BLOCK // len(x) + 1))[: BLOCK + 3]
    model = senn_cli.load(digits.path)
    np.testing.assert_allclose(model(many)[-3:], model(many[-3:]), rtol=1e-5, atol=1e-7)
    assert model(x[:0]).shape == (0, 10)


def test_flattened_examples_are_the_same_examples(digits: Run) -> None:
    x = load_dataset(parse_spec(DIGITS).data, 0).test.x[:5]
    model = senn_cli.load(digits.path)
    np.testing.assert_array_equal(model(x), model(x.reshape(5, -1)))
    with pytest.raises(ValueError, match=r"expected examples of shape"):
        model(np.zeros((2, 3)))


def test_scikit_learns_own_arrays_are_examples_of_digits(digits: Run, tmp_path: Path) -> None:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    images, flat = bunch.images[:9], bunch.data[:9]  # float64, (9, 8, 8) and (9, 64)
    model = senn_cli.load(digits.path)
    wanted = model(images.astype(np.uint8))
    for x in (images, flat, images.tolist(), images.astype(">f4"), images[::-1][::-1]):
        np.testing.assert_array_equal(model(x), wanted)
    np.save(tmp_path / "a.npy", images)
    np.savez(tmp_path / "b.npz", x=flat)
    found = predict_files(digits.path, [tmp_path / "a.npy", tmp_path / "b.npz"])
    np.testing.assert_array_equal(found.answers, np.concatenate([wanted, wanted]))
    with pytest.raises(
        DataError, match=r"whole numbers from 0 to 255, but at index .* stands 0\.5"
    ):
        model(images / 10)


def test_predictions_are_in_the_units_of_the_targets(line: Run) -> None:
    model = senn_cli.load(line.path)
    x = np.linspace(-2, 2, 9)[:, None]
    error = model(x)[:, 0] - (1000 * x[:, 0] + 5000)
    assert np.abs(error).mean() < 500  # of values from 3000 to 7000


def test_preprocessing_survives_its_file_bit_for_bit(line: Run) -> None:
    stored = json.loads((line.path / "preprocessing.json").read_text())
    assert stored["format"] == 3
    found = Preprocessing.from_json(stored)
    again = Preprocessing.from_json(json.loads(json.dumps(found.to_json())))
    for name in ("shift", "scale", "target_shift", "target_scale"):
        np.testing.assert_array_equal(getattr(found, name), getattr(again, name))
        assert getattr(found, name).dtype == np.float64
    assert found.encoding == again.encoding
    assert found.encoding is not None
    assert found.encoding.names == ("x",)


def test_preprocessing_of_an_older_senn_is_read_and_of_a_newer_one_refused(digits: Run) -> None:
    stored = json.loads((digits.path / "preprocessing.json").read_text())
    old = {name: stored[name] for name in stored if name not in ("format", "encoding")}
    found = Preprocessing.from_json(old)
    assert found.encoding is None
    assert found.shift.dtype == np.float32
    with pytest.raises(ValueError, match="format 4 is not known"):
        Preprocessing.from_json(stored | {"format": 4})


def test_preprocessing_of_another_run_is_refused(digits: Run, line: Run, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(digits.path, tmp_path / "copy"))
    shutil.copy(line.path / "preprocessing.json", copy)
    with pytest.raises(RunError, match=r"does not fit .*: an example has 1 number, the network"):
        senn_cli.load(copy)


def test_a_densenet_keeps_its_function_without_spare_channels(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", "{source: digits, subset: 50}", activation="silu", blocks=B)
    model = senn_cli.load(run)
    assert model.architecture.capacities == model.architecture.widths == (3, 2, 4)
    inputs = np.random.default_rng(0).standard_normal((252, 64)).astype(np.float32)
    how = model.preprocessing
    found = model.outputs(inputs / how.scale.item() + how.shift.item())
    exact = forward_densenet(model.params, "silu", (8, 8, 1), "max3s2", inputs)
    np.testing.assert_allclose(found, exact, atol=1e-5)
    padded, params = load_weights(run / "weights")
    assert padded.capacities == (6, 5, 7)
    widths = jnp.asarray(padded.widths)
    there = np.asarray(outputs(padded.shape(), params, jnp.asarray(inputs), widths))
    np.testing.assert_allclose(found, there, atol=1e-5)


def test_a_run_that_has_not_ended_and_one_without_preprocessing_are_told_apart(
    digits: Run, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(digits.path, tmp_path / "copy"))
    shutil.rmtree(copy / "weights")
    with pytest.raises(RunError, match="has not ended"):
        senn_cli.load(copy)
    (copy / "preprocessing.json").write_text('{"task": "poetry"}')
    with pytest.raises(RunError, match=r"preprocessing\.json is damaged"):
        senn_cli.load(copy)
    (copy / "preprocessing.json").unlink()
    with pytest.raises(RunError, match="does not exist"):
        senn_cli.load(copy)
    with pytest.raises(UsageError, match="not a run directory"):
        senn_cli.load(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("file", "at", "value"),
    [
        ("preprocessing.json", "shape", [10**400]),
        ("preprocessing.json", "shift", [10**400]),
        ("preprocessing.json", "scale", {"a": 1}),
        ("preprocessing.json", "classes", 5),
        ("preprocessing.json", "encoding", {"a": 1}),
        ("preprocessing.json", "dtype", "float33"),
        ("weights/architecture.json", "outputs", 1e99),
        ("weights/architecture.json", "inputs", 2**53),
        ("weights/architecture.json", "hidden", [[]]),
    ],
)
def test_edited_values_are_an_error_that_names_the_file(
    tmp_path: Path, file: str, at: str, value: object
) -> None:
    run = made_run(tmp_path / "run")
    content = json.loads((run / file).read_text())
    content.get("architecture", content)[at] = value
    (run / file).write_text(json.dumps(content))
    with pytest.raises(RunError, match=file.rpartition("/")[2]):
        senn_cli.load(run)


def test_a_run_without_weights_and_checkpoints_says_how_to_finish_it(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    shutil.rmtree(run / "weights")
    with pytest.raises(RunError, match="has no final weights: the run has not ended") as caught:
        senn_cli.load(run)
    assert caught.value.hint == f"Finish it with: senn resume {run}"
