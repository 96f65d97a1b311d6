"""Finished runs made without training, and their networks computed by NumPy in float64."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from senn_cli.data.preprocessing import Preprocessing
from senn_cli.data.registry import load_dataset
from senn_cli.nets.architecture import Layer
from senn_cli.nets.densenet_architecture import DenseArchitecture, Pool
from senn_cli.nets.features import Architecture
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.nets.registry import initial_parameters
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.weights import save_weights
from senn_cli.spec import dump_spec, parse_spec
from senn_cli.use.exports import FORMATS
from tests.use.elementwise import ELEMENTWISE

KINDS = [
    kind
    if kind != "torch"
    else pytest.param(
        kind,
        marks=pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed"),
    )
    for kind in FORMATS
]
"""The formats of exports, those with a package that is not installed to be skipped."""

MOONS = "{source: moons, train: 60, test: 40}"
SPARE = 3  # neurons


def made_run(
    path: Path,
    data: str = MOONS,
    *,
    hidden: Sequence[int] = (5, 4),
    activation: str | Sequence[str] = "rational",
    blocks: Sequence[Sequence[int]] = (),
    pool: Pool = "max3s2",
    seed: int = 1,
) -> Path:
    """A run directory with random weights; what is not in use holds 7, which must not matter.

    With `blocks` it is a DenseNet, which has buds too.
    """
    text = f"name: made\ndata: {data}\nnetwork: {{kind: mlp, hidden: {list(hidden)}}}\n"
    spec = parse_spec(text, base_dir=path.parent)
    dataset = load_dataset(spec.data, spec.seed)
    architecture: Architecture
    if blocks:
        height, width, *rest = dataset.train.x.shape[1:]
        image = (height, width, rest[0] if rest else 1)
        architecture = DenseArchitecture(
            image, dataset.outputs, tuple(_layers(b, activation) for b in blocks), 2, pool
        )
    else:
        layers = _layers(hidden, activation)
        architecture = MlpArchitecture(dataset.inputs, dataset.outputs, layers)
    params = initial_parameters(architecture, seed)
    used = initial_parameters(architecture.compact(), seed)
    for name, leaves in params.items():
        for leaf, array in leaves.items():
            filled = np.full_like(array, 7)
            filled[tuple(slice(n) for n in used[name][leaf].shape)] = used[name][leaf]
            leaves[leaf] = filled
    directory = RunDirectory(path.absolute())
    path.mkdir(parents=True)
    directory.write_spec(dump_spec(spec))
    directory.write_preprocessing(Preprocessing.of(dataset).to_json())
    save_weights(directory.path / "weights", architecture, params)
    return path


def _layers(widths: Sequence[int], activation: str | Sequence[str]) -> tuple[Layer, ...]:
    words = [activation] * len(widths) if isinstance(activation, str) else activation
    return tuple(Layer(n, n + SPARE, w) for n, w in zip(widths, words, strict=True))  # type: ignore[arg-type]


def forward(params: Any, activation: str | Sequence[str], inputs: np.ndarray) -> np.ndarray:
    """Raw outputs of a compact network for scaled inputs `(N, inputs)`, in float64."""
    x = inputs.astype(np.float64)
    maps = sum(name.startswith("map_") for name in params)
    for index in range(maps):
        linear = params[f"map_{index}"]
        x = x @ np.asarray(linear["kernel"], np.float64) + linear["bias"]
        if index == maps - 1:
            return x
        word = activation if isinstance(activation, str) else activation[index]
        if word == "rational":
            alpha, beta, gamma = params[f"activation_{index}"]["coefficients"]
            x = alpha * x + (beta + gamma * x) / (1 + x**2)
        else:
            x = ELEMENTWISE[word](x)
    raise AssertionError("there is no map")


def forward_densenet(
    params: Any, activation: str, image: tuple[int, int, int], pool: str, inputs: np.ndarray
) -> np.ndarray:
    """Raw outputs of a compact DenseNet without regard to buds, in float64."""
    x = inputs.astype(np.float64).reshape(-1, *image)
    blocks = sorted({name.split("/")[0] for name in params if "/" in name})
    for block in blocks:
        seen = {"input": x}
        layers = sum(name.startswith(f"{block}/layer_") for name in params)
        for index in range(layers):
            kernels = params[f"{block}/layer_{index}"]
            x = sum(_convolved(seen[leaf], kernels[leaf]) for leaf in seen)  # type: ignore[assignment]
            x = ELEMENTWISE[activation](x)
            seen[f"layer_{index}"] = x
        x = _pooled(x, pool)
    head = params["head"]
    return np.asarray(x.mean(axis=(1, 2)) @ np.asarray(head["kernel"], np.float64) + head["bias"])


def _convolved(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    height, width = x.shape[1:3]
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return sum(  # type: ignore[return-value]
        padded[:, i : i + height, j : j + width] @ kernel[i, j].astype(np.float64)
        for i in range(3)
        for j in range(3)
    )


def _pooled(x: np.ndarray, pool: str) -> np.ndarray:
    """Each window in turn, over those positions that exist."""
    window = 3 if pool == "max3s2" else 2
    starts = []
    for size in x.shape[1:3]:
        half = -(-size // 2)
        before = max(2 * (half - 1) + window - size, 0) // 2
        starts.append([2 * k - before for k in range(half)])
    result = np.empty((len(x), len(starts[0]), len(starts[1]), x.shape[3]))
    for a, i in enumerate(starts[0]):
        for b, j in enumerate(starts[1]):
            part = x[:, max(i, 0) : i + window, max(j, 0) : j + window]
            mean = pool == "mean2s2"
            result[:, a, b] = part.mean(axis=(1, 2)) if mean else part.max(axis=(1, 2))
    return result


def table(path: Path, rows: int = 60) -> Path:
    """A table of two features, a class and two values, one of them far from 0."""
    rng = np.random.default_rng(3)
    lines = ["a,kind,b,near,far"]
    for _ in range(rows):
        a, b = rng.normal(size=2)
        kind = ("egg", "ham", "sun")[int(rng.integers(3))]
        lines.append(f"{a:.5f},{kind},{10 + b:.5f},{a * b:.5f},{1000 + 50 * a:.4f}")
    path.write_text("\n".join(lines) + "\n")
    return path
