"""Every format holds the same network as the run, and says what is wrong with other files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from senn_cli.errors import RunError, UsageError
from senn_cli.model import Model, load_model
from senn_cli.nets.densenet_architecture import DenseArchitecture
from senn_cli.use import exports, standalone
from senn_cli.use.about import describe
from senn_cli.use.exports import FORMATS, allowed, compare, export_model, place
from tests.use.made import KINDS, forward, forward_densenet, made_run

pytest.importorskip("safetensors")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

IMAGES = "{source: digits, subset: 100}"
ODD = "{source: npz, path: odd.npz}"
REGRESSION = "{source: npz, path: values.npz, task: regression}"

# Activations, depths, tasks, and shapes of inputs, each at least once in every format.
NETWORKS: dict[str, dict[str, Any]] = {
    "rational": {"hidden": (5, 4), "activation": "rational"},
    "silu": {"hidden": (7,), "activation": "silu", "data": IMAGES},
    "tanh": {"hidden": (3, 3, 2), "activation": "tanh"},
    "linear": {"hidden": (), "data": IMAGES},
    "values": {"hidden": (6,), "activation": "rational", "data": REGRESSION},
    "linear values": {"hidden": (), "data": REGRESSION},
    "densenet": {"blocks": ((3, 2), (4,)), "activation": "silu", "data": IMAGES},
    # Odd sizes, two channels, and a pooling of a single position.
    "odd densenet": {
        "blocks": ((2,), (2, 3, 2), (3,)),
        "activation": "tanh",
        "data": ODD,
        "pool": "max2s2",
    },
    "mean densenet": {
        "blocks": ((2, 2), (2,), (2,)),
        "activation": "silu",
        "data": ODD,
        "pool": "mean2s2",
    },
    "many": {
        "hidden": (4, 3, 4, 3, 4, 3),
        "activation": ("relu", "gelu", "leaky_relu", "softplus", "identity", "rational"),
        "data": IMAGES,
    },
    "odd max": {"blocks": ((2, 2), (2,), (2,)), "activation": "silu", "data": ODD},
}
ACTIVATIONS = {name: made.get("activation", "rational") for name, made in NETWORKS.items()}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 2, 3)) * 4 + 3
    np.savez(folder / "values.npz", x=x, y=np.stack([x[:, 0, 0], 100 + 9 * x[:, 1, 2]], 1))
    np.savez(folder / "odd.npz", x=rng.normal(size=(40, 5, 3, 2)), y=np.arange(40) % 3)
    return {name: made_run(folder / name, **how) for name, how in NETWORKS.items()}


@pytest.fixture(scope="module")
def models(runs: Mapping[str, Path]) -> Mapping[str, Model]:
    return {name: load_model(path) for name, path in runs.items()}


def sample(model: Model, n: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """Scaled inputs `(n, inputs)` and the examples that they come from, flattened."""
    how = model.preprocessing
    scaled = np.random.default_rng(7).standard_normal((n, *how.shape))
    examples = (scaled / how.scale + how.shift).astype(np.float32)
    if how.dtype == "uint8":
        examples = np.rint(np.abs(examples)).astype(np.uint8)
    return how.inputs(examples), examples.reshape(n, -1)


def exactly(model: Model, name: str, inputs: np.ndarray) -> np.ndarray:
    architecture = model.architecture
    if isinstance(architecture, DenseArchitecture):
        image, pool = architecture.image, architecture.pool
        return forward_densenet(model.params, ACTIVATIONS[name], image, pool, inputs)
    return forward(model.params, ACTIVATIONS[name], inputs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NETWORKS)
def test_an_export_is_the_network(
    models: Mapping[str, Model], tmp_path: Path, name: str, kind: str
) -> None:
    model = models[name]
    made = export_model(model, name, kind, tmp_path / "out")
    assert made.difference <= 1e-5
    outputs, answers = FORMATS[kind].load(made.files[0])(sample(model)[1])
    exact = exactly(model, name, sample(model)[0])
    scale = np.maximum(1, np.abs(exact).max(axis=1, keepdims=True))
    assert np.abs((outputs - exact) / scale).max() < 1e-5
    how = model.preprocessing
    if how.task == "classification":
        e = np.exp(exact - exact.max(axis=1, keepdims=True))
        expected = e / e.sum(axis=1, keepdims=True)
        assert np.abs(answers - expected).max() < 1e-5
    else:
        expected = exact / how.target_scale + how.target_shift
        np.testing.assert_allclose(answers, expected, rtol=1e-5, atol=1e-4)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        path.name for path in made.files
    )
    assert made.size == sum(path.stat().st_size for path in made.files)


def test_a_form_that_a_kind_has_not_is_refused(
    models: Mapping[str, Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all(form.serves("mlp") and form.serves("densenet") for form in FORMATS.values())
    monkeypatch.delattr("senn_cli.nets.mlp.Mlp.graph")
    monkeypatch.delitem(standalone.NETWORKS, "mlp")
    for kind in ("onnx", "flax"):
        with pytest.raises(UsageError, match=f"of kind mlp cannot be written as {kind}") as caught:
            export_model(models["silu"], "a", kind, tmp_path)
        assert caught.value.hint == "It can be written as safetensors, stablehlo or torch."
    assert list(tmp_path.iterdir()) == []


def test_spare_capacity_is_left_out(models: Mapping[str, Model], tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    made = export_model(models["rational"], "a", "safetensors", tmp_path)
    shapes = {name: array.shape for name, array in load_file(made.files[0]).items()}
    assert shapes == {
        "map_0.kernel": (2, 5),
        "map_0.bias": (5,),
        "activation_0.coefficients": (3, 5),
        "map_1.kernel": (5, 4),
        "map_1.bias": (4,),
        "activation_1.coefficients": (3, 4),
        "map_2.kernel": (4, 2),
        "map_2.bias": (2,),
    }


def test_buds_are_left_out(models: Mapping[str, Model], tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    assert any("bud" in name for name in models["densenet"].params)
    made = export_model(models["densenet"], "a", "safetensors", tmp_path)
    shapes = {name: array.shape for name, array in load_file(made.files[0]).items()}
    assert shapes == {
        "block_0/layer_0.input": (3, 3, 1, 3),
        "block_0/layer_1.input": (3, 3, 1, 2),
        "block_0/layer_1.layer_0": (3, 3, 3, 2),
        "block_1/layer_0.input": (3, 3, 2, 4),
        "head.kernel": (4, 10),
        "head.bias": (10,),
    }


@pytest.mark.parametrize("kind", ["stablehlo", "onnx"])
def test_programs_take_any_number_of_examples(
    models: Mapping[str, Model], tmp_path: Path, kind: str
) -> None:
    model = models["silu"]
    made = export_model(model, "a", kind, tmp_path)
    loaded, x = FORMATS[kind].load(made.files[0]), sample(model, 7)[1]
    for n in (1, 7):
        assert loaded(x[:n])[0].shape == (n, 10)
        answers = model.preprocessing.answers(model.outputs(x[:n]))
        np.testing.assert_allclose(loaded(x[:n])[1], answers, rtol=1e-4, atol=1e-6)


def test_the_description_is_in_every_format(models: Mapping[str, Model], tmp_path: Path) -> None:
    import onnx
    from safetensors import safe_open

    model = models["silu"]
    files = {
        kind: export_model(model, "größe", kind, tmp_path / kind).files
        for kind in ("safetensors", "stablehlo", "onnx", "flax")
    }
    with safe_open(files["safetensors"][0], framework="np") as file:
        found = [json.loads(file.metadata()["senn"])]
    found.append(json.loads(files["stablehlo"][1].read_bytes()))
    props = {p.key: p.value for p in onnx.load(files["onnx"][0]).metadata_props}
    found += [json.loads(props["senn"]), json.loads(files["flax"][2].read_bytes())]
    for about in found:
        assert about["name"] == "größe"
        assert about["architecture"]["hidden"] == [
            {"width": 7, "capacity": 7, "activation": "silu"}
        ]
        assert about["preprocessing"]["classes"] == list("0123456789")
        np.testing.assert_array_equal(
            np.asarray(about["preprocessing"]["scale"], np.float32), model.preprocessing.scale
        )
    assert json.loads(props["classes"]) == list("0123456789")


def test_onnx_has_plain_operators_alone(models: Mapping[str, Model], tmp_path: Path) -> None:
    import onnx

    made = export_model(models["rational"], "a", "onnx", tmp_path)
    graph = onnx.load(made.files[0])
    assert {node.op_type for node in graph.graph.node} <= {
        "Sub", "Mul", "Add", "Div", "MatMul", "Softmax", "ArgMax", "Gather",
    }  # fmt: skip
    assert {node.domain for node in graph.graph.node} == {""}


ALONE = """
import importlib.abc, sys
class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == "senn_cli":
            raise ImportError(name + " is blocked")
