"""Networks that others trained: the same function as NumPy computes, or one clear error."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import senn_cli
from senn_cli.errors import RunError, SennError, UsageError
from senn_cli.model import Model
from senn_cli.nets.architecture import Layer
from senn_cli.nets.densenet_architecture import DenseArchitecture
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.runs.weights import load_weights
from senn_cli.training.origin import origins, read_origin
from senn_cli.use.exports import export_model
from senn_cli.use.imports import Imported, import_weights
from senn_cli.use.weights_files import open_weights
from tests.use.made import MOONS, made_run

safetensors = pytest.importorskip("safetensors.numpy")

MLP = """
kind: mlp
activation: %s
maps:
  - {kernel: fc1.weight, bias: fc1.bias, transpose: true}
  - {kernel: fc2.weight, bias: fc2.bias, transpose: true}
  - {kernel: out, bias: out_bias}
preprocessing: {shift: 0.5, scale: 2}
"""
DENSE = """
kind: densenet
activation: tanh
pool: %s
image: [5, 6, 2]
layout: OIHW
blocks: [[c0.weight, c1.weight, c2.weight], [c3.weight]]
head: {kernel: fc.weight, bias: fc.bias, transpose: true}
preprocessing: {}
classes: [cat, dog, 7]
"""
Arrays = dict[str, np.ndarray]


def mlp_arrays(seed: int = 0) -> Arrays:
    """Two layers in PyTorch's layout, and an output map in senn's."""
    rng = np.random.default_rng(seed)

    def normal(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    return {
        "fc1.weight": normal(5, 4),
        "fc1.bias": normal(5),
        "fc2.weight": normal(3, 5),
        "fc2.bias": normal(3),
        "out": normal(3, 2),
        "out_bias": normal(2),
    }


def dense_arrays(seed: int = 0) -> Arrays:
    rng = np.random.default_rng(seed)
    shapes = {
        "c0.weight": (3, 2, 3, 3),
        "c1.weight": (4, 2 + 3, 3, 3),
        "c2.weight": (2, 2 + 3 + 4, 3, 3),
        "c3.weight": (3, 2, 3, 3),
        "fc.weight": (3, 3),
        "fc.bias": (3,),
    }
    return {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()}


def written(path: Path, arrays: Arrays) -> Path:
    if path.suffix == ".npz":
        np.savez(path, **arrays)  # type: ignore[arg-type]
    else:
        safetensors.save_file(arrays, path)
    return path


def imported(
    folder: Path, arrays: Arrays, mapping: str, kind: str = "safetensors", name: str = "net"
) -> Any:
    file = written(folder / f"{name}.{kind}", arrays)
    (folder / "map.yaml").write_text(mapping)
    return import_weights(file, folder / "map.yaml", folder / name)


def silu(x: np.ndarray) -> np.ndarray:
    return np.asarray(x / (1 + np.exp(-x)))


def mlp_by_hand(arrays: Arrays, activation: Any, x: np.ndarray) -> np.ndarray:
    """What torch.nn.Linear computes: x W^T + b."""
    a = {name: array.astype(np.float64) for name, array in arrays.items()}
    h = activation(x @ a["fc1.weight"].T + a["fc1.bias"])
    h = activation(h @ a["fc2.weight"].T + a["fc2.bias"])
    return np.asarray(h @ a["out"] + a["out_bias"])


def conv_by_hand(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """torch.nn.Conv2d(padding=1) without bias by its definition; `x` (C, H, W), kernel OIHW."""
    channels, height, width = x.shape
    result = np.zeros((kernel.shape[0], height, width))
    for o in range(kernel.shape[0]):
        for i in range(height):
            for j in range(width):
                for c in range(channels):
                    for di in (-1, 0, 1):
                        for dj in (-1, 0, 1):
                            if 0 <= i + di < height and 0 <= j + dj < width:
                                weight = float(kernel[o, c, di + 1, dj + 1])
                                result[o, i, j] += weight * x[c, i + di, j + dj]
    return result


def pool_by_hand(x: np.ndarray, mean: bool) -> np.ndarray:
    """2x2 windows at stride 2; at an odd edge over the positions that exist."""
    _, height, width = x.shape
    take = np.mean if mean else np.max
    rows = [
        [take(x[:, i : i + 2, j : j + 2], axis=(1, 2)) for j in range(0, width, 2)]
        for i in range(0, height, 2)
    ]
    return np.array(rows).transpose(2, 0, 1)


def dense_by_hand(arrays: Arrays, image: np.ndarray, mean: bool) -> np.ndarray:
    """One image (H, W, C) through the two blocks, channels first as PyTorch has them."""
    x = image.astype(np.float64).transpose(2, 0, 1)
    seen = [x]
    for name in ("c0", "c1", "c2"):
        seen.append(np.tanh(conv_by_hand(np.concatenate(seen), arrays[f"{name}.weight"])))
    x = pool_by_hand(seen[-1], mean)
    x = pool_by_hand(np.tanh(conv_by_hand(x, arrays["c3.weight"])), mean)
    return np.asarray(arrays["fc.weight"] @ x.mean(axis=(1, 2)) + arrays["fc.bias"])


@pytest.mark.parametrize("kind", ["safetensors", "npz"])
@pytest.mark.parametrize(("name", "activation"), [("silu", silu), ("tanh", np.tanh)])
def test_an_mlp_computes_the_same(tmp_path: Path, kind: str, name: str, activation: Any) -> None:
    arrays = mlp_arrays()
    found = imported(tmp_path, arrays, MLP % name, kind)
    layers = (Layer(5, 5, name), Layer(3, 3, name))  # type: ignore[arg-type]
    assert found.architecture == MlpArchitecture(4, 2, layers)
    model = senn_cli.load(found.path)
    x = np.random.default_rng(1).standard_normal((7, 4)).astype(np.float32)
    wanted = mlp_by_hand(arrays, activation, (x - 0.5) * 2)
    np.testing.assert_allclose(model.outputs(x), wanted, rtol=1e-6, atol=3e-6)
    shares = np.exp(wanted) / np.exp(wanted).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model(x), shares, rtol=0, atol=1e-6)
    assert model.preprocessing.classes == ("0", "1")


def test_a_rational_mlp_computes_the_same(tmp_path: Path) -> None:
    arrays = {
        "w": np.array([[1.5, -2.0]], np.float32),
        "b": np.array([0.25, 0.5], np.float32),
        "c": np.array([[1.0, 0.5], [2.0, -1.0], [0.0, 3.0]], np.float32),
        "v": np.array([[1.0], [2.0]], np.float32),
    }
    text = (
        "kind: mlp\nactivation: rational\nmaps:\n  - {kernel: w, bias: b, coefficients: c}\n"
        "  - {kernel: v}\npreprocessing: {}\ntargets: {scale: 2, shift: [10]}\n"
    )
    found = imported(tmp_path, arrays, text)
    # x = 1: z = 1.75 and -1.5; z + 2 / (1 + z^2), 0.5 z + (-1 + 3 z) / (1 + z^2).
    first, second = 1.75 + 2 / (1 + 1.75**2), -0.75 + (-1 - 4.5) / (1 + 1.5**2)
    wanted = (first + 2 * second) / 2 + 10
    assert float(senn_cli.load(found.path)(np.ones((1, 1)))[0, 0]) == pytest.approx(wanted, 1e-6)


@pytest.mark.parametrize("pool", ["mean2s2", "max2s2"])
@pytest.mark.parametrize("layout", ["OIHW", "HWIO"])
def test_a_densenet_computes_the_same(tmp_path: Path, pool: str, layout: str) -> None:
    arrays, text = dense_arrays(), DENSE % pool
    stored = dict(arrays)
    if layout == "HWIO":
        text = text.replace("OIHW", "HWIO")
        for name in ("c0", "c1", "c2", "c3"):
            stored[f"{name}.weight"] = np.ascontiguousarray(
                arrays[f"{name}.weight"].transpose(2, 3, 1, 0)
            )
    found = imported(tmp_path, stored, text)
    blocks = (
        (Layer(3, 3, "tanh"), Layer(4, 4, "tanh"), Layer(2, 2, "tanh")),
        (Layer(3, 3, "tanh"),),
    )
    assert found.architecture == DenseArchitecture((5, 6, 2), 3, blocks, 0, pool)  # type: ignore[arg-type]
    model = senn_cli.load(found.path)
    x = np.random.default_rng(1).standard_normal((3, 5, 6, 2)).astype(np.float32)
    wanted = [dense_by_hand(arrays, image, pool == "mean2s2") for image in x]
    np.testing.assert_allclose(model.outputs(x), wanted, rtol=0, atol=3e-6)
    assert model.preprocessing.classes == ("cat", "dog", "7")


def test_images_that_were_flattened_with_channels_first(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arrays = {"w": rng.standard_normal((4, 2 * 3 * 3)).astype(np.float32)}
    text = (
        "kind: mlp\nactivation: silu\nimage: [2, 3, 3]\nflatten: CHW\n"
        "maps: [{kernel: w, transpose: true}]\npreprocessing: {shift: [1, 2, 3]}\n"
    )
    found = imported(tmp_path, arrays, text)
    x = rng.standard_normal((5, 2, 3, 3)).astype(np.float32)
    shifted = (x - np.array([1, 2, 3], np.float32)).transpose(0, 3, 1, 2).reshape(5, -1)
    outputs = senn_cli.load(found.path).outputs(x)
    np.testing.assert_allclose(outputs, shifted @ arrays["w"].T, rtol=0, atol=1e-5)


def test_what_is_done_to_every_array_is_told(tmp_path: Path) -> None:
    arrays = mlp_arrays()
    arrays["fc1.weight"] = arrays["fc1.weight"].astype(np.float64) + 1e-9
    arrays["fc1.bias"] = arrays["fc1.bias"].astype(np.float16)
    arrays["fc2.bias"] = arrays["fc2.bias"].astype(np.float64)
    arrays["steps"] = np.arange(3)
    text = (MLP % "silu").replace(", bias: out_bias", "") + "ignore: [out_bias, steps]\n"
    found = imported(tmp_path, arrays, text)
    told = {one.array: one for one in found.arrays}
    assert list(told) == [
        "params/map_0/kernel",
        "params/map_0/bias",
        "params/map_1/kernel",
        "params/map_1/bias",
        "params/map_2/kernel",
        "params/map_2/bias",
    ]
    words = told["params/map_0/kernel"].words
    assert words.startswith("from fc1.weight, transposed, float64 converted to float32, changed by")
    assert told["params/map_0/kernel"].shape == (4, 5)
    told_bias = told["params/map_0/bias"].words
    assert told_bias == "from fc1.bias, float16 converted to float32, exactly"
    assert "exactly" in told["params/map_1/bias"].words
    assert told["params/map_2/kernel"].words == "from out"
    assert told["params/map_2/bias"].words == "zero: the mapping names no bias for this map"
    assert told["params/map_2/bias"].zero
    kept = json.loads((found.path / "transfer.json").read_text())
    assert [one["outcome"] for one in kept["arrays"]] == ["loaded"] * 5 + ["re-initialised"]
    _, params = load_weights(found.path / "weights")
    assert params["map_0"]["kernel"].dtype == np.float32
    assert not np.any(params["map_2"]["bias"])
    big = np.asarray(arrays["fc1.weight"].T, ">f4")
    again = imported(tmp_path, mlp_arrays() | {"fc1.weight": big.T}, MLP % "silu", "npz", "big")
    assert again.arrays[0].words == "from fc1.weight, transposed"


def change(name: str, value: Any) -> Any:
    """The arrays of the mlp with one replaced, or removed."""
    arrays = mlp_arrays()
    arrays.pop(name, None)
    return arrays if value is None else {**arrays, name: value}


@pytest.mark.parametrize(
    ("arrays", "error", "message"),
    [
        (change("fc1.bias", None), UsageError, "has no array fc1.bias"),
        (change("extra", np.ones(2, np.float32)), UsageError, "left over: extra"),
        (
            change("fc2.weight", np.ones((5, 3), np.float32)),
            RunError,
            "fc2.weight has the shape (5, 3), expected (any, 5) as the kernel of map 1",
        ),
        (
            change("fc1.bias", np.ones(4, np.float32)),
            RunError,
            "fc1.bias has the shape (4), expected (5) as the bias of map_0",
        ),
        (
            change("out", np.array([[1, np.nan], [2, 3], [4, np.inf]], np.float32)),
            RunError,
            "out has 2 numbers that are not finite, the first (nan) at index (0, 1)",
        ),
        (
            change("out_bias", np.array([1e39, 0])),
            RunError,
            "out_bias has numbers too large for float32",
        ),
        (
            change("out_bias", np.array([1, 0])),
            RunError,
            "out_bias is I64; float32, float16, float64 and",
        ),
    ],
)
def test_arrays_that_do_not_fit(
    tmp_path: Path, arrays: Arrays, error: type[SennError], message: str
) -> None:
    with pytest.raises(error) as caught:
        imported(tmp_path, arrays, MLP % "silu")
    assert message in caught.value.message
    assert "net.safetensors" in caught.value.message
    assert not (tmp_path / "net").exists()


def test_exchanged_axes_have_a_hint(tmp_path: Path) -> None:
    arrays = mlp_arrays()
    arrays["fc2.weight"] = np.ones((5, 3), np.float32)
    with pytest.raises(RunError) as caught:
        imported(tmp_path, arrays, MLP % "silu")
    assert "transpose" in str(caught.value.hint)


def test_the_bias_of_a_convolution(tmp_path: Path) -> None:
    arrays = dense_arrays() | {"c1.bias": np.array([0, 0, 0.5, 0], np.float32)}
    for text in (DENSE, DENSE + "ignore: [c1.bias]\n"):
        with pytest.raises(UsageError) as caught:
            imported(tmp_path, arrays, text % "max2s2")
        assert "c1.bias" in caught.value.message
        assert "convolutions have no bias" in caught.value.message
    assert "ignoring it would change the function" in caught.value.message
    named = DENSE.replace("[c3.weight]", "[{kernel: c3.weight, bias: c3.bias}]")
    with pytest.raises(UsageError, match="convolutions have no bias") as caught:
        imported(tmp_path, dense_arrays(), named % "max2s2")
    assert "map.yaml:7: blocks.1.0.bias should be left out" in caught.value.message
    arrays["c1.bias"][:] = 0
    imported(tmp_path, arrays, (DENSE + "ignore: [c1.bias]\n") % "max2s2")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kind: mlp", "kind: cnn", "map.yaml:2: kind should be one of mlp or densenet"),
        ("kind: mlp\n", "", "kind is missing; it should be mlp or densenet"),
        ("activation: silu", "activation: elu", "map.yaml:3: activation should be one of"),
        ("activation: silu", "activation: rational", "map 0 should name `coefficients`"),
        ("fc2.weight, ", "fc1.weight, ", "names the array fc1.weight twice"),
        ("maps:", "pool: max2s2\nmaps:", "map.yaml:4: pool is no key of a mapping"),
        ("kernel: out,", "kern: out,", "maps.2.kernel is missing"),
        ("kind: mlp", "kind: mlp\nclasses: [a, b, c]", "there are 3 classes, but the network has"),
        ("kind: mlp", "kind: mlp\nclasses: [a, a]", "should name each once"),
        ("scale: 2", "scale: 2, shape: [3, 3]", "an example has 9 numbers, the network 4 inputs"),
        ("scale: 2", "scale: [1, 2, 3]", "scale has the shape (3,), an example (4,)"),
        ("scale: 2", "scale: two", "scale should be a number or a list of numbers"),
        ("kind: mlp", "kind: mlp\nflatten: CHW", "needs `image:"),
        ("kind: mlp", "kind: mlp\nignore: [nothing]", "ignore names nothing, which is not in"),
        ("kind: mlp", "kind: mlp\nignore: [out]", "ignore names out, which is used"),
        ("kind: mlp", "kind: mlp\ntargets: {scale: 0}", "targets.scale is 0"),
        ("kind: mlp", "kind: mlp\n- bad", "map.yaml:3"),
    ],
)
def test_faults_of_a_mapping(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = MLP % "silu"
    assert old in text
    with pytest.raises(UsageError) as caught:
        imported(tmp_path, mlp_arrays(), text.replace(old, new))
    assert message in caught.value.message
    assert not (tmp_path / "net").exists()


def test_classes_without_preprocessing(tmp_path: Path) -> None:
    text = (MLP % "silu").replace("preprocessing: {shift: 0.5, scale: 2}", "classes: [a, b]")
    with pytest.raises(UsageError, match="`classes` needs `preprocessing`"):
        imported(tmp_path, mlp_arrays(), text)


def test_files_that_are_none(tmp_path: Path) -> None:
    good = written(tmp_path / "good.safetensors", mlp_arrays())
    (tmp_path / "map.yaml").write_text(MLP % "silu")
    (tmp_path / "cut.safetensors").write_bytes(good.read_bytes()[:100])
    (tmp_path / "cut.npz").write_bytes(b"PK\x03\x04nothing")
    (tmp_path / "net.pt").write_bytes(b"")
    np.save(tmp_path / "one.npy", np.ones(2))
    shutil.copy(tmp_path / "one.npy", tmp_path / "one.npz")
    np.savez(tmp_path / "objects.npz", **{"fc1.weight": np.array([{}, []], object)})  # type: ignore[arg-type]
    for name, message in (
        ("nothing.npz", "does not exist"),
        (".", "is a directory, not a regular file"),
        ("net.pt", "is no file of torch.save, or damaged: File is not a zip file; it looks"),
        ("map.yaml", "ends with one of .safetensors, .npz, .pt"),
        ("cut.safetensors", "is no safetensors file, or damaged"),
        ("cut.npz", "is damaged or incomplete"),
        ("one.npz", "holds a single array"),
        ("objects.npz", "array 'fc1.weight' holds Python objects"),
    ):
        with pytest.raises(SennError) as caught:
            import_weights(tmp_path / name, tmp_path / "map.yaml", tmp_path / "out")
        assert message in caught.value.message, name
    for path, message in ((tmp_path / "nothing.yaml", "no such file"), (tmp_path, "a directory")):
        with pytest.raises(UsageError, match=message):
            import_weights(good, path, tmp_path / "out")
    with pytest.raises(UsageError, match="holds more than the linear maps"):
        import_weights(good, None, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(UsageError, match="is not empty"):
        import_weights(good, tmp_path / "map.yaml", tmp_path)


def stored_as(tmp_path: Path, kind: str, content: bytes) -> Imported:
    """The import of a network with one kernel of two inputs and an output, by the format's text."""
    described = {"dtype": kind, "shape": [2, 1], "data_offsets": [0, len(content)]}
    header = json.dumps({"w": described}).encode()
    content = len(header).to_bytes(8, "little") + header + content
    (tmp_path / "a.safetensors").write_bytes(content)
    (tmp_path / "map.yaml").write_text("kind: mlp\nactivation: silu\nmaps: [{kernel: w}]\n")
    return import_weights(tmp_path / "a.safetensors", tmp_path / "map.yaml", tmp_path / "out")


