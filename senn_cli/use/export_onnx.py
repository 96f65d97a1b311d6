"""`--format onnx`: one graph of plain operators, from examples as stored to answers.

Input `examples` `(b, *shape)` of the data's own type (uint8 of images, float32, float64); or, of a
table with names or texts, one input a column by its name, `(b, 1)`: float64 of numbers, string of
categories. Outputs `logits`, `probabilities` and `labels` `(b,)`, the names of the classes; or
`outputs` and `predictions`. Predictions are float64 where the run's targets were: float32 could not
hold numbers far from 0. NaN and the empty text stand for a missing value. Metadata, as JSON: the
description under `senn`, the names of the classes under `classes`, those of numbers behind the
inputs under `features`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.errors import RunError, UsageError
from senn_cli.extras import require
from senn_cli.model import Model
from senn_cli.nets.registry import Kind, kind_named, kind_of
from senn_cli.use.about import feature_names, gap_values, read_description, result_names
from senn_cli.use.export_inputs import EXAMPLES, Input, by_column, call_of, columns_of, quoted
from senn_cli.use.loaded import Loaded

OPSET, ML_OPSET, IR_VERSION = 13, 2, 8
"""Old enough for most runtimes; nothing newer is used. Texts need the operators `ai.onnx.ml`."""

_LABELS = "labels"

_PURPOSE = "the format onnx"


class Graph:
    """A graph under construction: operators in order, and the constants that they read."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def constant(self, name: str, value: Any, dtype: Any = np.float32) -> str:
        """A constant; its name, which a column of a table cannot have."""
        name = f"/{name}"
        if name not in self.constants:
            array = np.ascontiguousarray(value, dtype)
            self.constants[name] = self._onnx.numpy_helper.from_array(array, name)
        return name

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """An operator with one output; the output's name."""
        output = output or f"/{operator.lower()}_{len(self.nodes)}"
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
    inputs = by_column(how)
    x = _numbers(graph, onnx, inputs, how)
    if (fill := gap_values(model)) is not None:
        x = graph.add("Where", graph.add("IsNaN", x), graph.constant("fill", fill, wide), x)
    for operator, name, value in (("Sub", "shift", how.shift), ("Mul", "scale", how.scale)):
        x = graph.add(operator, x, graph.constant(name, value, wide))
    if len(how.shape) > 1:
        x = graph.add("Flatten", x, axis=1)
    if wide is np.float64:
        x = graph.add("Cast", x, to=onnx.TensorProto.FLOAT)
    raw, final = result_names(how.task)
    predicted: type[np.float32] | type[np.float64] = np.float32
    kind_of(architecture).graph(architecture, model.params, graph, x, raw)
    if how.link == "softmax":
        graph.add("Softmax", raw, output=final, axis=1)
        best = graph.add("ArgMax", raw, axis=1, keepdims=0)
        graph.add("Gather", graph.constant("classes", how.classes, object), best, output=_LABELS)
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

    def value_info(name: str, shape: tuple[int, ...], dtype: Any) -> Any:
        kind = onnx.TensorProto.STRING
        if dtype != "string":
            kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return onnx.helper.make_tensor_value_info(name, kind, ["b", *shape])

    results = [
        value_info(raw, (architecture.outputs,), np.float32),
        value_info(final, (architecture.outputs,), predicted),
    ]
    if how.task == "classification":
        results.append(value_info(_LABELS, (), "string"))
    domains = {node.domain for node in graph.nodes} - {""}

    made = onnx.helper.make_model(
        onnx.helper.make_graph(
            graph.nodes,
            "network",
            [value_info(one.name, one.shape, one.dtype) for one in inputs],
            results,
            list(graph.constants.values()),
        ),
        opset_imports=[
            onnx.helper.make_opsetid("", OPSET),
            *(onnx.helper.make_opsetid(domain, ML_OPSET) for domain in domains),
        ],
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


def _numbers(graph: Graph, onnx: Any, inputs: Sequence[Input], how: Preprocessing) -> str:
    """Writes what makes an example of numbers of the inputs; its name, `(b, *shape)`.

    Raises:
      UsageError: a column without a name, or with that of another or of an output.
    """
    if inputs[0].column is None:
        if inputs[0].dtype == "uint8":
            return graph.add("Cast", EXAMPLES, to=onnx.TensorProto.FLOAT)
        return EXAMPLES
    names = [one.name for one in inputs]
    taken = (*result_names(how.task), _LABELS)
    for name in names:
        if not name or name in taken or names.count(name) > 1 or name.startswith("/"):
            raise UsageError(
                f"the column {name!r} cannot be an input of an ONNX graph: names are unique, not "
                f"empty, none of {', '.join(taken)}, and do not begin with a slash",
                hint="Rename it in the table and train anew, or take the format torch or flax.",
            )
    parts = []
    for one in inputs:
        assert one.column is not None
        if one.column.categories is None:
            parts.append(one.name)
            continue

        def hits(*texts: str, of: str = one.name) -> str:
            encoder = graph.add(
                "OneHotEncoder", of, domain="ai.onnx.ml", cats_strings=list(texts), zeros=1
            )
            return graph.add("Flatten", encoder, axis=1)

        missing = graph.add("Cast", hits(""), to=onnx.TensorProto.BOOL)
        values = graph.add("Cast", hits(*one.column.categories), to=onnx.TensorProto.DOUBLE)
        parts.append(graph.add("Where", missing, graph.constant("nan", np.nan, np.float64), values))
    return graph.add("Concat", *parts, axis=1)


def usage(model: Model, file: Path) -> tuple[str, ...]:
    """Lines of Python that load the export and run it."""
    how = model.preprocessing
    inputs = by_column(how)
    table = f'{{"{EXAMPLES}": x}}'
    if inputs[0].column is not None:
        table = "{name: np.array(values)[:, None] for name, values in x.items()}"
    result = _LABELS if how.task == "classification" else result_names(how.task)[1]
    return (
        "import numpy as np, onnxruntime",
        f"session = onnxruntime.InferenceSession({quoted(file)})",
        call_of(how, inputs),
        f"feed = {table}",
        f"print(session.run([{quoted(result)}], feed)[0])",
    )


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
    taken = session.get_inputs()

    def feed(x: Array) -> dict[str, Array]:
        if [one.name for one in taken] != [EXAMPLES]:
            return columns_of(by_column(how), x)
        # Of an older export flattened examples, which were no bytes.
        dtype = "uint8" if taken[0].type == "tensor(uint8)" else how.wide
        return {EXAMPLES: x.astype(dtype).reshape(-1, *taken[0].shape[1:])}

    def run(x: Array) -> tuple[Array, Array]:
        outputs, answers = session.run(names, feed(x))
        return np.asarray(outputs), np.asarray(answers)

    return run
