"""A network from named arrays and a mapping: the same function, in senn's layout.

Every array of the file is used once or named in `ignore:`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from senn_cli.errors import UsageError
from senn_cli.nets.architecture import Layer
from senn_cli.nets.densenet import DenseArchitecture, split_sources
from senn_cli.nets.kinds import AnyArchitecture
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.use.import_files import WeightsFile
from senn_cli.use.import_mapping import BIASES, DenseNetMapping, Mapping, MlpMapping
from senn_cli.use.import_reader import Origin, Reader, Tree


def build(
    file: WeightsFile, mapping: Mapping, where: str
) -> tuple[AnyArchitecture, Tree, tuple[Origin, ...]]:
    """The network that `mapping` makes of the arrays in `file`.

    Args:
      where: the mapping file, for messages.

    Raises:
      UsageError: an array that is missing, named twice, or neither used nor ignored; a bias of a
        convolution.
      RunError: an array of another shape or type, or with numbers that are not finite.
    """
    reader = Reader(file, where)
    architecture: AnyArchitecture
    if isinstance(mapping, MlpMapping):
        architecture, params = _mlp(reader, mapping)
    else:
        architecture, params = _densenet(reader, mapping)
    _require_all_used(reader, mapping)
    return architecture, params, tuple(reader.origins)


def _mlp(reader: Reader, mapping: MlpMapping) -> tuple[MlpArchitecture, Tree]:
    params: Tree = {}
    sizes: list[int] = []
    read = None if mapping.image is None else math.prod(mapping.image)
    for index, one in enumerate(mapping.maps):
        part = f"map_{index}"
        shape, order = ((None, read), (1, 0)) if one.transpose else ((read, None), ())
        kernel, words = reader.take(one.kernel, f"the kernel of map {index}", shape, order)
        if index == 0 and mapping.flatten == "CHW":
            assert mapping.image is not None  # the mapping was checked
            height, width, channels = mapping.image
            kernel = kernel.reshape(channels, height, width, -1).transpose(1, 2, 0, 3)
            kernel = np.ascontiguousarray(kernel.reshape(height * width * channels, -1))
            words.append("its inputs put from CHW into HWC")
        sizes.append(kernel.shape[0])
        read = kernel.shape[1]
        params[part] = {
            "kernel": reader.told(f"{part}/kernel", kernel, words),
            "bias": reader.bias(one.bias, f"{part}/bias", read),
        }
        if one.coefficients is not None:
            place = f"the coefficients of layer {index}"
            value, words = reader.take(one.coefficients, place, (3, read))
            name = f"activation_{index}/coefficients"
            params[f"activation_{index}"] = {"coefficients": reader.told(name, value, words)}
    hidden = tuple(Layer(n, n, mapping.activation) for n in sizes[1:])
    assert read is not None
    return MlpArchitecture(sizes[0], read, hidden), params


def _densenet(reader: Reader, mapping: DenseNetMapping) -> tuple[DenseArchitecture, Tree]:
    pytorch = mapping.layout == "OIHW"
    kernels: dict[str, tuple[np.ndarray, list[str]]] = {}
    blocks = []
    before = mapping.image[2]
    for number, block in enumerate(mapping.blocks):
        read, layers = before, []
        for j, one in enumerate(block):
            place = f"the kernel of block {number} layer {j} ({mapping.layout})"
            shape = (None, read, 3, 3) if pytorch else (3, 3, read, None)
            order = (2, 3, 1, 0) if pytorch else ()
            found = reader.take(one.kernel, place, shape, order)
            kernels[f"block_{number}/layer_{j}"] = found
            width = found[0].shape[3]
            layers.append(Layer(width, width, mapping.activation))
            read, before = read + width, width
        blocks.append(tuple(layers))
    head = mapping.head
    sizes = (None, before) if head.transpose else (before, None)
    turned = (1, 0) if head.transpose else ()
    kernel, words = reader.take(head.kernel, "the kernel of the head", sizes, turned)
    outputs = kernel.shape[1]
    architecture = DenseArchitecture(mapping.image, outputs, tuple(blocks), 0, mapping.pool)
    params: Tree = {}
    for wire in architecture.maps:
        if wire.target.role == "outputs":
            params["head"] = {
                "kernel": reader.told("head/kernel", kernel, words),
                "bias": reader.bias(head.bias, "head/bias", outputs),
            }
            continue
        whole, told = kernels[wire.name]
        params[wire.name], first = split_sources(wire, whole), 0
        for source in wire.sources:
            part = f"its input channels {first} to {first + source.feature.capacity - 1}"
            several = [part] if len(wire.sources) > 1 else []
            value = params[wire.name][source.leaf]
            reader.told(f"{wire.name}/{source.leaf}", value, [*told, *several])
            first += source.feature.capacity
    return architecture, params


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
