"""`--format onnx`: one graph of plain operators, from examples as stored to answers.

Input `examples`, float32 `(b, inputs)`; outputs `logits` and `probabilities`, or `outputs` and
`predictions`. Examples and predictions are float64 where the run's data were, as of all tables:
float32 could not hold numbers far from 0. NaN stands for a missing value of a table. The
description is in the model's metadata under `senn`, the names of the classes under `classes`, those
of the inputs under `features`, as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.errors import RunError
from senn_cli.model import Model
from senn_cli.nets.registry import Kind, kind_named, kind_of
from senn_cli.use.about import feature_names, gap_values, read_description, result_names
from senn_cli.use.extras import require
from senn_cli.use.loaded import Loaded

OPSET, IR_VERSION = 13, 8
"""Old enough for most runtimes; nothing newer is used."""

_PURPOSE = "the format onnx"


class Graph:
    """A graph under construction: operators in order, and the constants that they read."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def constant(self, name: str, value: Any, dtype: Any = np.float32) -> str:
        """A constant; its name."""
        if name not in self.constants:
            array = np.ascontiguousarray(value, dtype)
            self.constants[name] = self._onnx.numpy_helper.from_array(array, name)
        return name

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """An operator with one output; the output's name."""
        output = output or f"{operator.lower()}_{len(self.nodes)}"
        node = self._onnx.helper.make_node(operator, list(inputs), [output], **attributes)
        self.nodes.append(node)
        return output


def serves(kind: str) -> bool:
    """Whether networks of that kind write themselves as a graph."""
    return type(kind_named(kind)).graph is not Kind.graph


def write(model: Model, about: Mapping[str, Any], stem: str) -> dict[str, bytes]:
    """The files of the export by name."""
    onnx = require("onnx", _PURPOSE)
    require("onnx.numpy_helper", _PURPOSE)
    require("onnxruntime", _PURPOSE)
    how, architecture = model.preprocessing, model.architecture
    graph = Graph(onnx)
    wide = how.wide
    x = "examples"
    if (fill := gap_values(model)) is not None:
        x = graph.add("Where", graph.add("IsNaN", x), graph.constant("fill", fill, wide), x)
    for operator, name, value in (("Sub", "shift", how.shift), ("Mul", "scale", how.scale)):
        if value.size > 1:
            value = np.broadcast_to(value, how.shape)
        x = graph.add(operator, x, graph.constant(name, value.reshape(-1), wide))
    if wide is np.float64:
        x = graph.add("Cast", x, to=onnx.TensorProto.FLOAT)
    raw, final = result_names(how.task)
    predicted: type[np.float32] | type[np.float64] = np.float32
    kind_of(architecture).graph(architecture, model.params, graph, x, raw)
    if how.link == "softmax":
        graph.add("Softmax", raw, output=final, axis=1)
    elif how.link == "logistic":
        graph.add("Sigmoid", raw, output=final)
    else:
        last, predicted = raw, how.wide_target
        if predicted is np.float64:
            last = graph.add("Cast", raw, to=onnx.TensorProto.DOUBLE)
        last = graph.add("Exp", last) if how.link == "log" else last
        centred = graph.add(
            "Div", last, graph.constant("target_scale", how.target_scale, predicted)
        )
        shift = graph.constant("target_shift", how.target_shift, predicted)
        graph.add("Add", centred, shift, output=final)

    def value_info(name: str, width: int, dtype: Any) -> Any:
        kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return onnx.helper.make_tensor_value_info(name, kind, ["b", width])

    made = onnx.helper.make_model(
        onnx.helper.make_graph(
            graph.nodes,
            "network",
            [value_info("examples", architecture.inputs, wide)],
            [
                value_info(raw, architecture.outputs, np.float32),
                value_info(final, architecture.outputs, predicted),
            ],
            list(graph.constants.values()),
        ),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="senn",
        producer_version=about["senn"] or "",
    )
    onnx.helper.set_model_props(
        made,
        {
            "senn": json.dumps(about, ensure_ascii=False),
            "classes": json.dumps(how.classes, ensure_ascii=False),
            "features": json.dumps(feature_names(model), ensure_ascii=False),
        },
    )
    onnx.checker.check_model(made, full_check=True)
    return {f"{stem}.onnx": made.SerializeToString()}


def load(path: Path) -> Loaded:
    """The network in a file that `write` made, run by onnxruntime on the CPU.

    Raises:
      UsageError: onnxruntime is not installed.
      RunError: the file cannot be read, is damaged, or no export of this package.
    """
    runtime = require("onnxruntime", _PURPOSE)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}") from error
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1  # more would go on spinning while nothing runs
    try:
        session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has a type of its own for every kind of fault
        reason = str(error).splitlines()[0]
        raise RunError(f"{path} is no ONNX model, or damaged: {reason}") from error
    metadata = session.get_modelmeta().custom_metadata_map
    if "senn" not in metadata:
        raise RunError(f"{path} has no metadata `senn`: it is no network that senn exported")
    try:
        _, how = read_description(metadata["senn"])
    except ValueError as error:
        raise RunError(f"{path}: metadata `senn`: {error}") from error
    names = list(result_names(how.task))

    def run(x: Array) -> tuple[Array, Array]:
        outputs, answers = session.run(names, {"examples": x.astype(how.wide)})
        return np.asarray(outputs), np.asarray(answers)

    return run
