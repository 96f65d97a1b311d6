"""A trained network that needs PyTorch and safetensors alone, and the two files beside this one.

    import network

    model = network.load()
    answers = model.predict(examples)   # class probabilities, or predictions
    outputs = model(examples)           # logits, or scaled predictions, with gradients
    model.classes                       # names of the classes in the order of the outputs

Examples are as the data set has them (pixels, not scaled ones), stacked along the first axis. Of
a table they are columns by name, `{"age": [39, 51], "city": ["Rome", "Oslo"]}` or a data frame, or
the numbers that `model.features` names. NaN, None and the empty text stand for missing values.
`network.safetensors` holds the parameters (`model.network.load_state_dict`), `network.json` the
architecture and how examples are scaled.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional


class Rational(nn.Module):
    """alpha x + (beta + gamma x) / (1 + x^2), with coefficients for every neuron."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.coefficients = nn.Parameter(torch.randn(3, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The activations of pre-activations `(N, width)`."""
        alpha, beta, gamma = self.coefficients
        return alpha * x + (beta + gamma * x) / (1.0 + x * x)


ACTIVATIONS: dict[str, Any] = {
    "silu": nn.SiLU,
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "gelu": nn.GELU,
    "leaky_relu": nn.LeakyReLU,
    "softplus": nn.Softplus,
    "identity": nn.Identity,
}
"""Those without coefficients."""