sys.meta_path.insert(0, Blocked())
import numpy as np
import network
model = network.load()
x = np.load("x.npy")
np.savez("y.npz", outputs=model.outputs(x), answers=model(x))
assert model.classes[:2] == ("0", "1")
assert not any(name.startswith("senn_cli") for name in sys.modules)
"""


def test_the_flax_module_runs_without_this_package(
    models: Mapping[str, Model], tmp_path: Path
) -> None:
    model = models["silu"]
    export_model(model, "a", "flax", tmp_path)
    x = sample(model)[1]
    np.save(tmp_path / "x.npy", x)
    result = subprocess.run(
        [sys.executable, "-c", ALONE],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    found = np.load(tmp_path / "y.npz")
    np.testing.assert_allclose(found["outputs"], model.outputs(x), rtol=1e-5, atol=1e-5)
    answers = model.preprocessing.answers(model.outputs(x))
    np.testing.assert_allclose(found["answers"], answers, atol=1e-5)


def test_no_folder_of_compiled_code_is_left(models: Mapping[str, Model], tmp_path: Path) -> None:
    made = export_model(models["tanh"], "a", "flax", tmp_path)
    FORMATS["flax"].load(made.files[0])
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "network.json", "network.py", "weights.npz",
    ]  # fmt: skip
    assert not any(name.startswith("senn_exported") for name in sys.modules)


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files(models: Mapping[str, Model], tmp_path: Path, kind: str) -> None:
    made = export_model(models["tanh"], "a", kind, tmp_path)
    for path in made.files:
        if path.suffix == ".py":
            continue
        content = path.read_bytes()
        for damaged in (content[: len(content) // 2], b"", b"something else", None):
            if damaged is None:
                path.unlink()
            else:
                path.write_bytes(damaged)
            with pytest.raises(RunError) as caught:
                FORMATS[kind].load(made.files[0])
            assert str(tmp_path) in caught.value.message
        path.write_bytes(content)
    FORMATS[kind].load(made.files[0])


def test_foreign_safetensors(models: Mapping[str, Model], tmp_path: Path) -> None:
    from safetensors import safe_open
    from safetensors.numpy import load_file, save_file

    path = export_model(models["tanh"], "a", "safetensors", tmp_path).files[0]
    arrays, load = load_file(path), FORMATS["safetensors"].load
    with safe_open(path, framework="np") as file:
        metadata = file.metadata()
    save_file(arrays, path)
    with pytest.raises(RunError, match="no key `senn`"):
        load(path)
    for name, array, message in (
        ("map_0.bias", None, "map_0.bias is missing, expected"),
        ("extra", np.zeros(1, np.float32), "extra is .* expected no such array"),
        ("map_0.bias", np.zeros(9, np.float32), r"map_0.bias is \(9,\) float32, expected \(3,\)"),
        ("map_0.bias", np.zeros(3, np.float16), r"map_0.bias is \(3,\) float16, expected \(3,\)"),
    ):
        changed = {k: v for k, v in arrays.items() if k != name}
        changed |= {} if array is None else {name: array}
        save_file(changed, path, metadata=metadata)
        with pytest.raises(RunError, match=message):
            load(path)


def test_foreign_onnx(tmp_path: Path) -> None:
    import onnx

    helper = onnx.helper
    value = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [1]) for n in "xy"]
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", value[:1], value[1:])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (tmp_path / "a.onnx").write_bytes(made.SerializeToString())
    with pytest.raises(RunError, match="no metadata `senn`"):
        FORMATS["onnx"].load(tmp_path / "a.onnx")


def test_an_export_that_differs_is_refused(
    models: Mapping[str, Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = models["tanh"]

    def off(path: Path) -> Any:
        right = FORMATS["flax"].load(path)

        def run(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            outputs, answers = right(x)
            return outputs + 5e-4, answers

        return run

    monkeypatch.setitem(exports.FORMATS, "bad", replace(FORMATS["flax"], load=off))
    with pytest.raises(RunError, match=r"differs from the run by 0\.0005.*nothing was written"):
        export_model(model, "a", "bad", tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_differences_are_relative_to_large_outputs_alone(models: Mapping[str, Model]) -> None:
    model = models["linear values"]

    def loaded(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        outputs = model.outputs(x)
        return outputs + 1e-3, model.preprocessing.answers(outputs)

    difference, rounding = compare(model, loaded)
    assert 1e-4 < difference <= 1.001e-3
    assert 0 < rounding < 1e-6
    assert compare(model, lambda x: (model.outputs(x)[:, :1], model(x)))[0] == np.inf
    assert np.isnan(compare(model, lambda x: (model.outputs(x) * np.nan, model(x)))[0])


def test_rounding_widens_what_is_allowed_up_to_a_limit() -> None:
    assert allowed(0.0) == allowed(2e-6) == 1e-5
    assert allowed(1e-5) == pytest.approx(4e-5)
    assert allowed(1.0) == allowed(np.inf) == pytest.approx(1e-3)


def test_where_files_go(tmp_path: Path) -> None:
    (tmp_path / "a.b").mkdir()
    (tmp_path / "file").touch()
    assert place(tmp_path / "new", "onnx") == (tmp_path / "new", "network")
    assert place(tmp_path / "a.b", "onnx") == (tmp_path / "a.b", "network")
    assert place(tmp_path / "c.onnx", "onnx") == (tmp_path, "c")
    for output, kind, message in (
        ("c.pb", "onnx", r"ends with \.onnx"),
        ("c.py", "flax", "name a directory"),
        ("file", "onnx", "is a file, not a directory"),
    ):
        with pytest.raises(UsageError, match=message):
            place(tmp_path / output, kind)


def test_files_are_replaced_on_demand_alone(models: Mapping[str, Model], tmp_path: Path) -> None:
    (tmp_path / "network.py").write_text("mine")
    with pytest.raises(UsageError, match=r"network\.py exists already"):
        export_model(models["tanh"], "a", "flax", tmp_path)
    assert (tmp_path / "network.py").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["network.py"]
    export_model(models["tanh"], "a", "flax", tmp_path, replace=True)
    assert "class DenseNet" in (tmp_path / "network.py").read_text()


def test_a_companion_file_has_the_name_of_its_program(
    models: Mapping[str, Model], tmp_path: Path
) -> None:
    made = export_model(models["tanh"], "a", "stablehlo", tmp_path / "mine.stablehlo")
    assert [path.name for path in made.files] == ["mine.stablehlo", "mine.json"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("link", ["logistic", "log"])
def test_answers_through_other_links(
    models: Mapping[str, Model], tmp_path: Path, link: str, kind: str
) -> None:
    base = models["tanh" if link == "logistic" else "linear values"]
    how = base.preprocessing
    how = replace(how, task="multilabel") if link == "logistic" else replace(how, counts=True)
    model = Model(base.architecture, base.params, how)
    made = export_model(model, "a", kind, tmp_path)
    _, answers = FORMATS[kind].load(made.files[0])(sample(model, 50)[1])
    exact = exactly(model, "tanh", sample(model, 50)[0])
    expected = np.exp(exact) / how.target_scale + how.target_shift
    expected = expected if link == "log" else 1 / (1 + np.exp(-exact))
    np.testing.assert_allclose(answers, expected, rtol=2e-5, atol=1e-6)


def test_exports_of_an_older_senn_take_flattened_examples(
    models: Mapping[str, Model], tmp_path: Path
) -> None:
    """Format 2: float32 of the shape (b, inputs), whatever the data's type."""
    import jax
    import onnx
    from jax import export

    model = models["linear"]
    how, helper = model.preprocessing, onnx.helper
    about = json.dumps(describe(model, "old", ()) | {"format": 2})
    scale, shift = float(how.scale.item()), float(how.shift.item())
    kernel = model.params["map_0"]["kernel"] * np.float32(scale)
    bias = model.params["map_0"]["bias"] - np.float32(shift) * kernel.sum(axis=0)

    def value(name: str, width: int) -> Any:
        return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["b", width])

    nodes = [
        helper.make_node("Gemm", ["examples", "w", "v"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["probabilities"], axis=1),
    ]
    constants = [onnx.numpy_helper.from_array(a, n) for n, a in (("w", kernel), ("v", bias))]
    results = [value("logits", 10), value("probabilities", 10)]
    graph = helper.make_graph(nodes, "network", [value("examples", 64)], results, constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    helper.set_model_props(made, {"senn": about})
    (tmp_path / "old.onnx").write_bytes(made.SerializeToString())

    def program(x: jax.Array) -> dict[str, jax.Array]:
        logits = x @ kernel + bias
        return {"logits": logits, "probabilities": jax.nn.softmax(logits)}

    shape = jax.ShapeDtypeStruct((*export.symbolic_shape("b"), 64), np.float32)
    (tmp_path / "old.stablehlo").write_bytes(export.export(jax.jit(program))(shape).serialize())
    (tmp_path / "old.json").write_text(about)
    x = sample(model, 20)[1]
    for kind in ("onnx", "stablehlo"):
        outputs, answers = FORMATS[kind].load(tmp_path / f"old.{kind}")(x)
        np.testing.assert_allclose(outputs, model.outputs(x), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(answers, model(x), rtol=1e-4, atol=1e-5)
