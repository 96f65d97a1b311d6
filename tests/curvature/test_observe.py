"""What is seen of networks against plain computations: signals, gradients, curvature."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.curvature import observe as module
from senn_cli.curvature.observe import input_factor, input_rows, observe
from senn_cli.engine.objective import CLASSIFICATION, REGRESSION, Objective, loss_and_gradient
from senn_cli.nets.features import standing, used_units
from senn_cli.nets.leaves import joined, row_mask
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.nets.registry import apply
from tests import densenets
from tests.densenets import Look, Masks

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


def losses(objective: Objective, outputs: jax.Array, y: Any) -> jax.Array:
    if objective == REGRESSION:
        return 0.5 * jnp.sum((outputs - y) ** 2)
    return jax.scipy.special.logsumexp(outputs) - outputs[y]


def curvature(metric: str, outputs: np.ndarray) -> np.ndarray:
    if metric != "softmax":
        return np.eye(OUTPUTS)
    p = np.exp(outputs) / np.exp(outputs).sum()
    return np.diag(p) - np.outer(p, p)


@pytest.mark.parametrize(
    ("objective", "metric", "hidden"),
    [
        (CLASSIFICATION, "softmax", HIDDEN),
        (CLASSIFICATION, "euclidean", HIDDEN),
        (REGRESSION, "gaussian", HIDDEN),
        (CLASSIFICATION, "softmax", []),
    ],
)
def test_everything_agrees_with_dense_jacobians(
    objective: Any, metric: Any, hidden: Any, nets: Any
) -> None:
    rng = np.random.default_rng(0)
    shape = nets.architecture(INPUTS, hidden, OUTPUTS)
    params = nets.draw(rng, shape)
    x = rng.standard_normal((N, INPUTS))
    if objective == REGRESSION:
        y = rng.standard_normal((N, OUTPUTS))
    else:
        y = rng.integers(0, OUTPUTS, N)
    seen = jax.jit(observe, static_argnums=(0, 5, 6))(
        shape.shape(), params, used_units(shape), x, y, objective, metric
    )

    zeros = tuple(np.zeros(m.target.width) for m in shape.maps)
    forward = jax.jit(lambda row, shifts: network(params, hidden, row, shifts))
    jacobian = jax.jit(jax.jacobian(lambda row, shifts: network(params, hidden, row, shifts), 1))
    slopes = jax.jit(
        jax.value_and_grad(lambda o, t: losses(objective, o, t)),
    )
    outputs = np.array([forward(row, zeros) for row in x])
    jacobians = [jacobian(row, zeros) for row in x]
    values, gradients = zip(*(slopes(o, t) for o, t in zip(outputs, y, strict=True)), strict=True)
    assert float(seen.loss) == pytest.approx(np.mean(values), rel=1e-10)

    numpy_pass = nets.run(shape, params, x)
    for i, m in enumerate(shape.maps):
        n_out = m.target.width
        g, s = np.zeros((N, n_out)), np.zeros((n_out, n_out))
        for row in range(N):
            j = np.asarray(jacobians[row][i])
            g[row] = j.T @ np.asarray(gradients[row])
            s += j.T @ curvature(metric, outputs[row]) @ j / N
        for ours, expected in (
            (input_rows(m, seen.reads[m.name]), numpy_pass.reads[i]),
            (seen.yields[m.name], numpy_pass.z[i]),
            (seen.told[m.name], g),
            (seen.s[m.name], s),
            (seen.gradients[m.name], numpy_pass.reads[i].T @ g / N),
        ):
            used = tuple(slice(n) for n in expected.shape)
            np.testing.assert_allclose(ours[used], expected, rtol=1e-9, atol=1e-12)
            # Whatever is not in use is exactly zero.
            rest = np.array(ours)
            rest[used] = 0
            assert not np.any(rest)
        assert input_rows(m, seen.reads[m.name]).shape == (N, m.rows)
        assert seen.yields[m.name].shape == seen.told[m.name].shape == (N, m.columns)


def sizes(jaxpr: Any) -> Iterator[int]:
    """Numbers in every array that a traced program makes, loops' bodies included."""
    for equation in jaxpr.eqns:
        yield from (int(np.prod(v.aval.shape)) for v in equation.outvars)
        for inner in jax.extend.core.jaxprs_in_params(equation.params):
            yield from sizes(inner)


