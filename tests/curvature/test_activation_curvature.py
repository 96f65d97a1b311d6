from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from senn_cli.curvature import activation_curvature as ac
from senn_cli.curvature.activation_curvature import Shifts
from senn_cli.curvature.patches import patches
from senn_cli.engine.metric import Metric, output_combination
from senn_cli.nets.activation import activate, second_derivative, silu_second, tanh_second
from senn_cli.spec.activation import Activation
from tests.dense import METRICS, close, double, metric_matrix, network

SIZES = (3, 4, 3, 2)
LAYERS = 2
X = np.random.default_rng(5).standard_normal((3, SIZES[0]))
TARGETS = np.random.default_rng(6).random((3, SIZES[-1]))


@pytest.fixture(autouse=True, scope="module")
def _float64() -> Iterator[None]:
    yield from double()


def coefficients(params: Any, layer: int) -> Any:
    return params.get(f"activation_{layer}", {}).get("coefficients")


def tail(activation: str, params: Any, layer: int, h: Any) -> Any:
    """The outputs as a function of hidden layer `layer`'s activations."""
    for index in range(layer + 1, LAYERS + 1):
        linear = params[f"map_{index}"]
        h = h @ linear["kernel"] + linear["bias"]
        if index < LAYERS:
            h = activation_of(activation, params, index, h)
    return h


def activation_of(activation: str, params: Any, layer: int, p: Any) -> Any:
    if activation == "linear":
        return 1.5 * p
    return activate(activation, p, coefficients(params, layer))  # type: ignore[arg-type]


def run(activation: str, params: Any, shifts: Shifts, x: Any = X) -> tuple[Any, Any]:
    """A whole MLP: outputs and hidden pre-activations, with shifts on all its signals."""
    h, hidden = x, []
    for index in range(LAYERS + 1):
        linear = params[f"map_{index}"]
        p = h @ linear["kernel"] + linear["bias"] + shifts.pre[index]
        if index == LAYERS:
            return p, tuple(hidden)
        hidden.append(p)
        h = activation_of(activation, params, index, p) + shifts.post[index]
    raise AssertionError


def no_shifts(n: int = len(X)) -> Shifts:
    pre = tuple(jnp.zeros((n, size)) for size in SIZES[1:])
    return Shifts(pre, pre[:-1])


def loss(metric: Metric, y: Any) -> Any:
    """The loss of every example, whose Hessian is the metric; `(N,)`."""
    if metric == "softmax":
        soft = TARGETS / TARGETS.sum(axis=1, keepdims=True)
        return -jnp.sum(soft * jax.nn.log_softmax(y), axis=-1)
    return 0.5 * jnp.sum((y - TARGETS) ** 2, axis=-1)


def loss_gradient(metric: Metric, y: Any) -> Any:
    return jax.grad(lambda z: jnp.sum(loss(metric, z)))(y)


def seconds(activation: str, params: Any) -> Any:
    if activation == "linear":
        return jnp.zeros_like
    name: Activation = activation  # type: ignore[assignment]
    return tuple(
        partial(second_derivative, name, coefficients=coefficients(params, layer))
        for layer in range(LAYERS)
    )


def parameters(activation: str) -> Any:
    return network(SIZES, "tanh" if activation == "linear" else activation)[1]  # type: ignore[arg-type]


@partial(jax.jit, static_argnums=(0, 1))
def linear_map(activation: str, metric: Metric, params: Any) -> tuple[Any, Any, Any]:
    """(xi, zeta) -> v is linear: the parts of its matrix that belong to each example's noise.

    Returns:
      `(N, noises, P)`: from one example's noise to v; `(N, noises, N, n)`: to every example's
      covectors at the first pre-activations; and g.
    """
    shifts = no_shifts()
    (y, p), pull = jax.vjp(partial(run, activation), params, shifts)
    _, signals = pull((loss_gradient(metric, y), jax.tree.map(jnp.zeros_like, p)))
    scales = ac.noise_scales(p, signals.post, seconds(activation, params))
    each = partial(output_combination, metric, y)
    factor = jax.vmap(each, out_axes=1)(jnp.eye(y.shape[1]))  # (N, m, m)

    def image(noise: tuple[Any, Any]) -> tuple[Any, Any]:
        xi, zeta = noise
        cotangents = jax.tree.map(jnp.multiply, scales, zeta)
        v, covectors = pull((jnp.einsum("nkm,nk->nm", factor, xi), cotangents))
        return ravel_pytree(v)[0], covectors.pre[0]

    noise = (jnp.zeros(y.shape), tuple(jnp.zeros(x.shape) for x in p))
    of_v, of_covectors = jax.jacobian(image)(noise)

    def by_example(tree: Any, lead: int) -> Any:
        """`(N, noises, ...)` from Jacobians whose trailing axes are an example's noise."""
        joined = jnp.concatenate(jax.tree.leaves(tree), axis=-1)
        return jnp.moveaxis(joined, (lead, lead + 1), (0, 1))

    return by_example(of_v, 1), by_example(of_covectors, 2), signals.post