def test_bfloat16_is_taken_exactly(tmp_path: Path) -> None:
    # The upper halves of the float32 numbers 1.5 and -3.140625.
    found = stored_as(tmp_path, "BF16", bytes([0xC0, 0x3F, 0x49, 0xC0]))
    assert found.arrays[0].words == "from w, bfloat16 converted to float32, exactly"
    _, params = load_weights(found.path / "weights")
    assert params["map_0"]["kernel"].tolist() == [[1.5], [-3.140625]]


def test_types_that_are_not_taken_say_what_is_and_how_to_convert(tmp_path: Path) -> None:
    with pytest.raises(
        RunError, match=r"the array w is F8_E4M3; float32, float16, .*bfloat16"
    ) as e:
        stored_as(tmp_path, "F8_E4M3", bytes(2))
    assert "tensor.float()" in str(e.value.hint)


@pytest.mark.parametrize("text", [MLP % "elu", (DENSE % "max2s2").replace("tanh", "elu")])
def test_another_activation_is_refused_with_what_to_do(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="activation should be one of") as caught:
        imported(tmp_path, mlp_arrays(), text)
    assert "put the closest in its place" in str(caught.value.hint)


@pytest.mark.parametrize("blocks", [(), ((3, 2), (4,))])
def test_an_export_describes_itself(tmp_path: Path, blocks: Sequence[Sequence[int]]) -> None:
    data = "{source: digits, subset: 100}" if blocks else MOONS
    run = made_run(tmp_path / "run", data, blocks=blocks, activation="tanh")
    model = senn_cli.load(run)
    export_model(model, "first", "safetensors", tmp_path / "net.safetensors")
    found = import_weights(tmp_path / "net.safetensors", None, tmp_path / "net")
    again = senn_cli.load(found.path)
    x = np.random.default_rng(0).uniform(0, 9, (20, *model.preprocessing.shape))
    x = x.astype(model.preprocessing.dtype)
    assert isinstance(again, Model)
    exported = dict(jax.tree_util.tree_leaves_with_path(model.params))
    for place, array in jax.tree_util.tree_leaves_with_path(again.params):
        used = exported[place][tuple(map(slice, array.shape))]
        np.testing.assert_array_equal(array, used, err_msg=str(place))
    # Another program, as it has neither spare neurons nor buds: other roundings.
    np.testing.assert_allclose(again(x), model(x), rtol=1e-5, atol=1e-7)
    assert again.preprocessing.to_json() == model.preprocessing.to_json()


