from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.nets.activation import activate
from senn_cli.nets.architecture import ACTIVATIONS
from senn_cli.nets.features import Feature
from senn_cli.nets.graph import written
from senn_cli.spec.activation import Activation
from senn_cli.use.export_onnx import OPSET, Graph

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_operators_compute_the_activation(name: Activation) -> None:
    rows = np.array([[0.3, 1], [-2.0, 0], [1.5, 4]], np.float32) if name == "rational" else None
    own = None if rows is None else "activation_0"
    feature = Feature("hidden_0", "hidden", 0, 2, 2, activation=name, coefficients=own)
    graph = Graph(onnx)
    params = {} if rows is None else {"activation_0": {"coefficients": rows}}
    last = graph.add("Identity", written(graph, feature, params, "x"), output="y")
    single = onnx.TensorProto.FLOAT
    ends = [onnx.helper.make_tensor_value_info(n, single, ["n", 2]) for n in ("x", last)]
    made = onnx.helper.make_graph(
        graph.nodes, "test", ends[:1], ends[1:], list(graph.constants.values())
    )
    opset = [onnx.helper.make_opsetid("", OPSET)]
    model = onnx.helper.make_model(made, opset_imports=opset, ir_version=8)
    session = runtime.InferenceSession(model.SerializeToString())
    x = np.linspace(-6, 6, 40, dtype=np.float32).reshape(20, 2)
    (found,) = session.run(None, {"x": x})
    wanted = activate(name, jnp.asarray(x), None if rows is None else jnp.asarray(rows))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