@partial(jax.jit, static_argnums=(0, 1))
def dense(activation: str, metric: Metric, params: Any) -> tuple[Any, ...]:
    """J_y (N, m, P), J_i, g_i and sigma''(p_i) by plain automatic differentiation.

    The last three are lists, one entry a hidden layer.
    """
    vector, tree = ravel_pytree(params)
    shifts = no_shifts()
    j_y = jax.jacobian(lambda v: run(activation, tree(v), shifts)[0])(vector)
    j_p = jax.jacobian(lambda v: run(activation, tree(v), shifts)[1])(vector)
    _, p = run(activation, params, shifts)
    g, second = [], []
    for layer in range(LAYERS):
        h = activation_of(activation, params, layer, p[layer])
        g.append(
            jax.grad(lambda h, k=layer: jnp.sum(loss(metric, tail(activation, params, k, h))))(h)
        )

        def total(q: Any, k: int = layer) -> Any:
            return jnp.sum(activation_of(activation, params, k, q))

        second.append(jax.grad(lambda q, t=total: jnp.sum(jax.grad(t)(q)))(p[layer]))
    y = run(activation, params, shifts)[0]
    return j_y, j_p, g, second, y


def exact(activation: str, metric: Metric, params: Any, *, signed: bool = False) -> np.ndarray:
    """The matrix of every example, `(N, P, P)`; `signed` without the absolute values."""
    j_y, j_p, g, second, y = dense(activation, metric, params)
    h = metric_matrix(metric, y)
    total = np.einsum("nap,nab,nbq->npq", j_y, h, j_y)
    for j, slope, bend in zip(j_p, g, second, strict=True):
        weight = np.asarray(slope * bend)
        total += np.einsum("ni,nip,niq->npq", weight if signed else np.abs(weight), j, j)
    return total


CASES = [(a, m) for a in ("silu", "tanh", "rational") for m in METRICS[:2]]


@pytest.mark.parametrize("activation, metric", CASES)
def test_the_samples_second_moment_is_the_dense_matrix(activation: str, metric: Metric) -> None:
    params = parameters(activation)
    of_v, _, _ = linear_map(activation, metric, params)
    expected = exact(activation, metric, params)
    # Example by example, and for their sum: no term across examples.
    close(np.einsum("nkp,nkq->npq", of_v, of_v), expected, 1e-10)
    flat = np.asarray(of_v).reshape(-1, of_v.shape[-1])
    close(flat.T @ flat, expected.sum(axis=0), 1e-10)
    # The noise matters here, and the same noise for all examples would give something else.
    plain = np.asarray(dense(activation, metric, params)[0])
    h = metric_matrix(metric, dense(activation, metric, params)[4])
    gauss_newton = np.einsum("nap,nab,nbq->pq", plain, h, plain)
    assert np.abs(expected.sum(axis=0) - gauss_newton).max() > 0.05 * np.abs(gauss_newton).max()
    shared = np.asarray(of_v).sum(axis=0)
    assert np.abs(shared.T @ shared - flat.T @ flat).max() > 0.1 * np.abs(flat.T @ flat).max()


@pytest.mark.parametrize("activation", ["silu", "rational"])
def test_covectors_of_different_examples_share_no_noise(activation: str) -> None:
    _, of_covectors, _ = linear_map(activation, "softmax", parameters(activation))
    matrix = np.asarray(of_covectors)  # (N, noises, N, n)
    for n in range(len(X)):
        own, others = matrix[n, :, n], np.delete(matrix[n], n, axis=1)
        assert np.abs(own).max() > 0.01
        np.testing.assert_array_equal(others, 0.0)


