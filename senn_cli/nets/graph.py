"""Activations as operators of a graph, for every kind of network."""

from __future__ import annotations

from senn_cli.nets.features import ArrayTree, Feature
from senn_cli.nets.registry import Graph


def written(graph: Graph, feature: Feature, params: ArrayTree, x: str) -> str:
    """Writes the activation of the pre-activations `x` of `feature`; its name."""
    if feature.coefficients is None:
        if feature.activation == "tanh":
            return graph.add("Tanh", x)
        return graph.add("Mul", x, graph.add("Sigmoid", x))
    # alpha x + (beta + gamma x) / (1 + x^2), see senn_cli.nets.activation.
    rows = params[feature.coefficients]["coefficients"]
    alpha, beta, gamma = (
        graph.constant(f"{feature.coefficients}.{name}", row)
        for name, row in zip(("alpha", "beta", "gamma"), rows, strict=True)
    )
    below = graph.add("Add", graph.add("Mul", x, x), graph.constant("one", [1.0]))
    above = graph.add("Add", graph.add("Mul", x, gamma), beta)
    return graph.add("Add", graph.add("Mul", x, alpha), graph.add("Div", above, below))
