"""A network from named arrays and a mapping: the same function, in senn's layout, and its feeding.

Every array of the file is used once or named in `ignore:`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple, cast

import numpy as np

from senn_cli.errors import UsageError
from senn_cli.nets.architecture import Layer
from senn_cli.nets.densenet_architecture import DenseArchitecture
from senn_cli.nets.features import Architecture, ArrayTree
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.spec.activation import Activation
from senn_cli.use.import_mapping import BIASES, DenseNetMapping, Mapping, MlpMapping
from senn_cli.use.import_reader import Origin, Reader, Taken
from senn_cli.use.weights_files import WeightsFile


class _Given(NamedTuple):
    """What a mapping names for one map.

    Attributes:
      kernel: `(*window, inputs, outputs)`, over all that the map reads.
      bias: `(outputs,)`; None where the map has none.
      coefficients: the name of an array, not read yet.
    """

    kernel: Taken
    bias: Taken | None = None
    coefficients: str | None = None


def build(
    file: WeightsFile, mapping: Mapping, where: str
) -> tuple[Architecture, ArrayTree, tuple[Origin, ...]]:
    """The network that `mapping` makes of the arrays in `file`.

    Args:
      where: the mapping file, for messages.

    Raises:
      UsageError: an array that is missing, named twice, or neither used nor ignored; a bias of a
        convolution.
      RunError: an array of another shape or type, or with numbers that are not finite.
    """
    reader = Reader(file, where)
    architecture, given = (
        _mlp(reader, mapping) if isinstance(mapping, MlpMapping) else _densenet(reader, mapping)
    )
    params = _tree(reader, architecture, given)
    _require_all_used(reader, mapping)
    return architecture, params, tuple(reader.origins)


def _tree(reader: Reader, architecture: Architecture, given: dict[str, _Given]) -> ArrayTree:
    """The parameters: every kernel cut into what belongs to each source of its map."""
    params: ArrayTree = {}
    for m in architecture.maps:
        (kernel, words, _), bias, coefficients = given[m.name]
        leaves: dict[str, np.ndarray] = {}
        first = 0
        for source in m.sources:
            value = np.ascontiguousarray(kernel[..., first : first + source.rows, :])
            part = f"its input channels {first} to {first + source.rows - 1}"
            several = [part] if len(m.sources) > 1 else []
            leaves[source.leaf] = reader.told(f"{m.name}/{source.leaf}", value, [*words, *several])
            first += source.rows
        if bias is not None:
            leaves["bias"] = reader.told(f"{m.name}/bias", bias.value, bias.words, zero=bias.zero)
        params[m.name] = leaves
        if (own := m.target.coefficients) is not None:
            assert coefficients is not None  # the mapping was checked
            place = f"the coefficients of {m.target.site}"
            value, words = reader.take(coefficients, place, (3, m.columns))
            params[own] = {"coefficients": reader.told(f"{own}/coefficients", value, words)}
    return params


def _mlp(reader: Reader, mapping: MlpMapping) -> tuple[Architecture, dict[str, _Given]]:
    given: list[_Given] = []
    read = None if mapping.image is None else math.prod(mapping.image)
    for index, one in enumerate(mapping.maps):
        shape, order = ((None, read), (1, 0)) if one.transpose else ((read, None), ())
        kernel, words = reader.take(one.kernel, f"the kernel of map {index}", shape, order)
        if index == 0 and mapping.flatten == "CHW":
            assert mapping.image is not None  # the mapping was checked
            height, width, channels = mapping.image
            kernel = kernel.reshape(channels, height, width, -1).transpose(1, 2, 0, 3)
            kernel = kernel.reshape(height * width * channels, -1)
            words.append("its inputs put from CHW into HWC")
        read = kernel.shape[1]
        bias = reader.bias(one.bias, f"the bias of map_{index}", read)
        given.append(_Given(Taken(kernel, words), bias, one.coefficients))
    for index, word in enumerate(mapping.activations):
        if word == "sigmoid":
            given[index : index + 2] = _as_tanh(*given[index : index + 2])
    if mapping.classes is not None and len(mapping.classes) == 2 and read == 1:
        given[-1] = _two_logits(given[-1])
    sizes = [one.kernel.value.shape for one in given]
    words_of = ("tanh" if word == "sigmoid" else word for word in mapping.activations)
    hidden = tuple(
        Layer(n, n, cast("Activation", word))
        for (_, n), word in zip(sizes[:-1], words_of, strict=True)
    )
    architecture = MlpArchitecture(sizes[0][0], sizes[-1][1], hidden)
    return architecture, {f"map_{index}": one for index, one in enumerate(given)}


def _as_tanh(before: _Given, after: _Given) -> tuple[_Given, _Given]:
    """The maps around a sigmoid, with a tanh in its place: sigmoid(x) = 1/2 + tanh(x/2)/2."""

    def changed(one: Taken | None, by: np.ndarray | float, words: str) -> Taken:
        assert one is not None  # all maps of an mlp have a bias
        value = np.asarray(one.value * np.float32(0.5) + by, np.float32)
        return Taken(value, [*one.words, words])

    halved, moved = "halved, for tanh in place of sigmoid", "moved by half of the kernel's sums"
    bias = after.bias
    assert bias is not None
    sums = after.kernel.value.sum(axis=0, dtype=np.float64) / 2 + bias.value / 2
    return (
        _Given(changed(before.kernel, 0, halved), changed(before.bias, 0, halved)),
        _Given(changed(after.kernel, 0, halved), changed(bias, sums, moved), after.coefficients),
    )


def _two_logits(last: _Given) -> _Given:
    """The last map with logits (0, z), where the only output z is the second class' log-odds."""
    words = "as the second of two logits, the first of which is 0"

    def beside(one: Taken | None) -> Taken:
        assert one is not None  # all maps of an mlp have a bias
        value = np.concatenate([np.zeros_like(one.value), one.value], axis=-1)
        return Taken(value, [*one.words, words])

    return _Given(beside(last.kernel), beside(last.bias))


