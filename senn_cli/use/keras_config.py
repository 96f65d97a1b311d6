"""What the configuration of a Keras model says: the mapping of its layers, in their order.

Read are `Sequential` models, and functional ones whose layers follow one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from senn_cli.errors import MISFORMED, RunError, UsageError
from senn_cli.nets.architecture import PLAIN, SLOPE
from senn_cli.use.import_tasks import task_of
from senn_cli.use.weights_files import Told

_NEUTRAL = ("InputLayer", "Flatten", "Dropout", "GaussianNoise", "GaussianDropout", "AlphaDropout",
            "ActivityRegularization")  # fmt: skip
"""Layers that do nothing but in training, or that senn's flattened inputs have behind them."""

_WORDS = {"linear": "identity", "swish": "silu"}


@dataclass
class _Chain:
    """What has been read of the model's layers.

    Attributes:
      maps: the linear maps.
      activations: the one behind each map.
      shift, scale: how examples are scaled before the first map.
      shape: of one example.
      used: names of arrays of maps.
    """

    maps: list[dict[str, Any]] = field(default_factory=list)
    activations: list[str] = field(default_factory=list)
    shift: Any = 0.0
    scale: Any = 1.0
    shape: tuple[int, ...] | None = None
    used: set[str] = field(default_factory=set)
    outputs: int = 0


def told(
    path: Path,
    config: Mapping[str, Any],
    compiled: Mapping[str, Any],
    find: Callable[[Mapping[str, Any], str], str | None],
    names: list[str],
    load: Callable[[str], np.ndarray],
) -> Told:
    """The mapping of a model.

    Args:
      path: of its file, for messages.
      config: of the model, with `class_name` and `config`.
      compiled: what it was compiled with; empty where nothing tells.
      find: the array of a layer's weight; asked in the order of the layers.
      names: of all arrays.
      load: reads an array.

    Raises:
      UsageError: a layer, an activation or a shape of model that there is not.
      RunError: the configuration is damaged.
    """
    chain = _Chain()
    try:
        for layer in _layers(path, config):
            _read(path, chain, layer, find, load)
        loss = _word(compiled.get("loss"))
    except MISFORMED as error:
        raise RunError(f"{path}: the configuration of its layers is damaged: {error!r}") from error
    if not chain.maps:
        raise UsageError(f"{path} has no layer Dense")
    *hidden, last = chain.activations
    task, notes = task_of(chain.outputs, last, loss)
    feeding: dict[str, Any] = {}
    if chain.shape is not None and len(chain.shape) > 1:
        feeding["shape"] = list(chain.shape)
    if np.any(np.asarray(chain.shift) != 0) or np.any(np.asarray(chain.scale) != 1):
        feeding |= {"shift": _plain(chain.shift), "scale": _plain(chain.scale)}
    rest = [name for name in names if name not in chain.used]
    activation: Any = hidden[0] if len(set(hidden)) == 1 else hidden
    values = {"kind": "mlp"} | ({"activation": activation} if hidden else {})
    values |= {"maps": chain.maps, "preprocessing": feeding, **task}
    return Told(values | ({"ignore": rest} if rest else {}), notes)


