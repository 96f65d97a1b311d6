"""The DenseNet as operators of a graph, for exports."""

from __future__ import annotations

import numpy as np

from senn_cli.nets.densenet_architecture import DenseArchitecture
from senn_cli.nets.features import ArrayTree
from senn_cli.nets.graph import written
from senn_cli.nets.registry import Graph


def write(
    architecture: DenseArchitecture, params: ArrayTree, graph: Graph, x: str, output: str
) -> None:
    """Writes the network; arguments as of `Kind.graph`."""
    shape = graph.constant("image", [-1, *architecture.image], np.int64)
    values = {"image": graph.add("Transpose", graph.add("Reshape", x, shape), perm=[0, 3, 1, 2])}
    area = architecture.image[:2]
    for wire in architecture.maps:
        read = [values[source.feature.name] for source in wire.sources]
        if wire.target.role == "outputs":
            mean = graph.add("ReduceMean", read[0], axes=[2, 3], keepdims=0)
            kernel = graph.constant("head.kernel", params["head"]["kernel"])
            bias = graph.constant("head.bias", params["head"]["bias"])
            graph.add("Add", graph.add("MatMul", mean, kernel), bias, output=output)
            return
        whole = np.concatenate([params[wire.name][s.leaf] for s in wire.sources], axis=2)
        kernel = graph.constant(f"{wire.name}.kernel", whole.transpose(3, 2, 0, 1))
        joint = graph.add("Concat", *read, axis=1) if len(read) > 1 else read[0]
        z = graph.add("Conv", joint, kernel, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        h = written(graph, wire.target, params, z)
        block, number = architecture.place(wire.target.index)
        if number == len(architecture.blocks[block]) - 1:
            h, area = _pooled(graph, architecture.pool, h, area)
        values[wire.target.name] = h


def _pooled(graph: Graph, pool: str, x: str, sizes: tuple[int, int]) -> tuple[str, tuple[int, int]]:
    """Pooling with stride 2 and SAME padding, and the height and width after it."""
    window = 3 if pool == "max3s2" else 2
    halves = (-(-sizes[0] // 2), -(-sizes[1] // 2))
    rooms = [
        max(2 * (half - 1) + window - size, 0) for half, size in zip(halves, sizes, strict=True)
    ]
    pads = [*(room // 2 for room in rooms), *(room - room // 2 for room in rooms)]
    operator = "AveragePool" if pool == "mean2s2" else "MaxPool"  # neither counts the padding
    made = graph.add(operator, x, kernel_shape=[window] * 2, strides=[2, 2], pads=pads)
    return made, halves
