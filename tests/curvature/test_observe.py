from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.curvature.observe import observe

pytestmark = pytest.mark.usefixtures("double")

N, INPUTS, OUTPUTS = 12, 3, 3
HIDDEN = [(2, 4, "rational"), (3, 3, "silu"), (2, 5, "tanh")]


def network(params: Any, hidden: Any, x: jax.Array, shifts: Any) -> jax.Array:
    """One example through the neurons in use, `shifts` added to every pre-activation."""
    sizes = [INPUTS, *[h[0] for h in hidden], OUTPUTS]
    for i, shift in enumerate(shifts):
        linear = params[f"map_{i}"]
        kernel = linear["kernel"][: sizes[i], : sizes[i + 1]]
        z = x @ kernel + linear["bias"][: sizes[i + 1]] + shift
        if i == len(hidden):
            return z
        if hidden[i][2] == "rational":
            alpha, beta, gamma = params[f"activation_{i}"]["coefficients"][:, : sizes[i + 1]]
            x = alpha * z + (beta + gamma * z) / (1 + z**2)
        else:
            x = jnp.tanh(z) if hidden[i][2] == "tanh" else z * jax.nn.sigmoid(z)
    raise AssertionError


def losses(task: str, outputs: jax.Array, y: Any) -> jax.Array:
    if task == "regression":
        return 0.5 * jnp.sum((outputs - y) ** 2)
    return jax.scipy.special.logsumexp(outputs) - outputs[y]


def curvature(metric: str, outputs: np.ndarray) -> np.ndarray:
    if metric != "softmax":
        return np.eye(OUTPUTS)
    p = np.exp(outputs) / np.exp(outputs).sum()
    return np.diag(p) - np.outer(p, p)


@pytest.mark.parametrize(
    ("task", "metric", "hidden"),
    [
        ("classification", "softmax", HIDDEN),
        ("classification", "euclidean", HIDDEN),
        ("regression", "gaussian", HIDDEN),
        ("classification", "softmax", []),
    ],
)
def test_everything_agrees_with_dense_jacobians(
    task: Any, metric: Any, hidden: Any, nets: Any
) -> None:
    rng = np.random.default_rng(0)
    shape = nets.architecture(INPUTS, hidden, OUTPUTS)
    params = nets.draw(rng, shape)
    x = rng.standard_normal((N, INPUTS))
    if task == "regression":
        y = rng.standard_normal((N, OUTPUTS))
    else:
        y = rng.integers(0, OUTPUTS, N)
    widths = jnp.asarray(shape.widths, jnp.int32)
    seen = jax.jit(observe, static_argnums=(0, 5, 6))(
        shape.shape(), params, widths, x, y, task, metric
    )

    zeros = tuple(np.zeros(shape.map_width(i)[1]) for i in range(len(shape.maps)))
    forward = jax.jit(lambda row, shifts: network(params, hidden, row, shifts))
    jacobian = jax.jit(jax.jacobian(lambda row, shifts: network(params, hidden, row, shifts), 1))
    slopes = jax.jit(
        jax.value_and_grad(lambda o, t: losses(task, o, t)),
    )
    outputs = np.array([forward(row, zeros) for row in x])
    jacobians = [jacobian(row, zeros) for row in x]
    values, gradients = zip(*(slopes(o, t) for o, t in zip(outputs, y, strict=True)), strict=True)
    assert float(seen.loss) == pytest.approx(np.mean(values), rel=1e-10)

    numpy_pass = nets.run(shape, params, x)
    for i in range(len(shape.maps)):
        n_out = shape.map_width(i)[1]
        g, s = np.zeros((N, n_out)), np.zeros((n_out, n_out))
        for row in range(N):
            j = np.asarray(jacobians[row][i])
            g[row] = j.T @ np.asarray(gradients[row])
            s += j.T @ curvature(metric, outputs[row]) @ j / N
        for ours, expected in (
            (seen.a[i], numpy_pass.reads[i]),
            (seen.z[i], numpy_pass.z[i]),
            (seen.g[i], g),
            (seen.s[i], s),
        ):
            used = tuple(slice(n) for n in expected.shape)
            np.testing.assert_allclose(ours[used], expected, rtol=1e-9, atol=1e-12)
            # Whatever is not in use is exactly zero.
            rest = np.array(ours)
            rest[used] = 0
            assert not np.any(rest)
        cap_in, cap_out = shape.map_capacity(i)
        assert seen.a[i].shape == (N, 1 + cap_in)
        assert seen.z[i].shape == seen.g[i].shape == (N, cap_out)