def _layers(path: Path, config: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The layers of a model in the order in which they follow each other."""
    kind = config["class_name"]
    layers = config["config"]["layers"]
    if kind == "Sequential":
        yield from layers
        return
    if kind not in ("Functional", "Model"):
        raise UsageError(f"{path} is a {kind}, a class of its own, not a Sequential model")
    by_reader: dict[str | None, Mapping[str, Any]] = {}
    for layer in layers:
        found = set(_read_by(layer.get("inbound_nodes", [])))
        source = next(iter(found), None)
        if len(found) > 1 or source in by_reader:
            raise UsageError(
                f"{path}: the layer {layer['config']['name']} ({layer['class_name']}) is no link "
                "of a chain: layers with several inputs, or several layers of one input, are not "
                "imported"
            )
        by_reader[source] = layer
    name: str | None = None
    for _ in layers:
        if name not in by_reader:
            raise UsageError(f"{path}: its layers are no chain: nothing reads {name}")
        yield by_reader[name]
        name = by_reader[name]["config"]["name"]


def _read_by(value: Any) -> Iterator[str]:
    """The names of the layers that an `inbound_nodes` refers to, of Keras 3 and of Keras 2."""
    if isinstance(value, Mapping):
        history = value.get("keras_history")
        if history is not None:
            yield str(history[0])
        for one in value.values():
            yield from _read_by(one)
    elif isinstance(value, list):
        if len(value) >= 3 and isinstance(value[0], str) and type(value[1]) is int:
            yield value[0]
        for one in value:
            yield from _read_by(one)


def _read(
    path: Path,
    chain: _Chain,
    layer: Mapping[str, Any],
    find: Callable[[Mapping[str, Any], str], str | None],
    load: Callable[[str], np.ndarray],
) -> None:
    kind, own = layer["class_name"], layer["config"]
    at = f"{path}: the layer {own['name']} ({kind})"
    shape = own.get("batch_shape") or own.get("batch_input_shape")
    if shape is not None and chain.shape is None and None not in shape[1:]:
        chain.shape = tuple(map(int, shape[1:]))
    if kind in _NEUTRAL:
        return
    if kind == "Dense":
        entry = {"kernel": _array(at, find(layer, "kernel"))}
        if own.get("use_bias", True):
            entry["bias"] = _array(at, find(layer, "bias"))
        chain.maps.append(entry)
        chain.used |= set(entry.values())
        chain.outputs = int(own["units"])
        chain.activations.append(_activation(at, own.get("activation", "linear"), {}))
    elif kind in ("Rescaling", "Normalization") and not chain.maps:
        _scaled(at, chain, layer, find, load)
    elif kind in ("Activation", "ReLU", "LeakyReLU", "Softmax") and chain.maps:
        word = own["activation"] if kind == "Activation" else _CLASSES[kind]
        if chain.activations[-1] != "identity":
            raise UsageError(f"{at} follows the activation {chain.activations[-1]}: two in a row")
        chain.activations[-1] = _activation(at, word, own)
    else:
        where = "" if kind not in _PLACED else " in this place"
        raise UsageError(
            f"{at} is not imported{where}",
            hint="Imported are Dense, activations, Dropout and Flatten, with Rescaling or "
            "Normalization before the first Dense.",
        )


_CLASSES = {"ReLU": "relu", "LeakyReLU": "leaky_relu", "Softmax": "softmax"}
_PLACED = (*_CLASSES, "Activation", "Rescaling", "Normalization")


def _array(at: str, name: str | None) -> str:
    if name is None:
        raise RunError(f"{at} has no array in the file")
    return name


def _word(value: Any) -> str:
    """An activation or a loss as Keras 3 and Keras 2 write it: a word, or a described object."""
    if isinstance(value, Mapping):
        value = value.get("config", {}).get("name") or value.get("class_name")
    return value if isinstance(value, str) else ""


def _activation(at: str, value: Any, own: Mapping[str, Any]) -> str:
    """The word that senn has for an activation; also `sigmoid` and `softmax`, of outputs."""
    word = _word(value) or "linear"
    word = _WORDS.get(word, word)
    slope = own.get("negative_slope", own.get("alpha"))
    if word == "leaky_relu" and (slope is None or abs(float(slope) - SLOPE) > 1e-6):
        found = "0.2" if slope is None else f"{float(slope):g}"
        raise UsageError(f"{at}: leaky_relu with the slope {found}; senn's has {SLOPE}")
    if word == "relu" and any(
        own.get(name) for name in ("max_value", "negative_slope", "threshold")
    ):
        raise UsageError(
            f"{at}: a relu with a largest value, a slope or a threshold is another one"
        )
    if word not in (*PLAIN, "sigmoid", "softmax"):
        raise UsageError(
            f"{at}: there is no activation {word}",
            hint=f"There are {', '.join(PLAIN)}.",
        )
    return word


def _scaled(
    at: str,
    chain: _Chain,
    layer: Mapping[str, Any],
    find: Callable[[Mapping[str, Any], str], str | None],
    load: Callable[[str], np.ndarray],
) -> None:
    """Joins a scaling of the inputs with those before: (x - shift) scale, then again."""
    own = layer["config"]
    shift: Any
    scale: Any
    if layer["class_name"] == "Rescaling":
        scale = np.asarray(own["scale"], np.float64)
        shift = -np.asarray(own["offset"], np.float64) / scale
    else:
        if own.get("invert"):
            raise UsageError(f"{at} is inverted, which is no scaling of inputs")
        given = own.get("mean") is not None and own.get("variance") is not None
        if given:
            mean, variance = (np.asarray(own[name], np.float64) for name in ("mean", "variance"))
        else:
            places = [_array(at, find(layer, name)) for name in ("mean", "variance")]
            mean, variance = (np.asarray(load(name), np.float64) for name in places)
        shift, scale = mean, 1.0 / np.maximum(np.sqrt(variance), 1e-7)
        if mean.ndim and chain.shape is not None and math.prod(chain.shape) == mean.size:
            shift, scale = shift.reshape(-1), scale.reshape(-1)
    # ((x - a) b - c) d = (x - (a + c / b)) (b d)
    before, factor = np.asarray(chain.shift), np.asarray(chain.scale)
    chain.shift, chain.scale = before + shift / factor, factor * scale


def _plain(value: Any) -> Any:
    found = np.asarray(value, np.float64)
    return found.reshape(-1).tolist() if found.size > 1 else float(found.reshape(-1)[0])
