"""Networks whose names tell which array is what: the same function, and the mapping found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import senn_cli
from senn_cli.errors import UsageError
from senn_cli.nets.architecture import PLAIN
from senn_cli.use.import_names import told
from senn_cli.use.import_plan import explained, read_weights
from senn_cli.use.imports import import_weights
from senn_cli.use.weights_files import open_weights
from tests.use.elementwise import ELEMENTWISE
from tests.use.torch_files import state_dict

Arrays = dict[str, np.ndarray]


def arrays(stems: tuple[str, ...], sizes: tuple[int, ...], seed: int = 0) -> Arrays:
    """Kernels and biases of linear maps as PyTorch has them, (out, in)."""
    rng = np.random.default_rng(seed)
    found: Arrays = {}
    for stem, read, width in zip(stems, sizes, sizes[1:], strict=False):
        found[f"{stem}weight"] = rng.standard_normal((width, read)).astype(np.float32)
        found[f"{stem}bias"] = rng.standard_normal(width).astype(np.float32)
    return found


def by_hand(found: Arrays, stems: tuple[str, ...], activation: str, x: np.ndarray) -> np.ndarray:
    """x W^T + b, and the activation between, in float64."""
    h = x.astype(np.float64)
    for number, stem in enumerate(stems):
        h = h @ found[f"{stem}weight"].T.astype(np.float64) + found[f"{stem}bias"]
        h = h if number == len(stems) - 1 else ELEMENTWISE[activation](h)
    return h


NAMES = {
    "sequential": ("0.", "2.", "4."),
    "prefix": ("model.layers.0.", "model.layers.3.", "model.layers.10."),
    "numbered": ("fc1.", "fc2.", "out."),
    "words": ("encode.", "middle.", "decode."),
}


@pytest.mark.parametrize("name", NAMES)
def test_the_names_of_modules(tmp_path: Path, name: str) -> None:
    stems = NAMES[name]
    given = arrays(stems, (4, 6, 5, 3))
    shuffled = dict(reversed(given.items()))
    path = state_dict(tmp_path / "net.pt", shuffled)
    found = import_weights(path, None, tmp_path / "out", ["activation=tanh"])
    model = senn_cli.load(found.path)
    x = np.random.default_rng(1).standard_normal((9, 4)).astype(np.float32)
    wanted = by_hand(given, stems, "tanh", x)
    np.testing.assert_allclose(model.outputs(x), wanted, rtol=1e-5, atol=1e-5)
    assert model.preprocessing.classes == ("0", "1", "2")
    assert any("are taken for logits of the classes 0 to 2" in note for note in found.notes)


@pytest.mark.parametrize("activation", [*PLAIN, "sigmoid"])
def test_every_activation(tmp_path: Path, activation: str) -> None:
    stems = ("0.", "2.", "4.")
    given = arrays(stems, (4, 6, 6, 3))
    path = state_dict(tmp_path / "net.pt", given)
    plan = read_weights(path, None, [f"activation={activation}"])
    assert [layer.activation for layer in plan.architecture.blocks[0]] == [
        "tanh" if activation == "sigmoid" else activation
    ] * 2
    assert plan.preprocessing is not None
    found = import_weights(path, None, tmp_path / "out", [f"activation={activation}"])
    model = senn_cli.load(found.path)
    x = np.random.default_rng(1).standard_normal((1000, 4)).astype(np.float32)
    wanted = by_hand(given, stems, activation, x)
    np.testing.assert_allclose(model.outputs(x), wanted, rtol=1e-5, atol=3e-5)


def test_what_is_explained_is_a_mapping_file(tmp_path: Path) -> None:
    given = arrays(("0.", "2."), (4, 6, 2)) | {"optim.state.0.exp_avg": np.zeros(3, np.float32)}
    path = state_dict(tmp_path / "net.pt", given)
    changes = ["activation=silu", "classes=[no, yes]", "preprocessing={shift: 1, scale: 0.5}"]
    plan = read_weights(path, None, changes)
    text = explained(plan)
    assert "mlp, 4 -> 6 -> 2, 44 parameters" in text.splitlines()[0]
    (tmp_path / "map.yaml").write_text(text)
    again = read_weights(path, tmp_path / "map.yaml")
    assert again.mapping == plan.mapping
    assert again.architecture == plan.architecture
    assert again.arrays == plan.arrays
    assert plan.preprocessing is not None and again.preprocessing is not None
    assert again.preprocessing.to_json() == plan.preprocessing.to_json()
    assert again.preprocessing.classes == ("no", "yes")
    assert "ignore: [optim.state.0.exp_avg]" in text


def test_kernels_of_flax(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    given = {
        "params/Dense_1/kernel": rng.standard_normal((5, 1)).astype(np.float32),
        "params/Dense_0/kernel": rng.standard_normal((3, 5)).astype(np.float32),
        "params/Dense_0/bias": rng.standard_normal(5).astype(np.float32),
    }
    np.savez(tmp_path / "net.npz", **given)  # type: ignore[arg-type]
    found = import_weights(tmp_path / "net.npz", None, tmp_path / "out", ["activation=silu"])
    x = rng.standard_normal((9, 3)).astype(np.float32)
    h = ELEMENTWISE["silu"](x @ given["params/Dense_0/kernel"] + given["params/Dense_0/bias"])
    model = senn_cli.load(found.path)
    np.testing.assert_allclose(model(x), h @ given["params/Dense_1/kernel"], rtol=1e-5, atol=1e-5)
    assert model.preprocessing.task == "regression"
    assert any("one output is taken for the value of a regression" in n for n in found.notes)


def test_one_output_of_two_classes(tmp_path: Path) -> None:
    given = arrays(("0.", "2."), (4, 6, 1))
    path = state_dict(tmp_path / "net.pt", given)
    changes = ["activation=tanh", "classes=[no, yes]"]
    model = senn_cli.load(import_weights(path, None, tmp_path / "out", changes).path)
    x = np.random.default_rng(1).standard_normal((9, 4)).astype(np.float32)
    share = ELEMENTWISE["sigmoid"](by_hand(given, ("0.", "2."), "tanh", x))
    np.testing.assert_allclose(model(x), np.concatenate([1 - share, share], 1), atol=1e-6)


def test_an_activation_that_nothing_tells(tmp_path: Path) -> None:
    path = state_dict(tmp_path / "net.pt", arrays(("0.", "2."), (4, 6, 2)))
    with pytest.raises(UsageError, match="does not tell the activation of its 1 hid") as caught:
        read_weights(path)
    assert "--activation rational | silu" in str(caught.value.hint)
    assert "{kernel: 0.weight, bias: 0.bias, transpose: true}" in str(caught.value.hint)
    with pytest.raises(UsageError, match=r"--set activation=elu: activation should be one of"):
        read_weights(path, None, ["activation=elu"])
    with pytest.raises(UsageError, match="should name one for each of 1 hidden layer, found 2"):
        read_weights(path, None, ["activation=[tanh, silu]"])
    linear = state_dict(tmp_path / "linear.pt", arrays(("fc.",), (4, 2)))
    assert read_weights(linear).architecture.widths == ()


@pytest.mark.parametrize(
    ("name", "shape", "words"),
    [
        ("1.weight", (6,), "of a PReLU"),
        ("norm.running_mean", (6,), "of a BatchNorm"),
        ("conv.weight", (6, 3, 5), "of a Conv1d"),
        ("conv.weight", (6, 3, 5, 5), "of a Conv2d"),
        ("lstm.weight_ih_l0", (24, 4), "of a recurrent layer"),
        ("attention.in_proj_weight", (12, 4), "of a MultiheadAttention"),
        ("scale", (), "of a normalisation"),
        ("odd.thing", (3, 3), "of no layer that is known"),
    ],
)
def test_layers_that_there_are_not_are_named(
    tmp_path: Path, name: str, shape: tuple[int, ...], words: str
) -> None:
    given = arrays(("0.", "2."), (4, 6, 2)) | {name: np.zeros(shape, np.float32)}
    path = state_dict(tmp_path / "net.pt", given)
    with pytest.raises(UsageError) as caught:
        read_weights(path, None, ["activation=tanh"])
    shown = f"({', '.join(map(str, shape))})"
    assert f"{name} {shown} {words}" in caught.value.message


def test_a_layer_norm(tmp_path: Path) -> None:
    given = arrays(("0.", "3."), (4, 6, 2))
    given |= {"1.weight": np.ones(6, np.float32), "1.bias": np.ones(6, np.float32)}
    with pytest.raises(UsageError, match=r"1\.weight \(6\) of a normalisation \(LayerNorm"):
        read_weights(state_dict(tmp_path / "net.pt", given), None, ["activation=tanh"])


def test_orders_that_names_leave_open(tmp_path: Path) -> None:
    same = state_dict(tmp_path / "same.pt", arrays(("a.", "b.", "c."), (4, 4, 4, 4)))
    with pytest.raises(UsageError, match="could follow each other as a -> b -> c, or as"):
        told(open_weights(same))
    given = arrays(("0.", "2."), (4, 6, 2)) | arrays(("1.",), (7, 9))
    apart = state_dict(tmp_path / "apart.pt", given)
    with pytest.raises(UsageError, match=r"0 4 -> 6.* do not follow each other"):
        told(open_weights(apart))
    many = {f"{'abcdefghijklmnop'[n]}.weight": np.zeros((4, 4), np.float32) for n in range(16)}
    many |= {"z.weight": np.zeros((9, 8), np.float32)}
    with pytest.raises(UsageError, match="the order of its maps is not found"):
        told(open_weights(state_dict(tmp_path / "many.pt", many)))