class MLP(nn.Module):
    """A fully connected network.

    Args:
      inputs: the number of inputs.
      hidden: width and activation of every hidden layer.
      outputs: the number of outputs.
    """

    def __init__(self, inputs: int, hidden: Sequence[tuple[int, str]], outputs: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for width, kind in hidden:
            layers.append(nn.Linear(inputs, width))
            layers.append(Rational(width) if kind == "rational" else ACTIVATIONS[kind]())
            inputs = width
        self.layers = nn.Sequential(*layers, nn.Linear(inputs, outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Raw outputs of scaled, flattened examples `(N, inputs)`."""
        outputs: torch.Tensor = self.layers(x)
        return outputs


class DenseNet(nn.Module):
    """Blocks of 3x3 convolutions, each of which reads the block's input and the layers before it.

    Args:
      image: height, width and channels.
      blocks: channels and activation of every layer of every block.
      outputs: the number of outputs.
      pool: what follows every block: max3s2, max2s2 or mean2s2.
    """

    def __init__(
        self,
        image: tuple[int, int, int],
        blocks: Sequence[Sequence[tuple[int, str]]],
        outputs: int,
        pool: str,
    ) -> None:
        super().__init__()
        self.image, self.pool = image, pool
        self.blocks = nn.ModuleList()
        self.activations = [[ACTIVATIONS[kind]() for _, kind in layers] for layers in blocks]
        before = image[2]
        for layers in blocks:
            convolutions = nn.ModuleList()
            seen = before
            for channels, _ in layers:
                convolutions.append(nn.Conv2d(seen, channels, 3, padding=1, bias=False))
                seen, before = seen + channels, channels
            self.blocks.append(convolutions)
        self.head = nn.Linear(before, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Raw outputs of scaled, flattened images `(N, height * width * channels)`."""
        x = x.reshape(-1, *self.image).permute(0, 3, 1, 2)
        for layers, activations in zip(self.blocks, self.activations, strict=True):
            seen = x
            for convolution, activation in zip(layers, activations, strict=True):
                x = activation(convolution(seen))
                seen = torch.cat([seen, x], dim=1)
            x = self._pooled(x)
        outputs: torch.Tensor = self.head(x.mean(dim=(2, 3)))
        return outputs

    def _pooled(self, x: torch.Tensor) -> torch.Tensor:
        """Windows at stride 2, half the size rounded up; what lies outside counts for nothing."""
        if self.pool == "mean2s2":
            return functional.avg_pool2d(x, 2, ceil_mode=True, count_include_pad=False)
        window = 3 if self.pool == "max3s2" else 2
        sides = []
        for size in (x.shape[3], x.shape[2]):
            outside = max(2 * (math.ceil(size / 2) - 1) + window - size, 0)
            sides += [outside // 2, outside - outside // 2]
        return functional.max_pool2d(functional.pad(x, sides, value=-math.inf), window, 2)


class Model(nn.Module):
    """The network with its preprocessing.

    Args:
      network: from scaled, flattened examples to raw outputs.
      preprocessing: of `network.json`.
    """

    def __init__(self, network: nn.Module, preprocessing: Mapping[str, Any]) -> None:
        super().__init__()
        self.network = network
        self.task, self.link = preprocessing["task"], preprocessing.get("link")
        self.shape = tuple(preprocessing["shape"])
        self.classes = tuple(preprocessing["classes"])
        encoding = preprocessing.get("encoding") or {}
        self.columns = encoding.get("features", ())
        self.features = tuple(
            name if category is None else f"{name}={category}"
            for name, categories in ((c["name"], c["categories"]) for c in self.columns)
            for category in ((None,) if categories is None else categories)
        )
        # In float64 where the data were: float32 would round numbers that are far from 0.
        wide = torch.float64 if preprocessing["dtype"] == "float64" else torch.float32
        wide_target = getattr(torch, preprocessing.get("target_dtype", "float32"))
        numbers = {"shift": wide, "scale": wide}
        numbers |= {"target_shift": wide_target, "target_scale": wide_target}
        for name, dtype in numbers.items():
            value = torch.tensor(preprocessing[name], dtype=dtype)
            self.register_buffer(name, value, persistent=False)
        fill = encoding.get("fill")
        self.fill: torch.Tensor | None
        value = None if fill is None else torch.tensor(fill, dtype=wide)
        self.register_buffer("fill", value, persistent=False)

    def forward(self, x: Any) -> torch.Tensor:
        """Logits, or scaled predictions, of examples `(N, *shape)`, flattened ones, or columns."""
        if hasattr(x, "columns") or isinstance(x, Mapping):
            x = self.rows(x)
        x = torch.as_tensor(x).to(self.shift).reshape(-1, *self.shape)
        if self.fill is not None:
            x = torch.where(torch.isnan(x), self.fill, x)
        inputs = ((x - self.shift) * self.scale).to(torch.float32)
        outputs: torch.Tensor = self.network(inputs.reshape(len(inputs), -1))
        return outputs

    @torch.no_grad()
    def predict(self, x: Any) -> torch.Tensor:
        """Probabilities, or predictions in the targets' units."""
        outputs = self(x)
        if self.task == "regression":
            outputs = outputs.to(self.target_scale)
            outputs = outputs.exp() if self.link == "log" else outputs
            return outputs / self.target_scale + self.target_shift
        return torch.sigmoid(outputs) if self.task == "multilabel" else outputs.softmax(dim=1)

    def rows(self, table: Any) -> torch.Tensor:
        """The numbers that `features` names, of a table's columns."""
        parts = []
        for column in self.columns:
            known, values = column["categories"], list(table[column["name"]])
            cells = [_text(value, known or ()) for value in values]
            if known is None:
                block = [
                    [float(value) if cell else math.nan]
                    for value, cell in zip(values, cells, strict=True)
                ]
            else:
                block = [
                    [float(cell == name) if cell else math.nan for name in known] for cell in cells
                ]
            parts.append(torch.tensor(block, dtype=self.shift.dtype))
        return torch.cat(parts, dim=1)


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


def _layers(described: Sequence[Mapping[str, Any]]) -> tuple[tuple[int, str], ...]:
    return tuple((layer["width"], layer["activation"]) for layer in described)


def _mlp(described: Mapping[str, Any]) -> nn.Module:
    return MLP(described["inputs"], _layers(described["hidden"]), described["outputs"])


def _densenet(described: Mapping[str, Any]) -> nn.Module:
    height, width, channels = described["image"]
    blocks = tuple(map(_layers, described["blocks"]))
    return DenseNet((height, width, channels), blocks, described["outputs"], described["pool"])


NETWORKS = {"mlp": _mlp, "densenet": _densenet}
"""By kind, what makes the network of an architecture as `network.json` describes it."""


def load(directory: str | Path | None = None) -> Model:
    """The trained network.

    Args:
      directory: where `network.safetensors` and `network.json` are; beside this file by default.
    """
    place = Path(__file__).parent if directory is None else Path(directory)
    described = json.loads((place / "network.json").read_text(encoding="utf-8"))
    architecture = described["architecture"]
    network = NETWORKS[architecture["kind"]](architecture)
    network.load_state_dict(load_file(place / "network.safetensors"))
    model = Model(network, described["preprocessing"])
    model.eval()
    return model
