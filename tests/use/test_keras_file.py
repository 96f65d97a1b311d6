"""Models that Keras saved: the arrays, what the configuration tells, and what is refused."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from senn_cli.errors import RunError, SennError, UsageError
from senn_cli.model import Model
from senn_cli.use.import_plan import read_weights
from tests.use.elementwise import ELEMENTWISE

h5py = pytest.importorskip("h5py")

RNG = np.random.default_rng(0)
W = [RNG.standard_normal(shape).astype(np.float32) for shape in ((6, 5), (5, 4), (4, 3))]
B = [RNG.standard_normal(n).astype(np.float32) for n in (5, 4, 3)]


def layer(kind: str, name: str, **config: Any) -> dict[str, Any]:
    return {"class_name": kind, "config": {"name": name, **config}}


def dense(number: int, activation: Any = "linear", units: int | None = None) -> dict[str, Any]:
    units = B[number].size if units is None else units
    return layer("Dense", f"own_{number}", units=units, activation=activation, use_bias=True)


def model(*layers: dict[str, Any], shape: tuple[int, ...] = (2, 3)) -> dict[str, Any]:
    first = layer("InputLayer", "input", batch_shape=[None, *shape])
    return {"class_name": "Sequential", "config": {"layers": [first, *layers]}}


def keras_file(path: Path, config: dict[str, Any], *, loss: Any = None, others: Any = None) -> Path:
    """A `.keras` file of dense layers, in the layout of Keras 3."""
    packed = io.BytesIO()
    with h5py.File(packed, "w") as file:
        for number, (kernel, bias) in enumerate(zip(W, B, strict=True)):
            place = f"layers/dense_{number}" if number else "layers/dense"
            file[f"{place}/vars/0"], file[f"{place}/vars/1"] = kernel, bias
        for name, value in (others or {}).items():
            file[name] = value
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps(config | {"compile_config": {"loss": loss}}))
        archive.writestr("model.weights.h5", packed.getvalue())
    return path


def h5_file(path: Path, config: dict[str, Any] | None, ending: str = "") -> Path:
    """An `.h5` file, in the layout of Keras 3, or with `:0` behind names as Keras 2 has it."""
    with h5py.File(path, "w") as file:
        if config is not None:
            file.attrs["model_config"] = json.dumps(config)
        for number, (kernel, bias) in enumerate(zip(W, B, strict=True)):
            place = f"model_weights/own_{number}/own_{number}"
            file[f"{place}/kernel{ending}"], file[f"{place}/bias{ending}"] = kernel, bias
        file["optimizer_weights/adam/iteration"] = np.int64(3)
    return path


def by_hand(x: np.ndarray, *activations: str) -> np.ndarray:
    h = x.reshape(len(x), -1).astype(np.float64)
    for kernel, bias, word in zip(W, B, (*activations, "identity"), strict=True):
        h = ELEMENTWISE[word](h @ kernel.astype(np.float64) + bias)
    return h


def loaded(path: Path) -> Model:
    plan = read_weights(path)
    assert plan.preprocessing is not None
    return Model(plan.architecture, plan.params, plan.preprocessing)


X = np.random.default_rng(1).standard_normal((50, 2, 3)).astype(np.float32) * 3 + 1
CHAIN = (layer("Flatten", "f"), dense(0, "tanh"), layer("Dropout", "d", rate=0.5))


@pytest.mark.parametrize("ending", [".keras", ".h5", ":0"])
def test_layers_with_activations_of_their_own(tmp_path: Path, ending: str) -> None:
    config = model(*CHAIN, dense(1, "silu"), dense(2, "softmax"))
    path = tmp_path / f"net{ending if ending != ':0' else '.h5'}"
    if ending == ".keras":
        keras_file(path, config)
    else:
        h5_file(path, config, ending.removeprefix(".h5"))
    found = loaded(path)
    np.testing.assert_allclose(found.outputs(X), by_hand(X, "tanh", "silu"), rtol=1e-5, atol=1e-5)
    assert found.preprocessing.shape == (2, 3)
    assert found.preprocessing.classes == ("0", "1", "2")


def test_scalings_before_the_first_layer(tmp_path: Path) -> None:
    mean, variance = np.arange(3.0), np.array([1.0, 4.0, 0.25])
    scalings = (
        layer("Rescaling", "r", scale=0.5, offset=-0.25),
        layer("Normalization", "n", mean=None, variance=None),
    )
    config = model(*scalings, *CHAIN, dense(1, "tanh"), dense(2))
    held = {"layers/normalization/vars/0": mean, "layers/normalization/vars/1": variance}
    held["layers/normalization/vars/2"] = np.int64(7)
    found = loaded(keras_file(tmp_path / "net.keras", config, loss="mse", others=held))
    scaled = (X * 0.5 - 0.25 - mean) / np.sqrt(variance)
    np.testing.assert_allclose(found.outputs(X), by_hand(scaled, "tanh", "tanh"), atol=3e-5)
    assert found.preprocessing.task == "regression"


@pytest.mark.parametrize(
    ("last", "loss", "task"),
    [
        ("softmax", None, "classification"),
        ("linear", "sparse_categorical_crossentropy", "classification"),
        ("linear", {"class_name": "CategoricalCrossentropy", "config": {}}, "classification"),
        ("linear", "mean_squared_error", "regression"),
        ("sigmoid", None, "multilabel"),
        ("linear", None, "classification"),
    ],
)
def test_what_outputs_are(tmp_path: Path, last: str, loss: Any, task: str) -> None:
    config = model(*CHAIN, dense(1, "tanh"), dense(2, last))
    plan = read_weights(keras_file(tmp_path / "net.keras", config, loss=loss))
    assert plan.preprocessing is not None and plan.preprocessing.task == task
    assert bool(plan.notes) == (loss is None and last == "linear")


def test_a_functional_model_that_is_a_chain(tmp_path: Path) -> None:
    def behind(one: dict[str, Any], source: str | None) -> dict[str, Any]:
        history = {"class_name": "__keras_tensor__", "config": {"keras_history": [source, 0, 0]}}
        return one | {"inbound_nodes": [] if source is None else [{"args": [history]}]}

    first = layer("InputLayer", "input", batch_shape=[None, 6])
    parts = [
        behind(first, None),
        behind(dense(0, "tanh"), "input"),
        behind(dense(1, "tanh"), "own_0"),
        behind(dense(2), "own_1"),
    ]
    config = {"class_name": "Functional", "config": {"layers": parts}}
    found = loaded(keras_file(tmp_path / "net.keras", config))
    flat = X.reshape(50, 6)
    np.testing.assert_allclose(found.outputs(flat), by_hand(X, "tanh", "tanh"), atol=1e-5)
    parts[3] = behind(dense(2), "own_0")
    with pytest.raises(UsageError, match=r"the layer own_2 \(Dense\) is no link of a chain"):
        read_weights(keras_file(tmp_path / "fork.keras", config))


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ((layer("Conv1D", "c"),), r"the layer c \(Conv1D\) is not imported"),
        ((*CHAIN, layer("LayerNormalization", "l")), r"l \(LayerNormalization\) is not imported"),
        ((*CHAIN, layer("Rescaling", "r", scale=2, offset=0)), r"r \(Rescaling\) .* in this place"),
        ((dense(0, "elu"),), "there is no activation elu"),
        ((dense(0), layer("LeakyReLU", "a", negative_slope=0.3)), "leaky_relu with the slope 0.3"),
        ((dense(0), layer("ReLU", "a", max_value=6.0)), "a relu with a largest value"),
        ((dense(0, "tanh"), layer("Activation", "a", activation="tanh")), "two in a row"),
        ((*CHAIN, dense(1, "tanh"), dense(2, "tanh")), "tanh behind the last layer"),
        ((layer("Flatten", "f"),), "has no layer Dense"),
    ],
)
def test_layers_that_there_are_not(tmp_path: Path, layers: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_weights(keras_file(tmp_path / "net.keras", model(*layers)))


def test_files_that_are_none(tmp_path: Path) -> None:
    config = model(*CHAIN, dense(1, "tanh"), dense(2))
    good = keras_file(tmp_path / "good.keras", config).read_bytes()
    whole = h5_file(tmp_path / "good.h5", config).read_bytes()
    (tmp_path / "cut.keras").write_bytes(good[: len(good) // 2])
    (tmp_path / "cut.h5").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.h5").write_text("a,b\n1,2\n")
    with zipfile.ZipFile(tmp_path / "other.keras", "w") as archive:
        archive.writestr("data.pkl", b"")
    h5_file(tmp_path / "bare.h5", None)
    keras_file(tmp_path / "odd.keras", {"class_name": "Sequential", "config": {"layers": 3}})
    own = {"class_name": "Net", "config": {"layers": []}}
    keras_file(tmp_path / "own.keras", own)
    for name, message in (
        ("cut.keras", "is no model that Keras saved, or damaged"),
        ("cut.h5", "is no model that Keras saved, or damaged"),
        ("text.h5", "it looks like a table of text"),
        ("other.keras", "is no model that Keras saved"),
        ("bare.h5", "does not tell the activation of its 2 hidden layers"),
        ("odd.keras", "damaged"),
        ("own.keras", "is a Net, a class of its own"),
    ):
        with pytest.raises(SennError) as caught:
            read_weights(tmp_path / name)
        assert message in caught.value.message, (name, caught.value.message)


def test_a_layer_without_its_array(tmp_path: Path) -> None:
    config = model(*CHAIN, dense(1, "tanh"), dense(2), dense(2) | {"class_name": "Dense"})
    config["config"]["layers"][-1]["config"]["name"] = "more"
    with pytest.raises(RunError, match=r"the layer more \(Dense\) has no array in the file"):
        read_weights(keras_file(tmp_path / "net.keras", config))


def test_arrays_that_lie_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(bytes(8 * 30))
    for name, how in (
        ("other", {"external": [(str(tmp_path / "secret"), 0, 8 * 30)]}),
        ("huge", {"chunks": True, "compression": "gzip"}),
    ):
        path = h5_file(tmp_path / f"{name}.h5", model(*CHAIN, dense(1, "tanh"), dense(2)))
        with h5py.File(path, "a") as file:
            shape = (10**7, 10**7) if name == "huge" else (6, 5)
            file.create_dataset("model_weights/own_9/kernel", shape, "f8", **how)
        with pytest.raises(RunError, match=r"own_9/kernel .*, which no model of Keras does"):
            read_weights(path)
