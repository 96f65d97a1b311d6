"""Activations as operators of a graph, for every kind of network."""

from __future__ import annotations

from senn_cli.nets.architecture import SLOPE
from senn_cli.nets.features import ArrayTree, Feature
from senn_cli.nets.registry import Graph


def written(graph: Graph, feature: Feature, params: ArrayTree, x: str) -> str:
    """Writes the activation of the pre-activations `x` of `feature`; its name."""
    if feature.coefficients is None:
        return _plain(graph, feature.activation or "identity", x)
    # alpha x + (beta + gamma x) / (1 + x^2), see senn_cli.nets.activation.
    rows = params[feature.coefficients]["coefficients"]
    alpha, beta, gamma = (
        graph.constant(f"{feature.coefficients}.{name}", row)
        for name, row in zip(("alpha", "beta", "gamma"), rows, strict=True)
    )
    below = graph.add("Add", graph.add("Mul", x, x), graph.constant("one", [1.0]))
    above = graph.add("Add", graph.add("Mul", x, gamma), beta)
    return graph.add("Add", graph.add("Mul", x, alpha), graph.add("Div", above, below))


def _plain(graph: Graph, activation: str, x: str) -> str:
    """Writes an activation without coefficients; its name."""
    if activation == "identity":
        return x
    if activation == "silu":
        return graph.add("Mul", x, graph.add("Sigmoid", x))
    if activation == "leaky_relu":
        return graph.add("LeakyRelu", x, alpha=SLOPE)
    if activation == "gelu":  # an operator of its own since opset 20 alone
        scaled = graph.add("Div", x, graph.constant("root_of_two", [2.0**0.5]))
        above = graph.add("Add", graph.add("Erf", scaled), graph.constant("one", [1.0]))
        return graph.add("Mul", graph.add("Mul", x, graph.constant("half", [0.5])), above)
    return graph.add({"tanh": "Tanh", "relu": "Relu", "softplus": "Softplus"}[activation], x)
