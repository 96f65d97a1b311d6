"""What is seen of a DenseNet against plain computations: gradients, input moments, curvature."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.curvature.observe_images import ImageObservation, observe_images
from senn_cli.engine.objective import loss_and_gradient
from senn_cli.nets.densenet import Masks
from senn_cli.nets.features import joined, row_mask, standing
from senn_cli.nets.registry import apply
from tests import densenets

pytestmark = pytest.mark.usefixtures("double")

NET = densenets.architecture((6, 5, 2), 3, [[(3, 5)], [(2, 3), (2, 2)]], bud=2)
N = 4


@pytest.fixture(scope="module")
def case() -> tuple[Any, Masks, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    masks = densenets.scattered(rng, NET)
    params = densenets.random_parameters(rng, NET, masks)
    return params, masks, rng.standard_normal((N, 60)), np.array([0, 2, 1, 0])


def look(case: Any, key: int = 0, stride: int = 1) -> ImageObservation:
    params, masks, x, y = case
    return observe_images(
        NET.shape(), params, masks.used(NET), jnp.asarray(x), jnp.asarray(y), jax.random.key(key),
        "classification", "softmax", stride=stride,
    )  # fmt: skip


def mean_loss(params: Any, masks: Masks, x: Any, y: Any) -> jax.Array:
    outputs = apply(NET.shape(), params, x, masks.used(NET)).outputs
    return jnp.mean(loss_and_gradient("classification", outputs, y)[0])


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
            rows = np.concatenate([np.ones((N, 1)), read], axis=1)
        else:
            _, height, width, channels = read.shape
            padded = np.pad(read, ((0, 0), (1, 1), (1, 1), (0, 0)))
            rows = np.array(
                [
                    padded[n, i : i + 3, j : j + 3].reshape(9 * channels)
                    for n in range(N)
                    for i in range(height)
                    for j in range(width)
                ]
            )
        np.testing.assert_allclose(found[wire.name][0], rows.T @ rows / N, rtol=1e-9, atol=1e-11)


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
    found = observe_images(
        NET.shape(),
        params,
        masks.used(NET),
        jnp.asarray(x),
        jnp.asarray(y),
        key,
        "classification",
        "softmax",
    )
    return found.factors["head"][1]


def test_sampled_positions_give_the_moments_on_average(case: Any) -> None:
    whole = look(case).factors["block_0/layer_0"][0]
    params, masks, x, y = case

    def sampled(key: jax.Array) -> jax.Array:
        found = observe_images(
            NET.shape(), params, masks.used(NET), jnp.asarray(x), jnp.asarray(y), key,
            "classification", "softmax", stride=2,
        )  # fmt: skip
        return found.factors["block_0/layer_0"][0]

    draws = np.asarray(jax.jit(jax.vmap(sampled))(jax.random.split(jax.random.key(2), 400)))
    error = 5 * draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - whole) <= error + 1e-9).mean() > 0.999


def test_the_loss_is_the_mean(case: Any) -> None:
    assert float(look(case).loss) == pytest.approx(float(mean_loss(*case)))