def test_an_origin_for_growth(tmp_path: Path) -> None:
    full = imported(tmp_path, mlp_arrays(), MLP % "silu")
    text = (MLP % "silu").replace("preprocessing:", "# preprocessing:")
    bare = imported(tmp_path, mlp_arrays(), text, name="bare")
    found = [read_origin(one.path, "mlp") for one in (full, bare)]
    assert found[0].digest == found[1].digest == full.digest
    assert [one.name for one in found] == ["net", "bare"]
    assert (found[0].step, found[1].step) == (0, None)
    for one, name in zip(found, ("net.safetensors", "bare.safetensors"), strict=True):
        assert [link["name"] for link in one.chain] == [name]
        assert one.chain[0]["path"] == str(tmp_path / name)
        assert one.chain[0]["digest"] == full.digest
    assert origins(bare.path)[0]["source"] == "import"
    with pytest.raises(UsageError, match="is not a run directory"):
        senn_cli.load(bare.path)
    with pytest.raises(UsageError, match="kind mlp"):
        read_origin(bare.path, "densenet")


@pytest.mark.parametrize("existed", [False, True])
def test_what_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, existed: bool
) -> None:
    def full(*arguments: object) -> None:
        raise RunError("the disk is full")

    monkeypatch.setattr("senn_cli.use.imports.save_weights", full)
    if existed:
        (tmp_path / "net").mkdir()
    with pytest.raises(RunError, match="the disk is full"):
        imported(tmp_path, mlp_arrays(), MLP % "silu")
    assert (tmp_path / "net").exists() == existed
    assert not existed or not [*(tmp_path / "net").iterdir()]


def test_numbers_that_are_not_finite_in_an_export(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", MOONS, hidden=(2,), activation="tanh")
    export_model(senn_cli.load(run), "first", "safetensors", tmp_path / "good.safetensors")
    file = open_weights(tmp_path / "good.safetensors")
    arrays = {name: file.load(name).copy() for name in file.names}
    arrays["map_1.bias"][0] = np.inf
    safetensors.save_file(arrays, tmp_path / "bad.safetensors", metadata=file.metadata)
    with pytest.raises(RunError, match=r"the array map_1\.bias has numbers that are not finite"):
        import_weights(tmp_path / "bad.safetensors", None, tmp_path / "net")