@pytest.mark.parametrize("metric", METRICS)
def test_without_curvature_of_the_activations_it_is_the_gauss_newton_matrix(metric: Metric) -> None:
    params = parameters("linear")
    of_v, _, _ = linear_map("linear", metric, params)
    j_y, _, _, _, y = dense("linear", metric, params)
    expected = np.einsum("nap,nab,nbq->npq", j_y, metric_matrix(metric, y), j_y)
    close(np.einsum("nkp,nkq->npq", of_v, of_v), expected, 1e-12)


@pytest.mark.parametrize("activation, metric", CASES)
def test_with_signs_it_is_the_hessian_of_every_map_and_without_an_upper_bound(
    activation: str, metric: Metric
) -> None:
    # The terms left out connect different maps alone, so a map's own block has none of them.
    params = parameters(activation)
    vector, tree = ravel_pytree(params)
    hessian = np.asarray(
        jax.jit(
            jax.hessian(lambda v: jnp.sum(loss(metric, run(activation, tree(v), no_shifts())[0])))
        )(vector)
    )
    signed = exact(activation, metric, params, signed=True).sum(axis=0)
    upper = exact(activation, metric, params).sum(axis=0)
    numbers = tree(jnp.arange(len(vector), dtype=vector.dtype))
    for index in range(LAYERS + 1):
        rows = np.concatenate([np.ravel(v) for v in jax.tree.leaves(numbers[f"map_{index}"])])
        block = np.ix_(rows.astype(int), rows.astype(int))
        close(signed[block], hessian[block], 1e-10)
        values = np.linalg.eigvalsh(upper[block] - hessian[block])
        assert values.min() > -1e-10 * np.abs(hessian[block]).max()


def test_gradients_with_respect_to_activations_are_those_of_every_examples_own_loss() -> None:
    params = parameters("silu")
    _, _, found = linear_map("silu", "softmax", params)
    for ours, theirs in zip(found, dense("silu", "softmax", params)[2], strict=True):
        close(ours, theirs, 1e-12)


def test_the_sampler_as_a_whole() -> None:
    params, metric, draws = parameters("silu"), METRICS[0], 20_000

    @jax.jit
    def draw(key: Any) -> ac.Passes:
        return ac.gradient_and_sample(
            lambda p, shifts: (run("silu", p, shifts), None),
            params,
            no_shifts(),
            key,
            loss_gradient=partial(loss_gradient, metric),
            metric=metric,
            second_derivative=seconds("silu", params),
        )

    one = draw(jax.random.key(0))
    expected = jax.grad(lambda p: jnp.mean(loss(metric, run("silu", p, no_shifts())[0])))(params)
    close(one.gradient, expected, 1e-12)
    # The sample's part at a map is its inputs times the covectors, as in the backward pass.
    v = np.asarray(one.sample["map_0"]["kernel"]) * np.sqrt(len(X))
    close(X.T @ np.asarray(one.covectors[0]), v, 1e-12)

    keys = jax.random.split(jax.random.key(1), draws)
    samples = np.asarray(
        jax.lax.map(lambda k: ravel_pytree(draw(k).sample)[0], keys, batch_size=1000)
    )
    matrix = exact("silu", metric, params).mean(axis=0)
    # A product of two normals with variances a and b has at most the variance 2 a b.
    error = np.sqrt(2 * np.outer(np.diag(matrix), np.diag(matrix)) / draws)
    deviation = np.abs(samples.T @ samples / draws - matrix)
    assert np.all(deviation <= 6 * error + 1e-12)


def convolutions(params: Any, shifts: Shifts, x: Any) -> tuple[Any, Any]:
    """Two SAME convolutions with SiLU, the mean over positions, a dense map."""
    h, hidden = x, []
    for index in range(2):
        layout = ("NHWC", "HWIO", "NHWC")
        kernel = params[f"conv_{index}"]
        p = jax.lax.conv_general_dilated(h, kernel, (1, 1), "SAME", dimension_numbers=layout)
        hidden.append(p + shifts.pre[index])
        h = jax.nn.silu(hidden[-1]) + shifts.post[index]
    return h.mean(axis=(1, 2)) @ params["head"] + shifts.pre[2], tuple(hidden)


