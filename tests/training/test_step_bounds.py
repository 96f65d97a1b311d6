"""Steps with dropout, whose curvature is of what remains, and steps with clipped gradients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.flatten_util import ravel_pytree

from senn_cli.engine.objective import CLASSIFICATION
from senn_cli.nets.dropout import dropped
from senn_cli.nets.features import used_units
from senn_cli.nets.registry import Shifts, apply
from senn_cli.spec.optimizer import AdamSpec, NaturalGradientSpec, SgdSpec
from senn_cli.training.optimizer import Optimizer, make_optimizer, norm_scale
from senn_cli.training.update import take_one
from tests.dense import double, fisher, flat, in_use, network, padded, roomy, widths_of
from tests.training.test_step import EXACT_X, LABELS, start

ARCHITECTURE, PARAMS = network((3, 4, 2))
RATE = 0.25
FREE = np.inf  # no bound
NATURAL = {"schedule": "constant", "weight_decay": 0.0, "learning_rate": 0.5, "kl_clip": 1.0}
CG = {"solver": "cg", "cg_iterations": 400, "cg_tolerance": 1e-13, "damping": 0.1}
SPECS: dict[str, Any] = {
    "sgd": SgdSpec(kind="sgd", learning_rate=0.5),
    "adam": AdamSpec(kind="adam", learning_rate=0.05),
    "cg": NaturalGradientSpec.model_validate(NATURAL | CG),
    "kfac": NaturalGradientSpec.model_validate(NATURAL),
    "momentum": NaturalGradientSpec.model_validate(NATURAL | CG | {"momentum": 0.9}),
}


@pytest.fixture(scope="module", autouse=True)
def float64() -> Iterator[None]:
    yield from double()


@cache
def made(name: str, rate: float) -> tuple[Optimizer, Any]:
    """An optimizer, and a step with bounds that are data, so that few programs are compiled."""
    optimizer = make_optimizer(SPECS[name], CLASSIFICATION, 100, 1)
    optimizer = replace(optimizer, dropout=rate)

    @partial(jax.jit, static_argnums=0)
    def step(shape: Any, state: Any, widths: Any, key: Any, clip: Any, kl_clip: Any) -> Any:
        bounded = replace(optimizer, clip=clip)
        if optimizer.kl_clip is not None:
            bounded = replace(bounded, kl_clip=kl_clip)
        x, y = jnp.asarray(EXACT_X), jnp.asarray(LABELS)
        return take_one(shape, CLASSIFICATION, bounded, state, widths, x, y, key, None)

    return optimizer, step


def key_of(seed: int, step: int) -> Any:
    return jax.random.fold_in(jax.random.key(seed), step)


def taken(
    name: str,
    rate: float = 0.0,
    *,
    clip: float = FREE,
    kl_clip: float = FREE,
    steps: int = 1,
    capacity: int = 4,
    seed: int = 0,
) -> tuple[np.ndarray, float, float]:
    """By how much the parameters in use moved, and the last step's loss and eta."""
    optimizer, step = made(name, rate)
    architecture = roomy(ARCHITECTURE, (capacity,))
    state = start(architecture, padded(PARAMS, architecture), optimizer, np.float64)
    widths = widths_of(architecture)
    for number in range(steps):
        key = key_of(seed, number)
        state, loss, eta, _ = step(architecture.shape(), state, widths, key, clip, kl_clip)
    return flat(in_use(state.params, architecture)) - flat(PARAMS), float(loss), float(eta)


def of_what_remains() -> tuple[float, np.ndarray, np.ndarray]:
    """Loss, gradient and dense Fisher matrix with the units of step 0 left out."""
    used = used_units(ARCHITECTURE)
    factors = dropped(ARCHITECTURE, used, RATE, 8, key_of(0, 0))
    assert 0 < np.mean(np.asarray(factors["layer_0"]) == 0) < 1
    vector, tree = ravel_pytree(PARAMS)

    def outputs(v: jax.Array) -> jax.Array:
        return apply(ARCHITECTURE, tree(v), EXACT_X, used, Shifts({}, {}, factors)).outputs

    def loss(v: jax.Array) -> jax.Array:
        log_p = jax.nn.log_softmax(outputs(v))
        return -jnp.mean(jnp.take_along_axis(log_p, jnp.asarray(LABELS)[:, None], axis=1))

    value, gradient = jax.jit(jax.value_and_grad(loss))(vector)
    j, p = np.asarray(jax.jit(jax.jacobian(outputs))(vector)), jax.nn.softmax(outputs(vector))
    h = np.stack([np.diag(q) - np.outer(q, q) for q in np.asarray(p)])
    return float(value), np.asarray(gradient), np.einsum("nap,nab,nbq->pq", j, h, j) / 8