def test_many_outputs_take_neither_a_pass_each_nor_memory_for_all(
    monkeypatch: pytest.MonkeyPatch, nets: Any
) -> None:
    n, outputs = 2048, 24
    rng = np.random.default_rng(1)
    shape = nets.architecture(INPUTS, [(4, 4, "silu")], outputs)
    params, x = nets.draw(rng, shape), rng.standard_normal((n, INPUTS))
    y = rng.integers(0, outputs, n)

    def found(passes: int) -> tuple[dict[str, np.ndarray], int]:
        monkeypatch.setattr(module, "PULLED", passes * n)
        fixed = partial(observe, shape.shape(), objective=CLASSIFICATION, metric="softmax")
        traced = jax.make_jaxpr(lambda p: fixed(p, used_units(shape), x, y).s)(params)
        return jax.jit(lambda p: fixed(p, used_units(shape), x, y).s)(params), max(
            sizes(traced.jaxpr)
        )

    (exact, most), (drawn, fewer) = found(outputs), found(6)
    assert max(most, fewer) <= 2 * n * outputs
    for name, s in exact.items():
        # Signs are independent: an entry's variance is at most 2 s_ii s_jj an example and pass,
        # up to how unlike the examples are.
        scale = np.sqrt(2 * np.outer(np.diag(s), np.diag(s)) / (6 * n))
        assert (np.abs(drawn[name] - s) <= 8 * scale + 1e-15).all(), name
    np.testing.assert_array_equal(exact["map_1"], drawn["map_1"])
    assert np.abs(drawn["map_0"] - exact["map_0"]).max() > 0


@pytest.mark.parametrize("key", [None, 3])
def test_gradients_of_weights_are_those_of_the_mean_loss(key: int | None, nets: Any) -> None:
    rng = np.random.default_rng(1)
    shape = nets.architecture(INPUTS, HIDDEN, OUTPUTS)
    params, used = nets.draw(rng, shape), used_units(shape)
    x, y = rng.standard_normal((N, INPUTS)), rng.integers(0, OUTPUTS, N)

    def mean_loss(params: Any) -> jax.Array:
        outputs = apply(shape.shape(), params, x, used).outputs
        return jnp.mean(loss_and_gradient(CLASSIFICATION, outputs, jnp.asarray(y))[0])

    drawn = None if key is None else jax.random.key(key)
    seen = observe(shape.shape(), params, used, x, y, CLASSIFICATION, "softmax", drawn)
    expected = jax.grad(mean_loss)(params)
    for m in shape.maps:
        np.testing.assert_allclose(
            seen.gradients[m.name], joined(m, expected[m.name]), rtol=1e-9, atol=1e-12
        )


NET = densenets.architecture((6, 5, 2), 3, [[(3, 5)], [(2, 3), (2, 2)]], bud=2)
IMAGES = 4


