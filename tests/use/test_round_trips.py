"""senn, PyTorch, ONNX Runtime and Keras: the same outputs on 1,000 inputs, there and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from senn_cli.model import Model, load_model
from senn_cli.nets.architecture import PLAIN
from senn_cli.use.exports import FORMATS, export_model
from senn_cli.use.import_plan import read_weights
from senn_cli.use.imports import import_weights
from tests.use.made import made_run

N = 1000
NORMAL = np.random.default_rng(5).standard_normal((N, 20)).astype(np.float32)
RELU = {"relu": "ReLU", "gelu": "GELU", "leaky_relu": "LeakyReLU", "softplus": "Softplus"}
MODULES = RELU | {"silu": "SiLU", "tanh": "Tanh", "identity": "Identity", "sigmoid": "Sigmoid"}


def apart(ours: Any, theirs: Any) -> float:
    """The largest difference, relative to outputs that are larger than 1."""
    ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    assert ours.shape == theirs.shape
    return float((np.abs(ours - theirs) / np.maximum(1, np.abs(theirs))).max())


def read(path: Path, *overrides: str) -> Model:
    plan = read_weights(path, None, overrides)
    assert plan.preprocessing is not None
    return Model(plan.architecture, plan.params, plan.preprocessing)


def told(what: str, difference: float) -> None:
    """Shown by `pytest -s`."""
    print(f"{what}: {difference:.1e}")
    assert difference < 2e-6


@pytest.mark.parametrize("activation", MODULES)
def test_networks_of_pytorch(tmp_path: Path, activation: str) -> None:
    torch = pytest.importorskip("torch")
    nn = torch.nn
    torch.manual_seed(0)
    between = getattr(nn, MODULES[activation])
    net = nn.Sequential(
        nn.Linear(20, 64), between(), nn.Linear(64, 32), between(), nn.Linear(32, 5)
    )
    torch.save(net.state_dict(), tmp_path / "net.pt")
    found = read(tmp_path / "net.pt", f"activation={activation}")
    with torch.no_grad():
        wanted = net(torch.from_numpy(NORMAL)).numpy()
    told(f"PyTorch, {activation}, to senn", apart(found.outputs(NORMAL), wanted))


def test_checkpoints_and_views_of_pytorch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Linear(20, 5))
    adam = torch.optim.Adam(net.parameters())
    net(torch.from_numpy(NORMAL)).sum().backward()
    adam.step()
    half = {"net.weight": net[0].weight.T.contiguous().T.bfloat16(), "net.bias": net[0].bias}
    content = {"model_state_dict": half, "optimizer": adam.state_dict(), "epoch": 3}
    torch.save(content, tmp_path / "net.pth")
    found = read(tmp_path / "net.pth")
    weights = half["net.weight"].detach().float().numpy()
    with torch.no_grad():
        wanted = NORMAL @ weights.T + net[0].bias.numpy()
    told("PyTorch, a checkpoint in bfloat16, to senn", apart(found.outputs(NORMAL), wanted))
    torch.save(net, tmp_path / "whole.pt")
    with pytest.raises(Exception, match=r"names torch\.nn\.modules\.container\.Sequential"):
        read(tmp_path / "whole.pt")


EXPORTED: dict[str, dict[str, Any]] = {
    "mlp": {"hidden": (9,) * 8, "activation": ("rational", *PLAIN)},
    "densenet": {"blocks": ((3, 2), (4,)), "activation": "gelu"},
}


@pytest.mark.parametrize("name", EXPORTED)
def test_exports_to_pytorch_and_onnx_agree_and_come_back(tmp_path: Path, name: str) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    data = "{source: digits, subset: 100}"
    model = load_model(made_run(tmp_path / "run", data, **EXPORTED[name]))
    x = np.random.default_rng(0).integers(0, 17, (N, 8, 8), np.uint8)
    ours = model.outputs(x)
    found = {}
    for kind in ("torch", "onnx"):
        file = export_model(model, "a", kind, tmp_path / kind).files[0]
        found[kind] = FORMATS[kind].load(file)(x.reshape(N, 64))[0]
        told(f"senn, {name}, to {kind}", apart(found[kind], ours))
    told(f"{name}, PyTorch and ONNX Runtime", apart(found["torch"], found["onnx"]))
    again = import_weights(tmp_path / "torch" / "network.safetensors", None, tmp_path / "again")
    back = load_model(again.path)
    assert back.architecture.to_json() == model.architecture.without_buds().to_json()
    assert back.preprocessing.to_json() == model.preprocessing.to_json()
    np.testing.assert_array_equal(back.outputs(x), ours)


@pytest.mark.filterwarnings("ignore")  # Keras' own
def test_networks_of_keras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    keras = pytest.importorskip("keras", exc_type=ImportError)
    pytest.importorskip("h5py")
    layers = keras.layers
    scaled = layers.Normalization()
    scaled.adapt(NORMAL * 3 + 1)
    words = ("relu", "gelu", "softplus", "silu", "tanh", "sigmoid", "linear")
    hidden = [layers.Dense(16, word) for word in words]
    slope = [layers.Dense(16), layers.LeakyReLU(negative_slope=0.01), layers.Dropout(0.5)]
    net = keras.Sequential(
        [keras.Input((20,)), layers.Rescaling(0.5, 0.1), scaled, *hidden, *slope]
    )
    net.add(layers.Dense(4, "softmax"))
    wanted = keras.ops.convert_to_numpy(net(NORMAL))
    for ending in ("keras", "h5"):
        net.save(tmp_path / f"net.{ending}")
        found = read(tmp_path / f"net.{ending}")
        told(f"Keras, .{ending}, to senn", apart(found(NORMAL), wanted))
    entry = keras.Input((20,))
    last = layers.Dense(1)(layers.Dense(8, "swish", use_bias=False)(entry))
    functional = keras.Model(entry, last)
    functional.compile(loss="mse")
    functional.save(tmp_path / "functional.keras")
    found = read(tmp_path / "functional.keras")
    assert found.preprocessing.task == "regression"
    wanted = keras.ops.convert_to_numpy(functional(NORMAL))
    told("Keras, functional, to senn", apart(found(NORMAL), wanted))
