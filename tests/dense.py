"""The slow truth that tests compare with: dense Jacobians and Fisher matrices, and padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from senn_cli.engine.metric import Metric
from senn_cli.nets.architecture import Layer
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.nets.registry import outputs as outputs_of
from senn_cli.spec.activation import Activation

Tree = dict[str, dict[str, Any]]
METRICS: tuple[Metric, ...] = ("euclidean", "softmax", "gaussian", "bernoulli", "poisson", 0.7)


def double() -> Iterator[None]:
    """A fixture's body: float64 as long as it lives, in no other test."""
    with jax.enable_x64(True):
        yield


def network(
    sizes: Sequence[int], activation: Activation = "rational", seed: int = 0
) -> tuple[MlpArchitecture, Tree]:
    """A network without spare capacity, all its parameters random NumPy arrays of float64."""
    hidden = tuple(Layer(n, n, activation) for n in sizes[1:-1])
    architecture = MlpArchitecture(sizes[0], sizes[-1], hidden)
    rng = np.random.default_rng(seed)
    params: Tree = {}
    for index, (n_in, n_out) in enumerate(pairwise(sizes)):
        kernel = rng.standard_normal((n_in, n_out)) / np.sqrt(n_in)
        params[f"map_{index}"] = {
            "kernel": kernel,
            "bias": 0.3 * rng.standard_normal(n_out),
        }
        if index < len(hidden) and activation == "rational":
            coefficients = np.array([[1.0], [0.5], [0.0]]) + 0.5 * rng.standard_normal((3, n_out))
            params[f"activation_{index}"] = {"coefficients": coefficients}
    return architecture, params


def widths_of(architecture: MlpArchitecture) -> np.ndarray:
    return np.asarray(architecture.widths, np.int32)


def roomy(architecture: MlpArchitecture, capacities: Sequence[int]) -> MlpArchitecture:
    """The same network with these capacities."""
    for index, capacity in enumerate(capacities):
        architecture = architecture.with_layer(index, capacity=capacity)
    return architecture


def padded(params: Tree, architecture: MlpArchitecture) -> Tree:
    """Parameters of the widths in use, with zeros up to the capacity."""

    def room(name: str, symbol: str, value: Any) -> Any:
        shape = _shape(architecture, name, symbol)
        return np.pad(value, [(0, n - m) for n, m in zip(shape, value.shape, strict=True)])

    return {n: {k: room(n, k, v) for k, v in leaves.items()} for n, leaves in params.items()}


def in_use(params: Tree, architecture: MlpArchitecture) -> Tree:
    """The inverse of `padded`; fails where anything beyond the widths is not zero."""

    def cut(name: str, symbol: str, value: Any) -> np.ndarray:
        value = np.array(value)
        shape = _shape(architecture.compact(), name, symbol)
        inside = tuple(slice(n) for n in shape)
        result = value[inside].copy()
        value[inside] = 0.0
        assert not value.any(), f"{name}.{symbol} is not zero beyond its width"
        return result

    return {n: {k: cut(n, k, v) for k, v in leaves.items()} for n, leaves in params.items()}


def _shape(architecture: MlpArchitecture, name: str, symbol: str) -> tuple[int, ...]:
    kind, index = name.split("_")
    n_in, n_out = architecture.map_capacity(int(index))
    if kind == "activation":
        return (3, n_out)
    return (n_in, n_out) if symbol == "kernel" else (n_out,)


def flat(params: Tree) -> np.ndarray:
    """All parameters as one vector, in the order of `jax.tree.leaves`."""
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(params)])


def random_like(params: Tree, seed: int = 0) -> Tree:
    """A tree of the same shapes with unit normal entries."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda p: rng.standard_normal(p.shape), params)


@partial(jax.jit, static_argnums=0)
def outputs(architecture: MlpArchitecture, params: Tree, x: Any) -> jax.Array:
    """The network's outputs `(N, m)`."""
    return outputs_of(architecture.shape(), params, x, jnp.asarray(widths_of(architecture)))


@partial(jax.jit, static_argnums=0)
def jacobian(architecture: MlpArchitecture, params: Tree, x: Any) -> jax.Array:
    """d outputs / d parameters, `(N, m, P)`, parameters in the order of `flat`."""
    vector, tree = ravel_pytree(params)
    return jax.jacobian(lambda v: outputs(architecture, tree(v), x))(vector)


def metric_matrix(metric: Metric, y: Any) -> np.ndarray:
    """H, `(N, m, m)`, for outputs `y` (N, m), from its definition."""
    y = np.asarray(y)
    if metric != "softmax":
        p = 1 / (1 + np.exp(-y))
        own = {"bernoulli": p * (1 - p), "poisson": np.exp(y)}
        diagonal = own[metric] if metric in own else metric if isinstance(metric, float) else 1.0
        return np.eye(y.shape[1]) * np.broadcast_to(diagonal, y.shape)[:, None, :]
    p = np.exp(y - y.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return np.stack([np.diag(q) - np.outer(q, q) for q in p])


def fisher(architecture: MlpArchitecture, params: Tree, x: Any, metric: Metric) -> np.ndarray:
    """F = E[J^T H J], `(P, P)`."""
    j = np.asarray(jacobian(architecture, params, x))
    h = metric_matrix(metric, outputs(architecture, params, x))
    return np.einsum("nap,nab,nbq->pq", j, h, j) / len(j)


def close(a: Any, b: Any, tolerance: float) -> None:
    """Two trees agree up to `tolerance`, relative to the largest entry of each leaf of `b`."""
    left, right = jax.tree.leaves(a), jax.tree.leaves(b)
    assert len(left) == len(right)
    for one, two in zip(left, right, strict=True):
        scale = max(float(np.max(np.abs(two), initial=0.0)), 1e-12)
        np.testing.assert_allclose(one, two, rtol=0, atol=tolerance * scale)