@pytest.fixture(scope="module")
def case() -> tuple[Any, Masks, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    masks = densenets.scattered(rng, NET)
    params = densenets.random_parameters(rng, NET, masks)
    return params, masks, rng.standard_normal((IMAGES, 60)), np.array([0, 2, 1, 0])


def look(case: Any, key: int = 0, stride: int = 1) -> Look:
    params, masks, x, y = case
    return densenets.look_at(
        NET.shape(), params, masks.used(NET), x, y, jax.random.key(key), stride=stride
    )


def mean_loss(params: Any, masks: Masks, x: Any, y: Any) -> jax.Array:
    outputs = apply(NET.shape(), params, x, masks.used(NET)).outputs
    return jnp.mean(loss_and_gradient(CLASSIFICATION, outputs, y)[0])


def test_gradients_of_dormant_rows_are_those_of_rows_in_use_with_zero_weights(case: Any) -> None:
    params, masks, x, y = case
    found = look(case).gradients
    # The same function, told that every channel and bud is in use: rows that are not, are zero.
    everything = Masks(
        tuple(np.ones(h.capacity, bool) for h in NET.hidden),
        tuple(np.ones(NET.bud, bool) for _ in NET.hidden),
    )
    zeroed = {}
    for wire in NET.maps:
        zeroed[wire.name] = dict(params[wire.name])
        for source in wire.sources:
            used = np.asarray(masks.of(source))
            zeroed[wire.name][source.leaf] = params[wire.name][source.leaf] * used[:, None]
    np.testing.assert_allclose(
        mean_loss(zeroed, everything, x, y), mean_loss(params, masks, x, y), rtol=1e-12
    )
    expected = jax.grad(mean_loss)(zeroed, everything, jnp.asarray(x), jnp.asarray(y))
    for wire in standing(NET.shape()):
        np.testing.assert_allclose(
            found[wire.name], joined(wire, expected[wire.name]), rtol=1e-9, atol=1e-12
        )
        used = row_mask(wire, masks.used(NET))
        if not used.all():  # and there is something to score
            assert np.abs(np.asarray(found[wire.name])[~used]).max() > 0


def test_input_factors_are_moments_of_patches(case: Any) -> None:
    params, masks, x, _ = case
    found, signals = look(case).factors, apply(NET.shape(), params, jnp.asarray(x), masks.used(NET))
    for wire in standing(NET.shape()):
        read = np.asarray(signals.inputs[wire.name])
        if wire.target.role == "outputs":
            rows = np.concatenate([np.ones((IMAGES, 1)), read], axis=1)
        else:
            _, height, width, channels = read.shape
            padded = np.pad(read, ((0, 0), (1, 1), (1, 1), (0, 0)))
            rows = np.array(
                [
                    padded[n, i : i + 3, j : j + 3].reshape(9 * channels)
                    for n in range(IMAGES)
                    for i in range(height)
                    for j in range(width)
                ]
            )
        np.testing.assert_allclose(
            found[wire.name][0], rows.T @ rows / IMAGES, rtol=1e-9, atol=1e-11
        )


def test_the_heads_gradient_factor_is_the_softmax_metric_on_average(case: Any) -> None:
    params, masks, x, _ = case
    logits = np.asarray(apply(NET.shape(), params, jnp.asarray(x), masks.used(NET)).outputs)
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    expected = np.mean([np.diag(q) - np.outer(q, q) for q in p], axis=0)
    draws = jax.jit(jax.vmap(lambda key: look_at_head(case, key)))(
        jax.random.split(jax.random.key(1), 4000)
    )
    # Labels are drawn: the mean of 16,000 of them is within four standard errors.
    error = 4 * np.asarray(draws).std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(np.mean(draws, axis=0) - expected) <= error + 1e-12).all()


def look_at_head(case: Any, key: jax.Array) -> jax.Array:
    params, masks, x, y = case
    found = densenets.look_at(NET.shape(), params, masks.used(NET), x, y, key)
    return found.factors["head"][1]


def test_sampled_positions_give_the_moments_on_average(case: Any) -> None:
    whole = look(case).factors["block_0/layer_0"][0]
    params, masks, x, y = case

    def sampled(key: jax.Array) -> jax.Array:
        found = densenets.look_at(NET.shape(), params, masks.used(NET), x, y, key, stride=2)
        return found.factors["block_0/layer_0"][0]

    draws = np.asarray(jax.jit(jax.vmap(sampled))(jax.random.split(jax.random.key(2), 400)))
    error = 5 * draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - whole) <= error + 1e-9).mean() > 0.999


def test_the_loss_is_the_mean(case: Any) -> None:
    assert float(look(case).loss) == pytest.approx(float(mean_loss(*case)))


def test_a_moment_of_a_network_in_bfloat16_is_in_float32() -> None:
    """Of 1 and 3 / 256 it is exact there; in bfloat16 the sum would end at 256."""
    (m,) = MlpArchitecture(1, 2).maps
    read = np.full((4096, 1), 3 / 256)
    found = input_factor(m, jnp.asarray(read, jnp.bfloat16))
    assert found.dtype == jnp.float32
    np.testing.assert_array_equal(found, [[1, 3 / 256], [3 / 256, (3 / 256) ** 2]])