def _densenet(reader: Reader, mapping: DenseNetMapping) -> tuple[Architecture, dict[str, _Given]]:
    pytorch = mapping.layout == "OIHW"
    given: dict[str, _Given] = {}
    blocks = []
    before = mapping.image[2]
    for number, block in enumerate(mapping.blocks):
        read, layers = before, []
        for j, one in enumerate(block):
            place = f"the kernel of block {number} layer {j} ({mapping.layout})"
            shape = (None, read, 3, 3) if pytorch else (3, 3, read, None)
            order = (2, 3, 1, 0) if pytorch else ()
            kernel, words = reader.take(one.kernel, place, shape, order)
            given[f"block_{number}/layer_{j}"] = _Given(Taken(kernel, words))
            width = kernel.shape[3]
            layers.append(Layer(width, width, cast("Activation", mapping.activation)))
            read, before = read + width, width
        blocks.append(tuple(layers))
    head = mapping.head
    sizes = (None, before) if head.transpose else (before, None)
    turned = (1, 0) if head.transpose else ()
    kernel, words = reader.take(head.kernel, "the kernel of the head", sizes, turned)
    outputs = kernel.shape[1]
    bias = reader.bias(head.bias, "the bias of head", outputs)
    given["head"] = _Given(Taken(kernel, words), bias)
    return DenseArchitecture(mapping.image, outputs, tuple(blocks), 0, mapping.pool), given


def _require_all_used(reader: Reader, mapping: Mapping) -> None:
    """UsageError where an array is neither used nor ignored, or ignored without a reason."""
    file, ignored = reader.file, mapping.ignore
    for name in ignored:
        if name in reader.taken or name not in file.names:
            why = "is used" if name in reader.taken else f"is not in {file.path}"
            raise UsageError(f"{reader.mapping}: ignore names {name}, which {why}")
    for name in _biases(reader, mapping):
        if name in ignored and not np.any(reader.file.load(name)):
            continue
        ignoring = "ignoring it would change the function; " if name in ignored else ""
        raise UsageError(
            f"{file.path}: the array {name} looks like the bias of a convolution, which cannot be "
            f"imported: {ignoring}{BIASES}",
            hint="Train the network without that bias. One that is zero throughout can be named "
            "in `ignore:`.",
        )
    rest = [name for name in file.names if name not in reader.taken and name not in ignored]
    if rest:
        raise UsageError(
            f"{file.path}: {reader.mapping} uses not all arrays; left over: {', '.join(rest)}",
            hint="Name those that the function does not need in `ignore:`.",
        )


def _biases(reader: Reader, mapping: Mapping) -> Iterator[str]:
    """Arrays beside convolution kernels that are called like their biases."""
    if not isinstance(mapping, DenseNetMapping):
        return
    for one in (one for block in mapping.blocks for one in block):
        stem = one.kernel.removesuffix("weight").removesuffix("kernel")
        name = f"{stem}bias"
        if stem != one.kernel and name in reader.file.names and name not in reader.taken:
            yield name
