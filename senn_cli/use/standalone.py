"""A trained network that needs JAX, Flax and NumPy alone, and the two files beside this one.

    import network

    model = network.load()
    answers = model(examples)           # class probabilities, or predictions
    outputs = model.outputs(examples)   # logits, or scaled predictions
    model.classes                       # names of the classes in the order of the outputs

Examples are as the data set has them (pixels, not scaled ones), stacked along the first axis. Of
a table they are columns by name, `{"age": [39, 51], "city": ["Rome", "Oslo"]}` or a data frame, or
the numbers that `model.features` names: `age` is that of the column, `city=Rome` is 1 where the
column `city` holds `Rome` and else 0. NaN, None and the empty text stand for missing values.
`weights.npz` holds the parameters, `network.json` the architecture and how examples are scaled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np


class Rational(nn.Module):
    """alpha x + (beta + gamma x) / (1 + x^2), with coefficients for every neuron."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """The activations of pre-activations `(N, n)`."""
        shape = (3, x.shape[-1])
        alpha, beta, gamma = self.param("coefficients", nn.initializers.normal(1.0), shape)
        activations: jax.Array = alpha * x + (beta + gamma * x) / (1.0 + x * x)
        return activations


def activate(kind: str, x: jax.Array) -> jax.Array:
    """The activation functions without coefficients."""
    if kind == "gelu":
        return nn.gelu(x, approximate=False)
    return x if kind == "identity" else getattr(nn, kind)(x)


class MLP(nn.Module):
    """A fully connected network.

    Attributes:
      hidden: width and activation of every hidden layer.
      outputs: the number of outputs.
    """

    hidden: Sequence[tuple[int, str]]
    outputs: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Raw outputs of scaled, flattened examples `(N, inputs)`."""
        for index, (width, kind) in enumerate(self.hidden):
            x = nn.Dense(width, name=f"map_{index}")(x)
            if kind == "rational":
                x = Rational(name=f"activation_{index}")(x)
            else:
                x = activate(kind, x)
        result: jax.Array = nn.Dense(self.outputs, name=f"map_{len(self.hidden)}")(x)
        return result


class DenseNet(nn.Module):
    """Blocks of 3x3 convolutions, each of which reads the block's input and the layers before it.

    Attributes:
      image: height, width and channels.
      blocks: channels and activation of every layer of every block.
      outputs: the number of outputs.
      pool: what follows every block: max3s2, max2s2 or mean2s2.
    """

    image: tuple[int, int, int]
    blocks: Sequence[Sequence[tuple[int, str]]]
    outputs: int
    pool: str

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Raw outputs of scaled, flattened images `(N, inputs)`."""
        x = x.reshape(-1, *self.image)
        for number, layers in enumerate(self.blocks):
            seen = x
            for index, (channels, kind) in enumerate(layers):
                name = f"block_{number}/layer_{index}"
                x = activate(kind, nn.Conv(channels, (3, 3), use_bias=False, name=name)(seen))
                seen = jnp.concatenate([seen, x], axis=3)
            window = (3, 3) if self.pool == "max3s2" else (2, 2)
            if self.pool == "mean2s2":
                x = nn.avg_pool(x, window, (2, 2), "SAME", count_include_pad=False)
            else:
                x = nn.max_pool(x, window, (2, 2), "SAME")
        result: jax.Array = nn.Dense(self.outputs, name="head")(x.mean(axis=(1, 2)))
        return result


class Model:
    """The network with its parameters and its preprocessing."""

    def __init__(self, network: nn.Module, params: Any, preprocessing: dict[str, Any]) -> None:
        self.network, self.params = network, params
        self.task, self.link = preprocessing["task"], preprocessing.get("link")
        self.shape = tuple(preprocessing["shape"])
        self.classes = tuple(preprocessing["classes"])
        # In float64 where the data were: float32 would round numbers that are far from 0.
        self._wide = np.float64 if preprocessing["dtype"] == "float64" else np.float32
        self._target_wide = np.dtype(preprocessing.get("target_dtype", "float32"))
        self._shift, self._scale = (
            np.asarray(preprocessing[name], self._wide) for name in ("shift", "scale")
        )
        self._target_shift, self._target_scale = (
            np.asarray(preprocessing[name], self._target_wide)
            for name in ("target_shift", "target_scale")
        )
        encoding = preprocessing.get("encoding") or {}
        self.columns = encoding.get("features", ())
        self.features = tuple(
            name if category is None else f"{name}={category}"
            for name, categories in ((c["name"], c["categories"]) for c in self.columns)
            for category in ((None,) if categories is None else categories)
        )
        self._fill = encoding.get("fill")
        self._apply = jax.jit(lambda params, x: network.apply({"params": params}, x))

    def outputs(self, x: Any) -> jax.Array:
        """Logits, or scaled predictions, of examples `(N, *shape)`, flattened ones, or columns."""
        if hasattr(x, "columns") or isinstance(x, Mapping):
            x = self.rows(x)
        x = np.asarray(x, self._wide).reshape(-1, *self.shape)
        if self._fill is not None:
            x = np.where(np.isnan(x), self._fill, x)
        inputs = ((x - self._shift) * self._scale).astype(np.float32)
        outputs: jax.Array = self._apply(self.params, inputs.reshape(len(x), -1))
        return outputs

    def __call__(self, x: Any) -> np.ndarray:
        """Probabilities, or predictions in the targets' units."""
        outputs = self.outputs(x)
        if self.task == "multilabel":
            return np.asarray(jax.nn.sigmoid(outputs))
        if self.task == "regression":
            wide: Any = np.asarray(outputs, self._target_wide)
            wide = np.exp(wide) if self.link == "log" else wide
            return np.asarray(wide / self._target_scale + self._target_shift)
        return np.asarray(jax.nn.softmax(outputs, axis=-1))

    def rows(self, table: Any) -> np.ndarray:
        """The numbers that `features` names, of a table's columns."""
        parts = []
        for column in self.columns:
            known, values = column["categories"], list(table[column["name"]])
            cells = [_text(value, known or ()) for value in values]
            if known is None:
                block = [
                    [float(value) if cell else np.nan]
                    for value, cell in zip(values, cells, strict=True)
                ]
            else:
                block = [
                    [float(cell == name) if cell else np.nan for name in known] for cell in cells
                ]
            parts.append(np.asarray(block, np.float64))
        return np.concatenate(parts, axis=1)