def test_a_plain_step_follows_the_gradient_of_what_remains() -> None:
    loss, gradient, _ = of_what_remains()
    moved, found, _ = taken("sgd", RATE)
    np.testing.assert_allclose(moved, -0.5 * gradient, atol=1e-10)
    assert found == pytest.approx(loss, rel=1e-10)
    without, _, _ = taken("sgd")
    assert np.abs(without - moved).max() > 1e-3


def test_a_natural_gradient_is_that_of_what_remains() -> None:
    _, gradient, dense = of_what_remains()
    direction = np.linalg.solve(dense + 0.1 * np.eye(len(gradient)), gradient)
    moved, _, eta = taken("cg", RATE)
    np.testing.assert_allclose(moved, -0.5 * direction, atol=1e-8)
    assert eta == pytest.approx(gradient @ direction, rel=1e-8)


def test_the_length_of_a_step_by_kronecker_factors_is_measured_on_what_remains() -> None:
    _, _, dense = of_what_remains()
    moved, _, _ = taken("kfac", RATE, kl_clip=1e-3)
    assert moved @ dense @ moved == pytest.approx(1e-3, rel=1e-6)


def test_a_velocity_obeys_the_bound_with_the_step_that_joins_it() -> None:
    """The KL bound is of the whole update, and what is remembered is what was moved."""
    places = [np.zeros(len(flat(PARAMS)))]
    places += [taken("momentum", kl_clip=1e-3, steps=n)[0] for n in (1, 2, 3)]
    lengths, tree = [], ravel_pytree(PARAMS)[1]
    for before, after in pairwise(places):
        dense = fisher(ARCHITECTURE, tree(jnp.asarray(flat(PARAMS) + before)), EXACT_X, "softmax")
        lengths.append((after - before) @ dense @ (after - before))
    np.testing.assert_allclose(lengths, 1e-3, rtol=1e-6)
    free = [taken("momentum", steps=n)[0] for n in (1, 2)]
    alone = taken("cg", steps=1)[0]
    np.testing.assert_allclose(free[0], alone, rtol=1e-9)
    assert np.linalg.norm(free[1] - free[0]) > 1.2 * np.linalg.norm(taken("cg", steps=2)[0] - alone)


def test_other_units_are_left_out_in_every_step_and_with_every_seed() -> None:
    first, _, _ = taken("sgd", RATE)
    both, _, _ = taken("sgd", RATE, steps=2)
    other, _, _ = taken("sgd", RATE, seed=1)
    assert np.abs(both - 2 * first).max() > 1e-3 and np.abs(other - first).max() > 1e-3


def test_spare_capacity_changes_no_step_with_dropout() -> None:
    how: Any = {"clip": 0.5, "kl_clip": 1e-3, "steps": 3}
    tight, loss, eta = taken("kfac", RATE, **how)
    again, same, score = taken("kfac", RATE, capacity=7, **how)
    np.testing.assert_allclose(again, tight, rtol=1e-9, atol=1e-12)
    assert (same, score) == (pytest.approx(loss, rel=1e-10), pytest.approx(eta, rel=1e-10))


def test_a_clipped_gradient_is_optaxs() -> None:
    free, _, _ = taken("sgd")
    norm = float(np.linalg.norm(free / 0.5))
    tree = ravel_pytree(PARAMS)[1](jnp.asarray(-free / 0.5))
    for clip in (0.3 * norm, 2 * norm):
        moved, _, _ = taken("sgd", clip=clip)
        clipping = optax.clip_by_global_norm(clip)
        expected, _ = clipping.update(tree, clipping.init(tree))
        np.testing.assert_allclose(moved, -0.5 * flat(jax.device_get(expected)), rtol=1e-9)
    assert float(norm_scale(jnp.zeros(()), 0.1)) == 1.0


def test_adam_sees_the_clipped_gradient() -> None:
    """Its first step does not depend on the gradient's length, its second one does."""
    for steps, alike in ((1, True), (3, False)):
        free, _, _ = taken("adam", steps=steps)
        clipped, _, _ = taken("adam", steps=steps, clip=0.2)
        assert np.allclose(free, clipped, atol=1e-5) == alike


def test_of_two_bounds_the_shorter_step_is_taken_and_eta_is_of_the_whole_gradient() -> None:
    free, _, eta = taken("cg")
    gradient = taken("sgd")[0] / -0.5
    norm = float(np.linalg.norm(gradient))
    by_norm, _, score = taken("cg", clip=0.25 * norm)
    np.testing.assert_allclose(by_norm, 0.25 * free, rtol=1e-9)
    assert score == pytest.approx(eta, rel=1e-12)
    by_length, _, _ = taken("cg", kl_clip=1e-3)
    ratio = float(np.linalg.norm(by_length) / np.linalg.norm(free))
    assert ratio < 1
    for share in (0.5 * ratio, 0.5 + 0.5 * ratio):
        moved, _, _ = taken("cg", clip=share * norm, kl_clip=1e-3)
        np.testing.assert_allclose(moved, min(share, ratio) * free, rtol=1e-8)
