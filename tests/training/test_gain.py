"""Half of eta is what the loss can fall by, to second order, whatever the loss is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from senn_cli.engine.objective import (
    CLASSIFICATION,
    MULTILABEL,
    REGRESSION,
    Objective,
    loss_and_gradient,
)
from senn_cli.spec.optimizer import NaturalGradientSpec
from senn_cli.training.optimizer import make_optimizer
from senn_cli.training.update import take_one
from tests.dense import double, network, outputs, widths_of
from tests.training.test_step import EXACT_X, LABELS, start

RNG = np.random.default_rng(6)
LINEAR, PARAMS = network((3, 2))
TARGETS = {
    "cross_entropy": (CLASSIFICATION, LABELS),
    "smoothed": (Objective("cross_entropy", smoothing=0.2), LABELS),
    "bernoulli": (MULTILABEL, RNG.integers(0, 2, (8, 2))),
    "squared": (REGRESSION, RNG.standard_normal((8, 2))),
    "poisson": (Objective("poisson"), RNG.poisson(2.0, (8, 2)).astype(float)),
}
EXACT = NaturalGradientSpec.model_validate(
    {
        "solver": "cg",
        "cg_iterations": 400,
        "cg_tolerance": 1e-14,
        "damping": 1e-9,
        "learning_rate": 1.0,
        "schedule": "constant",
        "weight_decay": 0.0,
        "kl_clip": None,
    }
)


@pytest.fixture(scope="module", autouse=True)
def float64() -> Iterator[None]:
    yield from double()


@pytest.mark.parametrize("name", TARGETS)
def test_half_of_eta_is_the_gain_of_the_quadratic_model(name: str) -> None:
    """Of a linear network F is the Hessian of these losses, so that along the step d

    L(t d) = L - t eta + t^2 eta / 2 + O(t^3), whose least value is L - eta / 2. The odd and the
    even part of L in t tell both terms apart.
    """
    objective, y = TARGETS[name]
    optimizer = make_optimizer(EXACT, objective, 100, 1)

    @jax.jit
    def step(state: Any, weights: Any) -> Any:
        x, targets, key = jnp.asarray(EXACT_X), jnp.asarray(y), jax.random.key(0)
        shape, widths = LINEAR.shape(), widths_of(LINEAR)
        return take_one(shape, objective, optimizer, state, widths, x, targets, key, None, weights)

    flat, tree = ravel_pytree(PARAMS)
    for weights in (np.ones(8), np.array([2.0, 0.0, 1.0, 1.0, 3.0, 0.5, 0.5, 0.0])):
        state = start(LINEAR, PARAMS, optimizer, np.float64)
        after, loss, eta, _ = step(state, weights)
        direction = ravel_pytree(after.params)[0] - flat

        def loss_at(t: float, weights: Any = weights, direction: Any = direction) -> float:
            of_outputs = outputs(LINEAR, tree(flat + t * direction), EXACT_X)
            losses, _ = loss_and_gradient(objective, of_outputs, jnp.asarray(y))
            return float(np.mean(weights * np.asarray(losses)))

        assert float(eta) > 0.01 and float(loss) == pytest.approx(loss_at(0), rel=1e-12)
        t = 1e-3
        odd, even = loss_at(t) - loss_at(-t), loss_at(t) + loss_at(-t) - 2 * loss_at(0)
        assert odd / (2 * t) == pytest.approx(-float(eta), rel=1e-4)
        assert even / t**2 == pytest.approx(float(eta), rel=1e-4)