BOOLEANS = frozenset({"true", "yes", "t", "y", "false", "no", "f", "n"})


def _text(value: Any, known: Sequence[str] = ()) -> str:
    """A value as a table of text has it, one of `known` if it is; empty where it is missing."""
    if value is None or type(value).__name__ == "NAType" or value != value:
        return ""
    if hasattr(value, "is_integer") and value.is_integer():
        return str(int(value))
    text = str(value).strip()
    # In a column of such words True and true are one value.
    return text.lower() if BOOLEANS.issuperset(known) else text


def _layers(described: Sequence[dict[str, Any]]) -> tuple[tuple[int, str], ...]:
    return tuple((layer["width"], layer["activation"]) for layer in described)


def _mlp(described: dict[str, Any]) -> nn.Module:
    return MLP(_layers(described["hidden"]), described["outputs"])


def _densenet(described: dict[str, Any]) -> nn.Module:
    height, width, channels = described["image"]
    blocks = tuple(map(_layers, described["blocks"]))
    return DenseNet((height, width, channels), blocks, described["outputs"], described["pool"])


NETWORKS = {"mlp": _mlp, "densenet": _densenet}
"""By kind, what makes the network of an architecture as `network.json` describes it."""


def load(directory: str | Path | None = None) -> Model:
    """The trained network.

    Args:
      directory: where `weights.npz` and `network.json` are; beside this file by default.

    Raises:
      ValueError: the two files don't fit together.
    """
    place = Path(__file__).parent if directory is None else Path(directory)
    described = json.loads((place / "network.json").read_text(encoding="utf-8"))
    preprocessing = described["preprocessing"]
    architecture = described["architecture"]
    network = NETWORKS[architecture["kind"]](architecture)
    params: dict[str, dict[str, jax.Array]] = {}
    # Opened here, as np.load leaves a file open when it turns out to be damaged.
    with (
        (place / "weights.npz").open("rb") as file,
        np.load(file, allow_pickle=False) as arrays,
    ):
        for name in arrays.files:
            part, leaf = name.split(".")
            params.setdefault(part, {})[leaf] = jnp.asarray(arrays[name])
    size = int(np.prod(preprocessing["shape"]))
    wanted = jax.eval_shape(network.init, jax.random.key(0), jnp.zeros((1, size), jnp.float32))
    if jax.tree.map(jnp.shape, params) != jax.tree.map(jnp.shape, wanted["params"]):
        raise ValueError(f"{place}: weights.npz and network.json do not fit together")
    return Model(network, params, preprocessing)