def test_a_convolutional_network() -> None:
    rng = np.random.default_rng(8)
    x = rng.standard_normal((3, 3, 4, 2))
    params = {
        "conv_0": 0.5 * rng.standard_normal((3, 3, 2, 2)),
        "conv_1": 0.5 * rng.standard_normal((3, 3, 2, 3)),
        "head": rng.standard_normal((3, 2)),
    }
    post = tuple(jnp.zeros((3, 3, 4, c)) for c in (2, 3))
    shifts = Shifts((*post, jnp.zeros((3, 2))), post)
    vector, tree = ravel_pytree(params)

    @jax.jit
    def compute() -> tuple[Any, ...]:
        (y, p), pull = jax.vjp(lambda v, s: convolutions(tree(v), s, x), vector, shifts)
        quiet = jax.tree.map(jnp.zeros_like, p)
        _, signals = pull((loss_gradient("euclidean", y), quiet))
        scales = ac.noise_scales(p, signals.post, silu_second)
        zeta = jax.tree.map(lambda z: jnp.asarray(z), noise)
        v, covectors = pull((noise_y, jax.tree.map(jnp.multiply, scales, zeta)))

        def image(xi: Any, z: Any) -> Any:
            return pull((xi, jax.tree.map(jnp.multiply, scales, z)))[0]

        linear = jax.jacobian(image, (0, 1))(noise_y, zeta)
        j_y, j_p = jax.jacobian(lambda v: convolutions(tree(v), shifts, x))(vector)
        g = jax.grad(lambda s: jnp.sum(loss("euclidean", convolutions(params, s, x)[0])))(shifts)
        return v, covectors, linear, j_y, j_p, p, g.post

    noise_y = jnp.asarray(rng.standard_normal((3, 2)))
    noise = tuple(rng.standard_normal(z.shape) for z in post)
    v, covectors, linear, j_y, j_p, p, g = compute()
    size = len(vector)
    whole = np.concatenate([np.asarray(m).reshape(size, -1) for m in jax.tree.leaves(linear)], 1)
    j = np.asarray(j_y).reshape(-1, size)
    expected = j.T @ j
    for jacobian, pre, slope in zip(j_p, p, g, strict=True):
        gate = 1 / (1 + np.exp(-np.asarray(pre)))
        bend = gate * (1 - gate) * (2 + np.asarray(pre) * (1 - 2 * gate))
        weight = np.abs(np.asarray(slope) * bend).ravel()
        rows = np.asarray(jacobian).reshape(-1, size)
        expected += rows.T @ (weight[:, None] * rows)
    close(whole @ whole.T, expected, 1e-10)
    # A map's part of the sample is its patches times its covectors: KFC's factors are theirs.
    activations = (x, jax.nn.silu(p[0]))
    for index in range(2):
        rows = np.asarray(patches(jnp.asarray(activations[index]))).reshape(36, -1)
        mine = np.asarray(tree(v)[f"conv_{index}"]).reshape(rows.shape[1], -1)
        close(rows.T @ np.asarray(covectors.pre[index]).reshape(36, -1), mine, 1e-12)


def test_noise_is_independent_for_every_example_position_and_channel_and_layer() -> None:
    # p = 0 has sigma''(0) = 1/2 for SiLU, so g = 2 makes every scale 1.
    shapes = {"conv": (2, 2, 2, 2), "dense": (3, 2)}
    p = {name: jnp.zeros(shape) for name, shape in shapes.items()}
    g = {name: 2.0 * jnp.ones(shape) for name, shape in shapes.items()}
    keys = jax.random.split(jax.random.key(3), 40_000)
    draw = jax.jit(jax.vmap(lambda k: ravel_pytree(ac.noise_cotangents(k, p, g, silu_second))[0]))
    noise = np.asarray(draw(keys))
    assert noise.shape == (40_000, 16 + 6)
    np.testing.assert_allclose(noise.T @ noise / len(noise), np.eye(22), atol=6 * np.sqrt(2 / 4e4))


def test_noise_keeps_shapes_and_vanishes_where_nothing_is_read() -> None:
    p = (jnp.ones((2, 3), jnp.float32), jnp.ones((2, 4, 4, 3), jnp.float32))
    g = (jnp.ones((2, 3), jnp.float32).at[:, 1].set(0.0), jnp.ones((2, 4, 4, 3), jnp.float32))
    noise = ac.noise_cotangents(jax.random.key(0), p, g, (tanh_second, silu_second))
    for found, like in zip(noise, p, strict=True):
        assert found.shape == like.shape and found.dtype == jnp.float32
    np.testing.assert_array_equal(noise[0][:, 1], 0.0)
    assert np.all(np.asarray(noise[0])[:, [0, 2]] != 0.0)
